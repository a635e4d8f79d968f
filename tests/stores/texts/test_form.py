"""A chat as scenes: a long silence begins another one, and what one writes in a row is said at a time."""

from datetime import datetime

from dramaturg.stores.texts.form import Message, Messages, chat_text


def at(hour: int) -> datetime:
    return datetime(2024, 3, 1, hour)


def test_after_three_hours_of_silence_another_scene_begins() -> None:
    said = [Message("Ada", "Late.", "line 1", at(8)), Message("Tom", "Yes.", "line 2", at(11))]
    later = Message("Ada", "Here.", "line 3", at(15))
    scenes = chat_text("wa.txt", Messages([*said, later], [])).scenes
    assert [[line.text for line in scene.lines] for scene in scenes] == [["Late.", "Yes."], ["Here."]]


def test_messages_in_a_row_are_one_line() -> None:
    said = [Message("Ada", "Late.", "line 1", at(8)), Message("Ada", "As ever.", "line 2", at(8))]
    (scene,) = chat_text("wa.txt", Messages(said, [])).scenes
    assert [(line.text, line.at) for line in scene.lines] == [("Late.\nAs ever.", "line 1")]
