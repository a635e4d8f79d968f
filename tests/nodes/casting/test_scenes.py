"""Scenes of attributed quotations: lines with their places, under their headings."""

from dramaturg.nodes.casting.attribution import attributed
from dramaturg.nodes.casting.scenes import scenes_of
from dramaturg.stores.texts.form import Line, Scene

TALK = "“Where?” asked Mira. “Tell me.”\n\n“Here,” said Brandt.\n"


def scenes(text: str) -> list[Scene]:
    return scenes_of(text, attributed(text, "en"))


def test_a_scene_has_its_heading_and_its_lines_with_their_places() -> None:
    assert scenes(f"# The quay\n\nRain.\n\n{TALK}") == [
        Scene(
            "The quay",
            (Line("Mira", "Where? Tell me.", "line 5", "Brandt"), Line("Brandt", "Here,", "line 7", "Mira")),
        )
    ]


def test_a_heading_and_a_long_narration_each_begin_a_scene() -> None:
    rain = "It rained on the roofs of the town. " * 60
    found = scenes(f"# One\n\n{TALK}\n{rain}\n\n{TALK}\n# Two\n\n{TALK}")
    assert [(one.title, len(one.lines)) for one in found] == [("One", 2), ("One (2)", 2), ("Two", 2)]


def test_what_nobody_is_known_to_say_is_left_out_and_much_of_it_ends_the_scene() -> None:
    lost = "Bells.\n\n“Ho,” said a man.\n\n"
    assert [len(one.lines) for one in scenes(f"{TALK}\n{lost}{TALK}")] == [4]
    assert [len(one.lines) for one in scenes(f"{TALK}\n{lost * 3}{TALK}")] == [2, 2]
