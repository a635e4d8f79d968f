"""What the requests of real clients mean: the thread, the kind, and what is on the screen."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from dramaturg.conversations.alignment import Exchange
from dramaturg.server.chat_requests import ChatRequest, Heard, Shown, heard_in

SHARED = os.environ.get("DRAMATURG_SHARED_DATA", "")
CAPTURED = Path(SHARED) / "cards" / "client_requests"
shared = pytest.mark.skipif(not SHARED, reason="set DRAMATURG_SHARED_DATA to the folder of shared data")


def captured(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The requests that a client has sent for completions, each with what its user did."""
    file = CAPTURED / name
    for line in file.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        if one["method"] == "POST":
            yield str(one.get("action")), one


def heard_of(one: dict[str, Any], *, headers: bool = True) -> Heard:
    kept = {name: value for name, value in one["headers"].items() if headers or not name.startswith("x-")}
    return heard_in(ChatRequest.model_validate(one["body"]), kept)


def read(messages: list[tuple[str, str]], **headers: str) -> Heard:
    sent = [{"role": role, "content": text} for role, text in messages]
    body = ChatRequest.model_validate({"model": "ada", "messages": sent, "stream": True})
    return heard_in(body, {name.replace("_", "-"): value for name, value in headers.items()})


GREETING = "*KeeperV2 lights the lamp.* Hello User."
FIRST = '*role:keeper nods.* I heard: "Stay in role." (12 messages)'
CONTINUED = (
    f'{FIRST} *role:keeper nods.* I heard: "[Continue your last message without repeating its original c" (14 messages)'
)
LAMP = "Tell me of the old lamp and gulls."
SOLO = [
    # what the user did, its kind, the exchanges that were on the screen, what the role hears
    (f"say: {LAMP}", "turn", [("", GREETING)], LAMP),
    ("swipe", "turn", [("", GREETING)], LAMP),
    ("/gen Write a title for this chat", "quiet", None, None),
    ("/impersonate", "quiet", None, None),
    ("/continue", "continue", [("", GREETING)], LAMP),
    ("say: And the storm?", "turn", [("", GREETING), (LAMP, CONTINUED)], "And the storm?"),
    ("/regenerate", "turn", [("", GREETING), (LAMP, CONTINUED)], "And the storm?"),
    (
        "say: A different question instead.",
        "turn",
        [("", GREETING), (LAMP, CONTINUED)],
        "A different question instead.",
    ),
]


@shared
@pytest.mark.parametrize("headers", [True, False])
def test_each_request_of_sillytavern_means_what_its_user_did(headers: bool) -> None:
    requests = [one for one in captured("sillytavern_1.19.0_solo.jsonl") if one[0] != "group message"]
    assert len(requests) == 11
    for (action, one), (wanted, kind, screen, hears) in zip(requests, SOLO, strict=False):
        assert action == wanted
        heard = heard_of(one, headers=headers)
        assert heard.kind == kind, action
        if kind != "quiet":
            assert [tuple(exchange) for exchange in heard.history] == screen, action
            assert heard.question == hears, action
            assert "Example Chat" not in heard.scene
            assert "fictional chat" not in heard.scene
            assert "Stay in role." in heard.scene
        if kind == "continue":
            assert heard.begun == FIRST
    edited = heard_of(requests[8][1], headers=headers)
    assert requests[8][0] == "say: After the edit."
    assert edited.history[1].heard == "EDITED: tell me of the lamp."
    assert [len(heard_of(one, headers=headers).history) for _, one in requests[8:]] == [3, 4, 5]


@shared
@pytest.mark.parametrize("headers", [True, False])
def test_each_role_of_a_group_hears_the_others(headers: bool) -> None:
    (_, first), (_, second) = captured("sillytavern_1.19.0_group.jsonl")
    one, other = heard_of(first, headers=headers), heard_of(second, headers=headers)
    assert (one.speaker, other.speaker) == ("KeeperV2", "KeeperV3")
    user = "User: " if headers or first["body"].get("user") else ""
    greeting = "*KeeperV3 lights the lamp.* Hello User."
    assert one.history == [Exchange("", "Alt one.")]
    assert one.question == f"KeeperV3: {greeting}\n\n{user}Hello both of you."
    assert other.history == [Exchange("KeeperV2: Alt one.", greeting)]
    assert other.question.startswith(f"{user}Hello both of you.\n\nKeeperV2: *role:keeper nods.*")
    assert "Keeper dislikes gulls." in one.scene


@shared
def test_tasks_of_open_webui_are_no_turns() -> None:
    kinds = [heard_of(one) for _, one in captured("open_webui_0.12.4.jsonl")]
    assert [one.kind for one in kinds] == ["quiet", "turn", "quiet", "quiet", "turn", "quiet"]
    assert [one.question for one in kinds if one.kind == "turn"] == ["Hello, who are you?", "And what do you believe?"]
    assert len(kinds[4].history) == 1


def test_a_client_that_sends_one_message_hears_as_any() -> None:
    assert read([("user", "hi")]) == Heard(
        "turn", [], "hi", "", "", "", (), "", whole=False, lines=(Shown("", "hi", by_user=True),), present=None
    )


def test_content_in_parts_is_read_and_pictures_are_not() -> None:
    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:"}}, 7, None]
    body = ChatRequest.model_validate({"model": "ada", "messages": [{"role": "user", "content": parts}]})
    assert heard_in(body, {}).question == "look"


def test_several_messages_in_a_row_are_one_question_and_one_reply() -> None:
    heard = read([("user", "a"), ("user", "b"), ("assistant", "c"), ("assistant", "d"), ("user", "e"), ("user", "f")])
    assert heard.history == [Exchange("a\n\nb", "c\n\nd")]
    assert heard.question == "e\n\nf"


def test_a_last_reply_without_a_word_behind_it_is_gone_on_with() -> None:
    heard = read([("user", "a"), ("assistant", "b")])
    assert (heard.kind, heard.question, heard.begun, heard.history) == ("continue", "a", "b", [])


def test_a_role_that_is_to_speak_again_hears_nothing_new() -> None:
    heard = read([("user", "a"), ("assistant", "b"), ("system", "[Write the next reply only as Ada.]")])
    assert (heard.kind, heard.question, heard.speaker) == ("turn", "…", "Ada")
    assert heard.history == [Exchange("a", "b")]


def test_names_in_front_of_what_was_said_are_no_part_of_it() -> None:
    said = [("assistant", "Ada: Hello."), ("user", "Tom: Hi: there"), ("assistant", "Ada: Well: yes.")]
    heard = read([*said, ("user", "Tom: Go on.")], x_role_char="Ada", x_role_user="Tom")
    assert heard.history == [Exchange("", "Hello."), Exchange("Hi: there", "Well: yes.")]
    assert heard.question == "Go on."


def test_examples_of_a_card_and_what_says_nothing_are_no_part_of_the_scene() -> None:
    examples = [
        {"role": "system", "name": f"example_{who}", "content": f"{who} speaks"} for who in ("user", "assistant")
    ]
    asides = [{"role": "system", "content": text} for text in ("[Start a new Chat]", "\0", "It snows.")]
    messages = [*examples, *asides, {"role": "user", "content": "hi"}]
    assert heard_in(ChatRequest.model_validate({"model": "ada", "messages": messages}), {}).scene == "It snows."


def test_where_nobody_has_said_anything_the_role_is_to_speak_first() -> None:
    assert read([("user", "   ")]).kind == "opening"


@pytest.mark.parametrize("name", ["바다", "Élise", "O'Brien & Söhne", "100%"])
def test_names_in_other_letters_reach_the_role(name: str) -> None:
    said = [("assistant", f"{name}: Hello."), ("user", "Tom: Hi.")]
    named = {"role_char": name, "role_user": "Tom", "role_group": f"{name}, Bert", "gen_type": "quiet"}
    body = {"model": "ada", "messages": [{"role": role, "content": text} for role, text in said], "metadata": named}
    in_body = heard_in(ChatRequest.model_validate(body), {})
    assert (in_body.speaker, in_body.asker, in_body.others, in_body.kind) == (name, "Tom", ("Bert",), "quiet")
    for sent in (name.encode().decode("latin-1"), quote(name)):
        assert read(said, x_role_char=sent).speaker == name
        assert read(said, x_openwebui_user_name=sent).asker == name
    assert read(said, x_role_user="Zoe", x_openwebui_user_name="User").asker == "Zoe"
    assert read(said, x_role_char="\xc9lise").speaker == "Élise"
    odd = ChatRequest.model_validate(body | {"metadata": {"role_char": ["a"], "role_user": None, "gen_type": 5}})
    assert (heard_in(odd, {}).speaker, heard_in(odd, {}).asker, heard_in(odd, {}).kind) == ("", "", "turn")
    both = ChatRequest.model_validate(body | {"metadata": {"role_char": "Bert"}})
    assert heard_in(both, {"x-role-char": "Ada"}).speaker == "Ada"
