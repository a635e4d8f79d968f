"""WhatsApp's exports as phones in many countries write them."""

from datetime import datetime

import pytest

from dramaturg.stores.texts.form import Unreadable
from dramaturg.stores.texts.messengers.table import messenger_of
from dramaturg.stores.texts.messengers.whatsapp import looks_like_whatsapp, read_whatsapp

LRM, RLM, NNBSP, LRE, PDF = "\u200e", "\u200f", "\u202f", "\u202a", "\u202c"
NEW_YEARS_EVE = datetime(2023, 12, 31, 21, 41)
LOCALES = {
    "en-US, Android": f"12/31/23, 9:41{NNBSP}PM - Mira: hello",
    "en-US, iPhone": f"[12/31/23, 9:41:05{NNBSP}PM] Mira: hello",
    "en-GB": "31/12/2023, 21:41 - Mira: hello",
    "en-AU": "31/12/2023, 9:41 pm - Mira: hello",
    "en-CA": "2023-12-31, 9:41 p.m. - Mira: hello",
    "en-ZA": "2023/12/31, 21:41 - Mira: hello",
    "de, Android": "31.12.23, 21:41 - Mira: hello",
    "de, iPhone": "[31.12.23, 21:41:05] Mira: hello",
    "fr": "31/12/2023 à 21:41 - Mira: hello",
    "fr-CA": "2023-12-31 21 h 41 - Mira: hello",
    "es": "31/12/23, 21:41 - Mira: hello",
    "es-MX": "31/12/23 9:41 p. m. - Mira: hello",
    "it": "31/12/23, 21:41 - Mira: hello",
    "pt-BR": "31/12/2023 21:41 - Mira: hello",
    "nl": "31-12-2023 21:41 - Mira: hello",
    "sv": "[2023-12-31, 21:41:05] Mira: hello",
    "da": "31.12.2023 21.41 - Mira: hello",
    "fi": "[31.12.2023 klo 21.41.05] Mira: hello",
    "pl": "31.12.2023, 21:41 - Mira: hello",
    "cs": "31.12.23 21:41 - Mira: hello",
    "hu": "2023. 12. 31. 21:41 - Mira: hello",
    "bg": "31.12.23 г., 21:41 ч. - Mira: hello",
    "el": "31/12/23, 9:41 μ.μ. - Mira: hello",
    "ru": "31.12.2023, 21:41 - Mira: hello",
    "tr": "31.12.2023 21:41 - Mira: hello",
    "zh-CN": "2023年12月31日 21:41 - Mira: hello",
    "zh-CN, iPhone": "[2023/12/31 21:41:05] Mira: hello",
    "zh-TW": "2023/12/31 下午9:41 - Mira: hello",
    "zh-HK": "[31/12/2023 下午9:41:05] Mira: hello",
    "ko": "2023. 12. 31. 오후 9:41 - Mira: hello",
    "ko, iPhone": f"[2023. 12. 31. 오후 9:41:05] {LRM}Mira: hello",
    "ja": "2023/12/31 21:41 - Mira: hello",
    "ja, half of the day": "2023/12/31 午後9:41 - Mira: hello",
    "ar": f"٣١{RLM}/١٢{RLM}/٢٠٢٣، ٩:٤١ م - Mira: hello",
    "he": f"31.12.2023, 21:41 - {RLM}Mira: hello",
    "fa, western years": f"۲۰۲۳/۱۲/۳۱،{RLM} ۲۱:۴۱ - Mira: hello",
    "hi": "31/12/23, 9:41 अपराह्न - Mira: hello",
    "th": "31/12/2566 21:41 - Mira: hello",
    "vi": "31/12/2023, 21:41 - Mira: hello",
    "id": "31/12/23 21.41 - Mira: hello",
}


@pytest.mark.parametrize("line", LOCALES.values(), ids=LOCALES)
def test_a_message_is_read_with_its_time_in_every_locale(line: str) -> None:
    assert messenger_of(f"{line}\n") == "WhatsApp"
    (message,) = read_whatsapp(f"{line}\n").said
    assert message.when
    assert (message.speaker, message.text, message.when.replace(second=0)) == ("Mira", "hello", NEW_YEARS_EVE)


@pytest.mark.parametrize(
    ("dates", "first", "remark"),
    [
        (("01/02/2023", "14/02/2023"), datetime(2023, 2, 1), False),
        (("01/02/2023", "02/14/2023"), datetime(2023, 1, 2), False),
        (("05/01/2023", "06/01/2023", "01/02/2023"), datetime(2023, 1, 5), False),  # or time would go back
        (("01/05/2023", "01/06/2023", "02/01/2023"), datetime(2023, 1, 5), False),
        (("01/02/2023",), datetime(2023, 2, 1), True),
        (("1.2.2023",), datetime(2023, 2, 1), False),
    ],
)
def test_the_order_of_day_and_month_is_that_of_the_whole_file(
    dates: tuple[str, ...], first: datetime, remark: bool
) -> None:
    read = read_whatsapp("".join(f"{date}, 00:00 - Mira: hello\n" for date in dates))
    assert read.said[0].when == first
    assert ("dates are read as day/month" in read.missing) is remark


def test_a_file_as_phones_in_the_united_states_write_it_has_the_month_first_and_says_so() -> None:
    read = read_whatsapp("1/5/23, 9:41 PM - Mira: hello\n")
    assert (read.said[0].when, read.missing) == (datetime(2023, 1, 5, 21, 41), ["dates are read as month/day"])


def test_times_of_another_calendar_are_left_and_said() -> None:
    read = read_whatsapp(f"۱۴۰۲/۱۰/۱۰،{RLM} ۲۱:۴۱ - میرا: سلام\n")
    assert (read.said[0].speaker, read.said[0].when) == ("میرا", None)
    assert read.missing == ["times of another calendar are not read"]


def test_a_message_has_all_its_lines_and_the_number_of_the_first() -> None:
    read = read_whatsapp(
        "31.12.23, 21:41 - Mira: a list:\n- one\n\n- two: 3\n31.12.23, 21:42 - Jon: https://example.org: look\n"
    )
    assert [(one.speaker, one.text, one.at) for one in read.said] == [
        ("Mira", "a list:\n- one\n\n- two: 3", "line 1"),
        ("Jon", "https://example.org: look", "line 5"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "Messages and calls are end-to-end encrypted. No one outside of this chat can read them. Tap to learn more.",
        "Nachrichten und Anrufe sind Ende-zu-Ende-verschlüsselt.",
        "Mira created group “Plans: 2024”",
        'Mira changed the subject from "Plans: 2023" to "Plans: 2024"',
        "Mira a changé le sujet en « Plans : 2024 »",
        "Jon joined using this group's invite link",
        f"{LRE}+49 151 1234567{PDF} left",
        "Ваш код безопасности с Мира изменился.",
        "米拉更改了群组名称",
    ],
)
def test_a_line_of_the_app_is_no_message(line: str) -> None:
    read = read_whatsapp(f"31.12.23, 21:40 - {line}\n31.12.23, 21:41 - Mira: hello\n")
    assert ([one.text for one in read.said], read.missing) == (["hello"], ["1 system line"])


@pytest.mark.parametrize(
    "text",
    [
        "<Media omitted>", "<Medien ausgeschlossen>", "<Médias omis>", "<Multimedia omitido>", "<Media omessi>",
        "<Mídia oculta>", "<Ficheiro não revelado: media>", "<Media weggelaten>", "<Без медиафайлов>",
        "<Medya dahil edilmedi>", "<忽略多媒体文件>", "<媒體已略去>", "<미디어 파일을 제외한 메시지>",
        "<メディアは含まれていません>",
        "<تم استبعاد الوسائط>", "<Media tidak disertakan>", "<Pominięto multimedia>", "null",
        f"{LRM}image omitted", f"{LRM}Bild weggelassen", f"{LRM}image absente", f"{LRM}imagen omitida",
        f"{LRM}immagine omessa", f"{LRM}imagem ocultada", f"{LRM}afbeelding weggelaten",
        f"{LRM}изображение отсутствует",
        f"{LRM}图像已忽略 省略", f"{LRM}이미지 생략됨", f"{LRM}画像は省略されました", f"{LRM}sticker omitted",
        "IMG-20231231-WA0001.jpg (file attached)", f"{LRM}IMG-20231231-WA0001.jpg (Datei angehängt)",
        "PTT-20231231-WA0002.opus (fichier joint)", "Notes.pdf (archivo adjunto)", "IMG-1.jpg (file allegato)",
        "IMG-1.jpg (arquivo anexado)", "IMG-1.jpg (bestand bijgevoegd)", "IMG-1.jpg (файл добавлен)",
        "IMG-1.jpg (dosya ekli)", "IMG-1.jpg (文件附件)", "IMG-1.jpg (파일 첨부됨)", "IMG-1.jpg (添付ファイル)",
        "IMG-1.jpg (الملف مرفق)", f"{LRM}<attached: 00000012-PHOTO-2023.jpg>", f"{LRM}<Anhang: 0012-AUDIO.opus>",
        f"{LRM}<pièce jointe : 0012.jpg>", f"{LRM}<附件：0012.jpg>",
    ],
)  # fmt: skip
def test_media_are_counted_and_no_message(text: str) -> None:
    read = read_whatsapp(f"[31.12.23, 21:40:00] Mira: {text}\n[31.12.23, 21:41:05] Mira: hello\n")
    assert ([one.text for one in read.said], read.missing) == (["hello"], ["1 media"])


@pytest.mark.parametrize(
    "text",
    ["<sighs> fine", "<immediately>", "<3", "a <b: c> d", "see notes.txt (the old one)", "poll: yes or no?", "call me"],
)
def test_what_only_looks_like_media_is_kept(text: str) -> None:
    assert read_whatsapp(f"31.12.23, 21:41 - Mira: {text}\n").said[0].text == text


def test_what_is_written_beside_a_file_is_kept() -> None:
    read = read_whatsapp(
        "[31.12.23, 21:41:05] Mira: our house\n\u200e<attached: 0012-PHOTO.jpg>\n"
        "[31.12.23, 21:42:05] Mira: IMG-20231231-WA0001.jpg (file attached)\nand the garden\n"
    )
    assert ([one.text for one in read.said], read.missing) == (["our house", "and the garden"], ["2 media"])


@pytest.mark.parametrize(
    "text",
    [
        "This message was deleted", "You deleted this message.", f"{LRM}Diese Nachricht wurde gelöscht.",
        "Ce message a été supprimé", "Se eliminó este mensaje.", "Questo messaggio è stato eliminato",
        "Mensagem apagada", "Dit bericht is verwijderd", "Данное сообщение удалено", "Bu mesaj silindi",
        "此消息已被删除", "삭제된 메시지입니다", "このメッセージは削除されました", "تم حذف هذه الرسالة",
    ],
)  # fmt: skip
def test_a_deleted_message_is_counted(text: str) -> None:
    read = read_whatsapp(f"31.12.23, 21:40 - Mira: {text}\n31.12.23, 21:41 - Mira: hello\n")
    assert ([one.text for one in read.said], read.missing) == (["hello"], ["1 deleted message"])


@pytest.mark.parametrize(
    "remark",
    [
        "<This message was edited>", f"{LRM}<This message was edited>", "<Diese Nachricht wurde bearbeitet.>",
        "<Ce message a été modifié>", "<Se editó este mensaje.>", "<Mensagem editada>", "<Dit bericht is bewerkt>",
        "<Сообщение изменено>", "<此消息已编辑>", "<이 메시지가 수정되었습니다>", "<このメッセージは編集されました>",
    ],
)  # fmt: skip
def test_the_remark_that_a_message_was_edited_is_taken_off(remark: str) -> None:
    assert read_whatsapp(f"31.12.23, 21:41 - Mira: hello there {remark}\n").said[0].text == "hello there"


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        (f"{LRM}POLL:\nWhere do we eat?\n{LRM}OPTION: at home (2 votes)", "1 poll"),
        ("Location: https://maps.google.com/?q=52.5,13.4", "1 place"),
        (f"{LRM}Standort: https://maps.google.com/?q=52.5,13.4", "1 place"),
        (f"{LRM}Missed voice call, {LRM}Tap to call back", "1 call"),
        ("Waiting for this message. This may take a while.", "1 system line"),
    ],
)
def test_polls_places_and_calls_are_counted(text: str, missing: str) -> None:
    read = read_whatsapp(f"[31.12.23, 21:40:00] Mira: {text}\n[31.12.23, 21:41:05] Mira: hello\n")
    assert ([one.text for one in read.said], read.missing) == (["hello"], [missing])


def test_a_name_with_a_colon_is_proved_by_all_that_it_writes() -> None:
    lines = ["Dr: Mira: hello", "Dr: Mira: is anybody there?", "Jon: note: buy milk", "Jon: yes", "Dr: Mira: good"]
    read = read_whatsapp("".join(f"31.12.23, 21:41 - {line}\n" for line in [*lines, "Dr: Mira left"]))
    assert [one.speaker for one in read.said] == ["Dr: Mira", "Dr: Mira", "Jon", "Jon", "Dr: Mira"]
    assert read.missing == ["1 system line"]


def test_numbers_and_unknown_contacts_have_plain_names() -> None:
    read = read_whatsapp(
        f"[31.12.23, 21:41:05] ~{NNBSP}Mira: hello\n[31.12.23, 21:42:05] {LRE}+49 151 1234567{PDF}: hi\n"
    )
    assert [one.speaker for one in read.said] == ["Mira", "+49 151 1234567"]


def test_a_chat_that_somebody_pasted_is_part_of_the_message() -> None:
    read = read_whatsapp(
        "31.12.23, 21:41 - Mira: look what he wrote:\n[30.12.23, 10:00:00] Jon: never again\n"
        "31.12.23, 21:42 - Mira: so\n"
    )
    assert [one.text for one in read.said] == ["look what he wrote:\n[30.12.23, 10:00:00] Jon: never again", "so"]


def test_what_stands_before_the_first_message_is_said() -> None:
    read = read_whatsapp("and the rest of a message\n31.12.23, 21:41 - Mira: hello\n")
    assert read.missing == ["1 line(s) before the first message"]


@pytest.mark.parametrize(
    "text", ["", "A novel.\n\nOn 31.12.23 they met.\n", "Mira: hello\nJon: hi\n", "[1] a note: b\n"]
)
def test_other_texts_are_not_taken_for_a_chat(text: str) -> None:
    assert not looks_like_whatsapp(text)


def test_an_export_without_a_message_says_what_to_do() -> None:
    with pytest.raises(Unreadable, match="has no message: export the chat again"):
        read_whatsapp("31.12.23, 21:41 - Mira joined\n")
