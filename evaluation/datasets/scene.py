"""A written course of a scene, and what its roles are asked after it: who knew, who did not, who may suspect."""

from typing import Any, Literal

from pydantic import Field

from dramaturg.evaluation.datasets.dataset import Dataset, DatasetQuestion, Played
from dramaturg.evaluation.datasets.files import FileEntry, Filled, Located, Source, Tally, Text
from dramaturg.stores.documents.reading import parse_yaml
from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.files import read_bytes
from dramaturg.workflows.scene import SceneContext

LOOKS = 'JSON lines that begin with {"scene": "NAME.yaml"}, then {"line": …} and {"question": …} in their order'
SCOPES: dict[str, Literal["in", "out", ""]] = {"knew": "in", "did not know": "out", "suspects": ""}


class Begins(FileEntry, extra="forbid"):
    """The first entry: the file of the scene, beside this one, and how many lines a role has before its eyes."""

    scene: Filled
    window: int = 400
    context: Text = ""
    """Where and by whom all questions are asked, if a question does not say."""


class SceneLine(FileEntry, extra="forbid"):
    """A line, as it is written in `dramaturg scene`; that of a role begins with its name and a colon."""

    line: Filled


class SceneQuestion(FileEntry, extra="forbid"):
    """What a role is asked after all lines above, and by which words its answer is known."""

    question: Filled
    role: Filled
    kind: Literal["knew", "did not know", "suspects"]
    answer: Text = ""
    says: list[Filled] = Field(default_factory=list)
    secrets: list[Filled] = Field(default_factory=list)
    claims: list[Filled] = Field(default_factory=list)
    context: Text = ""


def is_scene(source: Source) -> bool:
    """Whether its first entry names a scene."""
    return source.single and source.content.first.has("scene") and not source.content.first.has("text")


def read_scene_questions(source: Source) -> Dataset:
    """Return the questions, each with all that was played before it."""
    begins, *others = source.content.records
    first = begins.read_as(Begins)
    scene, lines, tally = played_scene(source, first, begins), list[str](), Tally()
    roles = {one["role"] for one in scene["cast"]}
    for record in others:
        if record.has("line"):
            lines.append(record.read_as(SceneLine).line)
            continue
        one = record.read_as(SceneQuestion)
        require_words(one, roles, record)
        played = Played(
            scene=scene, lines=tuple(lines), says=tuple(one.says), secrets=tuple(one.secrets), claims=tuple(one.claims)
        )
        question = DatasetQuestion(
            id=str(record.number),
            text=one.question,
            role=one.role,
            answer=one.answer,
            attribute=one.kind,
            scope=SCOPES[one.kind],
            context=one.context or first.context,
            played=played,
        )
        tally.add(question, record.where)
    return tally.dataset(source.name, "scene", "", {})


def played_scene(source: Source, first: Begins, where: Located) -> dict[str, Any]:
    """The settings of the scene, as its file has them, and of the first entry."""
    folder = source.content.path.parent
    path = folder / first.scene
    if not path.is_file():
        raise RoleFileError(f"{where.where}: there is no {first.scene} beside it: put the file of the scene there.")
    read = parse_yaml(read_bytes(path, folder), path, SceneContext, folder)
    names = read.model_fields_set & {"place", "opening", "as_of", "language", "user_role"} | {"cast"}
    cast = [one.model_dump(mode="json", include={"role", "hidden", "absent", "told"}) for one in read.cast]
    return {**{name: getattr(read, name) for name in names}, "cast": cast, "window": first.window}


def require_words(one: SceneQuestion, roles: set[str], record: Located) -> None:
    """Refuse a question of somebody else, or without the words by which its kind is scored."""
    if one.role not in roles:
        raise RoleFileError(f"{record.where}: {one.role} is not in the cast ({', '.join(sorted(roles))}).")
    lacking = [name for name in ("says", "secrets") if not getattr(one, name)]
    if (name := "says" if one.kind == "knew" else "secrets") in lacking:
        what = "of a right answer" if name == "says" else "that were kept from the role"
        raise RoleFileError(f"{record.where}: a question of the kind {one.kind!r} needs `{name}`, the words {what}.")
    asked = f"{one.question} {one.context}".casefold()
    for word in (spelled for text in one.secrets for spelled in text.split("|")):
        if word.strip().casefold() in asked:
            raise RoleFileError(f"{record.where}: the question itself says {word.strip()!r}: ask without it.")
