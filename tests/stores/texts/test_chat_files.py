"""Chats as files: told from other texts by what is in them, whatever their name."""

from dramaturg.stores.texts.reading import read_sent


def test_a_page_of_a_chat_is_a_chat_and_another_page_is_prose() -> None:
    page = '<html><div class="message default"><div class="from_name">Mira</div><div class="text">{}</div></div></html>'
    assert read_sent("messages.html", page.format("hello").encode()).scenes[0].lines[0].speaker == "Mira"
    assert read_sent("wiki.html", b"<html><h1>Ada</h1><p>A keeper of a light.</p></html>").form == "prose"


def test_damaged_letters_of_a_file_are_said() -> None:
    chat = read_sent("chat.txt", "31.12.23, 21:41 - Mira: Grüße aus Köln, grüß".encode()[:-1])
    assert chat.missing == ("letters that are damaged: read as utf-8 (1 damaged)",)
