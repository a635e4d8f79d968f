"""PingPong's form (Gusev 2024): characters, and situations that a simulated user brings about with each of them."""

from collections.abc import Sequence

from dramaturg.evaluation.datasets.dataset import AIM, Character, Dataset, DatasetQuestion
from dramaturg.evaluation.datasets.files import FileEntry, Filled, Source, Tally, Text

LOOKS = "settings_v2.json, an object of languages with `characters` and `situations`"
LICENCE = "PingPong is under Apache-2.0; some of its characters are of works under copyright"
LANGUAGE = "en"
OTHERS = "a situation in another language than those that roles speak"


class PlayedCharacter(FileEntry):
    """Somebody to play."""

    char_name: Filled
    system_prompt: Text
    example_prompt: Text = ""


class Situation(FileEntry):
    """What the user is to do."""

    text: Filled
    tags: Sequence[str] = ()


class Settings(FileEntry):
    """What there is in a language."""

    characters: list[PlayedCharacter]
    situations: list[Situation]


class Languages(FileEntry, extra="allow"):
    """The file; there are characters in Russian beside those in English, which roles here do not speak."""

    en: Settings
    ru: Settings | None = None


def is_ping_pong(source: Source) -> bool:
    """Whether it is the settings of both versions."""
    first = source.content.first
    return first.has(LANGUAGE) and isinstance(told := first.value[LANGUAGE], dict) and "situations" in told


def read_ping_pong(source: Source) -> Dataset:
    """Return a question for each character and situation, whose text says what a simulated user is after in a talk."""
    record, tally = source.content.first, Tally()
    told = record.read_as(Languages)
    for one in told.en.characters:
        for number, situation in enumerate(told.en.situations, start=1):
            question = DatasetQuestion(
                id=f"{one.char_name} {number}",
                text=situation.text,
                role=one.char_name,
                attribute=situation.tags[0] if situation.tags else "",
                labels={AIM: situation.text},
            )
            tally.add(question, record.where)
    for _ in range(len(told.ru.characters) * len(told.ru.situations) if told.ru else 0):
        tally.leave_out(OTHERS)
    people = {one.char_name: Character(persona=_persona(one), language=LANGUAGE) for one in told.en.characters}
    return tally.dataset(source.name, "ping_pong", LICENCE, people)


def _persona(one: PlayedCharacter) -> str:
    example = f"## How {one.char_name} talks\n\n{one.example_prompt.strip()}" if one.example_prompt.strip() else ""
    return "\n\n".join(filter(None, (f"# {one.char_name}", one.system_prompt.strip(), example)))
