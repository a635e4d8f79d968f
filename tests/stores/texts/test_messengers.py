"""Exports of the other messengers, as their programs write them; each is recognised and read at the table."""

import json
from datetime import datetime
from typing import Any

import pytest

from dramaturg.stores.texts.form import Messages, Unreadable, chat_text
from dramaturg.stores.texts.messengers.table import MESSENGERS, messenger_of

UTC_EVE = 1_704_058_865_000
"""2023-12-31, 21:41:05 in UTC, in milliseconds."""
EVE = datetime(2023, 12, 31, 21, 41, 5)


def read(text: str, messenger: str) -> Messages:
    assert messenger_of(text) == messenger
    return MESSENGERS[messenger].read(text)


def said(messages: Messages) -> list[tuple[str, str]]:
    return [(one.speaker, one.text) for one in messages.said]


def telegram(*messages: dict[str, Any], **chat: Any) -> dict[str, Any]:
    every = [{"id": at, "type": "message", "date": "2023-12-31T21:41:05", **one} for at, one in enumerate(messages, 1)]
    return {"name": "Mira", "type": "personal_chat", "id": 7, "messages": every, **chat}


MIRA, JON = {"from": "Mira", "from_id": "user1"}, {"from": "Jon", "from_id": "user2"}


def test_telegram_gives_texts_of_all_forms() -> None:
    link = {"type": "link", "text": "https://example.org"}
    chat = telegram(
        {**MIRA, "text": "hello"}, {**JON, "text": ["look: ", link, " now"], "edited": "2023-12-31T22:00:00"}
    )
    messages = read(json.dumps(chat), "Telegram")
    assert said(messages) == [("Mira", "hello"), ("Jon", "look: https://example.org now")]
    assert (messages.said[0].when, messages.said[1].at) == (EVE, "message 2")


def test_telegram_leaves_out_what_are_nobodys_own_words() -> None:
    chat = telegram(
        {"type": "service", "actor": "Mira", "action": "phone_call"},
        {"type": "service", "actor": "Mira", "action": "invite_members"},
        {**MIRA, "text": "", "photo": "photos/1.jpg"},
        {**MIRA, "text": "our house", "photo": "photos/2.jpg"},
        {**MIRA, "text": "breaking news", "forwarded_from": "A channel"},
        {**MIRA, "text": "", "poll": {"question": "when?"}},
        {**MIRA, "text": "", "location_information": {"latitude": 1, "longitude": 2}},
    )
    messages = read(json.dumps(chat), "Telegram")
    assert said(messages) == [("Mira", "our house")]
    assert messages.missing == ["1 call", "1 forwarded message", "2 media", "1 place", "1 poll", "1 system line"]


def test_telegram_names_people_as_they_were_called_last_and_those_who_are_gone_by_number() -> None:
    chat = telegram(
        {"from": "Mira (old)", "from_id": "user1", "text": "a"},
        {**MIRA, "text": "b"},
        {"from": None, "from_id": "user3", "text": "c"},
        {"from": None, "from_id": "user4", "text": "d"},
    )
    assert said(read(json.dumps(chat), "Telegram")) == [
        ("Mira", "a"),
        ("Mira", "b"),
        ("Deleted account 3", "c"),
        ("Deleted account 4", "d"),
    ]


def test_telegram_of_all_chats_keeps_them_apart() -> None:
    chats = [telegram({**MIRA, "text": "hello"}), telegram({**JON, "text": "hi"}, name="Jon")]
    text = json.dumps({"about": "Here is the data you requested. Telegram keeps it.", "chats": {"list": chats}})
    messages = read(text, "Telegram")
    assert [one.chat for one in messages.said] == ["Mira", "Jon"]
    assert [scene.place for scene in chat_text("result.json", messages).scenes] == ["Mira", "Jon"]


def discord(content: str, **more: Any) -> dict[str, Any]:
    author = {"id": "1", "name": "mira99", "nickname": "Mira", "isBot": False}
    return {
        "type": "Default",
        "timestamp": "2023-12-31T21:41:05.123+01:00",
        "content": content,
        "author": author,
        **more,
    }


def test_discord_in_json() -> None:
    messages = [
        discord("first", author={"id": "1", "name": "mira99", "nickname": "mira"}),
        discord("hello", attachments=[{"url": "https://example.org/1.png"}]),
        discord("", attachments=[{"url": "https://example.org/2.png"}]),
        discord("hi", type="Reply", author={"id": "2", "name": "jon", "nickname": None}),
        discord("Joined the server.", type="GuildMemberJoin"),
    ]
    text = json.dumps({"guild": {"id": "0", "name": "x"}, "channel": {"id": "1", "name": "y"}, "messages": messages})
    found = read(text, "Discord")
    assert said(found) == [("Mira", "first"), ("Mira", "hello"), ("jon", "hi")]
    assert found.missing == ["2 media", "1 system line"]
    assert found.said[0].when == datetime(2023, 12, 31, 21, 41, 5, 123_000)


@pytest.mark.parametrize("date", ["12/31/2023 9:41 PM", "31-Dec-23 09:41 PM", "31.12.2023 21:41", "2023-12-31 21:41"])
def test_discord_in_plain_text(date: str) -> None:
    rule = "=" * 62
    found = read(
        f"{rule}\nGuild: x\nChannel: Text Channels / y\n{rule}\n\n[{date}] mira\nhello\n\nsecond part\n\n"
        f"[{date}] jon (pinned)\nlook\n\n{{Attachments}}\nhttps://example.org/1.png\n\n{{Reactions}}\n👍 (2)\n\n"
        f"{rule}\nExported 2 message(s)\n{rule}\n",
        "Discord",
    )
    assert said(found) == [("mira", "hello\n\nsecond part"), ("jon", "look")]
    assert found.missing == ["1 media"]
    assert found.said[0].when == datetime(2023, 12, 31, 21, 41)


def test_discord_in_csv() -> None:
    found = read(
        "AuthorID,Author,Date,Content,Attachments,Reactions\n"
        '"1","mira","2023-12-31T21:41:05.0000000+00:00","a, b\nc","",""\n'
        '"2","jon","2023-12-31T21:42:00.0000000+00:00","","https://example.org/1.png",""\n',
        "Discord",
    )
    assert (said(found), found.said[0].when, found.missing) == ([("mira", "a, b\nc")], EVE, ["1 media"])


def test_telegram_as_a_page() -> None:
    found = read(
        "<!DOCTYPE html>\n<html><head><title>Exported Data</title><script>if (a<b) { x(1>0); }</script></head><body>"
        '<div class="page_wrap"><div class="history">\n'
        '<div class="message service" id="message-1"><div class="body details">31 December 2023</div></div>\n'
        '<div class="message default clearfix" id="message1"><div class="body">\n'
        '<div class="pull_right date details" title="31.12.2023 21:41:05 UTC+01:00">21:41</div>\n'
        '<div class="from_name">\nMira \n</div>\n'
        '<div class="text">\na &lt;b&gt; &amp;<br>look: <a href="x">here</a>\n</div></div></div>\n'
        '<div class="message default clearfix joined" id="message2"><div class="body">\n'
        '<div class="pull_right date details" title="31.12.2023 21:42:05 UTC+01:00">21:42</div>\n'
        '<div class="media_wrap clearfix"><a class="media clearfix" href="x"><div class="title">Photo</div></a></div>'
        '<div class="text">\nour house\n</div></div></div>\n'
        '<div class="message default clearfix" id="message3"><div class="body">\n<div class="from_name">Jon</div>'
        '<div class="forwarded body">'
        '<div class="from_name">Zoe <span class="date details" title="1.1.2020">2020</span></div>'
        '<div class="text">another said it</div></div></div></div>'
        '<div class="message default clearfix joined" id="message4"><div class="body">'
        '<div class="text">yes</div></div></div>'
        "</div></div></body></html>",
        "Telegram",
    )
    assert said(found) == [("Mira", "a <b> &\nlook: here"), ("Mira", "our house"), ("Jon", "yes")]
    assert [one.when for one in found.said] == [EVE, EVE.replace(minute=42), None]
    assert found.missing == ["1 forwarded message", "1 media", "1 system line"]


def test_discord_as_a_page() -> None:
    found = read(
        "<!doctype html><html lang=en><head><style>.chatlog__message-group { color: red }</style></head><body>"
        "<div class=preamble>x</div><div class=chatlog><div class=chatlog__message-group>"
        '<div id=c1 class="chatlog__message-container "><div class=chatlog__message>'
        "<div class=chatlog__reply><div class=chatlog__reply-author>Jon</div>"
        "<div class=chatlog__reply-content>why?</div></div>"
        "<span class=chatlog__author title=mira99 data-user-id=1>Mira</span>"
        '<span class=chatlog__timestamp title="Sunday, December 31, 2023 9:41 PM">'
        "<a href=#c1>12/31/2023 9:41 PM</a></span>"
        '<div class="chatlog__content chatlog__markdown"><span class=chatlog__markdown-preserve>hello\nyou '
        '<img class=chatlog__emoji alt="👋" src=x></span>'
        "<span class=chatlog__edited-timestamp title=x>(edited)</span></div></div></div>"
        '<div id=c2 class="chatlog__message-container "><div class=chatlog__message>'
        '<div class=chatlog__short-timestamp title="Sunday, December 31, 2023 9:42 PM">9:42 PM</div>'
        '<div class="chatlog__content chatlog__markdown"><span class=chatlog__markdown-preserve>more</span></div>'
        '<div class="chatlog__attachment "><a href=x><img class=chatlog__attachment-media src=x alt="Image"></a></div>'
        "</div></div></div></div></body></html>",
        "Discord",
    )
    assert said(found) == [("Mira", "hello\nyou 👋"), ("Mira", "more")]
    assert [one.when for one in found.said] == [datetime(2023, 12, 31, 21, 41), datetime(2023, 12, 31, 21, 42)]
    assert found.missing == ["1 media"]


def test_signal_as_it_exports_itself() -> None:
    lines = [
        {"version": 1, "backupTimeMs": str(UTC_EVE)},
        {"recipient": {"id": "1", "self": {}}},
        {"recipient": {"id": "2", "contact": {"profileGivenName": "Mira", "profileFamilyName": "Sol"}}},
        {"chat": {"id": "5", "recipientId": "2"}},
        {
            "chatItem": {
                "chatId": "5",
                "authorId": "2",
                "dateSent": str(UTC_EVE),
                "incoming": {},
                "standardMessage": {"text": {"body": "hello"}},
            }
        },
        {
            "chatItem": {
                "chatId": "5",
                "authorId": "1",
                "dateSent": str(UTC_EVE),
                "outgoing": {},
                "standardMessage": {"text": {"body": "hi"}, "attachments": [{}]},
            }
        },
        {"chatItem": {"chatId": "5", "authorId": "2", "dateSent": str(UTC_EVE), "remoteDeletedMessage": {}}},
        {"chatItem": {"chatId": "5", "authorId": "2", "dateSent": str(UTC_EVE), "updateMessage": {}}},
    ]
    found = read("\n".join(json.dumps(line, separators=(",", ":")) for line in lines), "Signal")
    assert said(found) == [("Mira Sol", "hello"), ("Me", "hi")]
    assert found.said[0].when == EVE
    assert found.missing == [
        "1 deleted message",
        "1 media",
        "1 system line",
        'the owner of the export is called "Me"',
        "times are read in UTC",
    ]


@pytest.mark.parametrize("time", ["2023-12-31, 21:41", "2023-12-31 21:41:05"])
def test_signal_export_in_markdown(time: str) -> None:
    found = read(
        f"[{time}] Me: hello  \n\n[{time}] Mira: \n\n> hello\n\nhi: there\n> mine\n(- Me: 👍 -)\n\n"
        f"[{time}] Mira: ![house.jpg](./media/house.jpg)  \n\n[{time}] Mira: (This message was deleted)\n",
        "Signal",
    )
    assert said(found) == [("Me", "hello"), ("Mira", "hi: there\n> mine")]
    assert found.missing[:2] == ["1 deleted message", "1 media"]


def test_signal_export_in_json_lines() -> None:
    lines = [
        {
            "date": "2023-12-31T21:41:05",
            "sender": "Mira",
            "body": "hello",
            "quote": "",
            "sticker": None,
            "attachments": [],
        },
        {
            "date": "2023-12-31T21:42:05",
            "sender": "Me",
            "body": "",
            "quote": "",
            "sticker": None,
            "attachments": [{"name": "x"}],
        },
    ]
    found = read("\n".join(map(json.dumps, lines)) + '\n{"date": "2023-12-31T2', "Signal")
    assert (said(found), found.said[0].when, found.missing[0]) == ([("Mira", "hello")], EVE, "1 media")


def test_sms_backup_has_every_chat_in_its_order_and_letters_of_two_halves() -> None:
    found = read(
        '<?xml version="1.0" encoding="UTF-8" standalone="yes" ?>\n<!--File Created By SMS Backup & Restore-->\n'
        f'<smses count="4">'
        f'<sms address="+1" date="{UTC_EVE}" type="1" body="hello &#55357;&#56842;&#10;you" '
        'contact_name="Mira" />'
        f'<sms address="+2" date="{UTC_EVE}" type="1" body="hi" contact_name="(Unknown)" />'
        f'<sms address="+1" date="{UTC_EVE}" type="2" body="yes" contact_name="Mira" />'
        f'<sms address="+1" date="{UTC_EVE}" type="3" body="a draft" contact_name="Mira" />'
        f'<mms date="{UTC_EVE}" msg_box="1" address="+1~+3" contact_name="Mira, Jon"><parts>'
        '<part ct="application/smil" text="&lt;smil/&gt;" /><part ct="image/jpeg" data="AAAA" />'
        '<part ct="text/plain" text="our house" /></parts>'
        '<addrs><addr address="+3" type="137" /></addrs></mms></smses>',
        "SMS Backup & Restore",
    )
    assert [(one.chat, one.speaker, one.text) for one in found.said] == [
        ("Mira", "Mira", "hello 😊\nyou"),
        ("Mira", "Me", "yes"),
        ("+2", "+2", "hi"),
        ("Mira, Jon", "+3", "our house"),
    ]
    assert (found.said[0].when, "1 media" in found.missing) == (EVE, True)


KAKAOTALK = {
    "computer": (
        "미라 님과 카카오톡 대화\n저장한 날짜 : 2024-01-01 10:00:00\n\n"
        "--------------- 2023년 12월 31일 일요일 ---------------\n"
        "[미라] [오후 9:41] 안녕\n오늘 뭐해?\n[나] [오후 9:42] 사진\n[나] [오후 9:43] 집에 있어\n"
    ),
    "Android": (
        "미라 님과 카카오톡 대화\n저장한 날짜 : 2024년 1월 1일 오전 10:00\n\n2023년 12월 31일 오후 9:41\n"
        "2023년 12월 31일 오후 9:41, 미라 : 안녕\n오늘 뭐해?\n2023년 12월 31일 오후 9:42, 나 : 사진\n"
        "2023년 12월 31일 오후 9:43, 나 : 집에 있어\n"
    ),
    "iPhone": (
        "Talk_2024.1.1 10:00-1.txt\n저장한 날짜 : 2024. 1. 1. 오전 10:00\n\n2023년 12월 31일 일요일\n"
        "2023. 12. 31. 오후 9:41, 미라 : 안녕\n오늘 뭐해?\n2023. 12. 31. 오후 9:42, 나 : 사진\n"
        "2023. 12. 31. 21:43, 나 : 집에 있어\n"
    ),
    "by days": (
        "저장한 날짜 : 2024. 1. 1.\n2023년 12월 31일 일요일\n오후 9:41, 미라 : 안녕\n오늘 뭐해?\n오후 9:42, 나 : 사진\n"
        "오후 9:43, 나 : 집에 있어\n"
    ),
    "CSV": (
        'Date,User,Message\n2023-12-31 21:41:00,"미라","안녕\n오늘 뭐해?"\n2023-12-31 21:42:00,"나","사진"\n'
        '2023-12-31 21:43:00,"나","집에 있어"\n'
    ),
}


@pytest.mark.parametrize("text", KAKAOTALK.values(), ids=KAKAOTALK)
def test_kakaotalk(text: str) -> None:
    found = read(text, "KakaoTalk")
    assert said(found) == [("미라", "안녕\n오늘 뭐해?"), ("나", "집에 있어")]
    assert [one.when for one in found.said] == [datetime(2023, 12, 31, 21, 41), datetime(2023, 12, 31, 21, 43)]
    assert found.missing == ["1 media"]


def test_kakaotalk_in_english_and_with_lines_of_the_app() -> None:
    found = read(
        "KakaoTalk Chats with Mira\nDate Saved : Jan 1, 2024 at 10:00 AM\n\n"
        "--------------- Sunday, December 31, 2023 ---------------\n"
        "[Mira] [9:41 PM] hello\n존님이 나갔습니다.\nDec 31, 2023 at 9:42 PM, Jon : hi : there\n"
        "2023. 12. 31. 오후 9:44: 존님이 들어왔습니다.\n"
        "[Jon] [9:45 PM] This message was deleted.\n",
        "KakaoTalk",
    )
    assert said(found) == [("Mira", "hello"), ("Jon", "hi : there")]
    assert [one.when for one in found.said] == [datetime(2023, 12, 31, 21, 41), datetime(2023, 12, 31, 21, 42)]
    assert found.missing == ["1 deleted message", "2 system lines"]


LINE = {
    "ja": (
        "[LINE] 花子とのトーク履歴\n保存日時：2024/01/01 10:00\n\n"
        "2023/12/31(日)\n21:41\t花子\tこんにちは\n21:42\t太郎\t[スタンプ]\n"
        '21:43\t太郎\t"はい、\n元気です"\n21:44\t\t花子がメッセージの送信を取り消しました\n'
        "21:45\t花子\t☎ 通話時間 1:23\n"
    ),
    "en": (
        "[LINE] Chat history with 花子\n"
        "Saved on: 12/31/2023 10:00\n\nSun, 12/31/2023\n"
        "09:41 PM\t花子\tこんにちは\n09:42 PM\t太郎\t[Sticker]\n"
        '09:43 PM\t太郎\t"はい、\n元気です"\n'
        "09:44 PM\t花子 unsent a message.\n"
        "09:45 PM\t花子\t☎ Call time 1:23\n"
    ),
    "zh": (
        "[LINE] 與花子的聊天記錄\n儲存日期：2024/01/01 10:00\n\n"
        "2023/12/31（週日）\n下午09:41\t花子\tこんにちは\n下午09:42\t太郎\t[貼圖]\n"
        '下午09:43\t太郎\t"はい、\n元気です"\n下午09:44\t花子已收回訊息\n'
        "下午09:45\t花子\t☎ 通話時間 1:23\n"
    ),
    "computer": (
        "[LINE] 花子とのトーク履歴\n2023.12.31 日曜日\n21:41 花子 こんにちは\n"
        "21:42 太郎 スタンプ\n21:43 太郎 はい、\n元気です\n"
        "21:44 花子がメッセージの送信を取り消しました\n21:45 花子 ☎ 通話時間 1:23\n"
    ),
}


@pytest.mark.parametrize("text", LINE.values(), ids=LINE)
def test_line(text: str) -> None:
    found = read(text, "LINE")
    assert said(found) == [("花子", "こんにちは"), ("太郎", "はい、\n元気です")]
    assert [one.when for one in found.said] == [datetime(2023, 12, 31, 21, 41), datetime(2023, 12, 31, 21, 43)]
    assert found.missing == ["1 call", "1 deleted message", "1 media"]


def test_messenger_and_instagram_begin_with_the_last_message_and_write_bytes_as_letters() -> None:
    messages = [
        {
            "sender_name": "Zo\u00c3\u00a9",
            "timestamp_ms": UTC_EVE + 60_000,
            "content": "\u00f0\u009f\u0091\u008b caf\u00c3\u00a9",
        },
        {"sender_name": "Jon", "timestamp_ms": UTC_EVE + 30_000, "photos": [{"uri": "1.jpg"}, {"uri": "2.jpg"}]},
        {
            "sender_name": "Jon",
            "timestamp_ms": UTC_EVE + 20_000,
            "content": "Reacted \u00e2\u009d\u00a4 to your message ",
        },
        {"sender_name": "Jon", "timestamp_ms": UTC_EVE + 10_000, "content": "gone", "is_unsent": True},
        {"sender_name": "Jon", "timestamp_ms": UTC_EVE, "content": "hello"},
    ]
    text = json.dumps({"participants": [{"name": "Jon"}], "messages": messages})
    found = read(text, "Messenger or Instagram")
    assert said(found) == [("Jon", "hello"), ("Zoé", "👋 café")]
    assert (found.said[0].when, found.said[0].at) == (EVE, "message 5")
    assert found.missing == ["1 deleted message", "2 media", "1 system line", "times are read in UTC"]


def test_messenger_of_encrypted_chats() -> None:
    one = {"senderName": "Mira", "text": "héllo", "timestamp": UTC_EVE, "type": "text", "isUnsent": False, "media": []}
    text = json.dumps({"participants": ["Mira", "Jon"], "threadName": "Mira_1", "messages": [one]})
    assert said(read(text, "Messenger or Instagram")) == [("Mira", "héllo")]


def test_slack_shows_names_links_and_signs() -> None:
    text = json.dumps(
        [
            {
                "type": "message",
                "user": "U1",
                "text": "hi <@U2> &amp; all: <https://example.org|here>",
                "ts": "1704058865.000100",
                "user_profile": {"real_name": "Mira Sol", "display_name": "mira"},
            },
            {
                "type": "message",
                "user": "U2",
                "text": "<https://example.org/x>",
                "ts": "1704058865.000200",
                "user_profile": {"real_name": "Jon", "display_name": ""},
            },
            {
                "type": "message",
                "subtype": "channel_join",
                "user": "U2",
                "text": "<@U2> has joined",
                "ts": "1704058865.000300",
            },
        ]
    )
    found = read(text, "Slack")
    assert said(found) == [("mira", "hi @Jon & all: here"), ("Jon", "https://example.org/x")]
    assert found.missing == ["1 system line", "times are read in UTC"]


@pytest.mark.parametrize(
    ("head", "other"),
    [
        ("2023-12-31 21:41:05 米拉", "2023-12-31 21:42:05 小王"),
        ("2023-12-31 21:41:05 米拉(12345678)", "2023-12-31 9:42:05 小王(87654321)"),
        ("米拉(2023-12-31 21:41:05):", "小王 (2023-12-31 21:42:05):"),
    ],
)
def test_wechat_and_qq(head: str, other: str) -> None:
    found = read(f"{head}\n你好\n在吗?\n\n{other}\n[图片]\n\n{other}\n在\n", "WeChat or QQ")
    assert (said(found), found.said[0].when) == ([("米拉", "你好\n在吗?"), ("小王", "在")], EVE)
    assert found.missing == ["1 media"]


def test_imessage_exporter() -> None:
    found = read(
        "Dec 31, 2023  9:41:05 PM (Read by you after 1 hour, 2 seconds)\n+15551234\nhello\nyou\n\n"
        "Dec 31, 2023  9:42:05 PM\nMe\nattachments/1/house.heic\nour house\nTapbacks:\n    Loved by +15551234\n\n",
        "iMessage",
    )
    assert (said(found), found.said[0].when) == ([("+15551234", "hello\nyou"), ("Me", "our house")], EVE)
    assert found.missing == ["1 media", 'the owner of the export is called "Me"']


@pytest.mark.parametrize(
    "text",
    [
        "Call me Ishmael. Some years ago, never mind how long precisely.\n",
        "ROMEO. But soft! what light?\n\nJULIET. Ay me!\n",
        "# Diary\n\n2023-12-31\n\nToday I wrote.\n",
        '{"name": "Mira", "description": "a card"}',
        '[{"a": 1}]',
        '{"version": 1, "chat": "none"}',
        "<html><body><p>page</p></body></html>",
        "Date,Amount\n2023-12-31,3\n",
        "",
    ],
)
def test_other_texts_belong_to_no_messenger(text: str) -> None:
    assert messenger_of(text) is None


@pytest.mark.parametrize("name", MESSENGERS)
def test_a_text_without_messages_is_refused_with_what_to_do(name: str) -> None:
    for text in ("", "{}", "[]", "a line\n", "<smses/>"):
        with pytest.raises(Unreadable, match=r"again|JSON"):
            MESSENGERS[name].read(text)
