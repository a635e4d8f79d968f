"""How each dataset becomes roles: who is in it, what they know of it, and which questions that leaves to ask."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from dramaturg.evaluation.datasets import charactereval
from dramaturg.evaluation.datasets.cast import Cast, Member, Scene, file_stem, free_id
from dramaturg.evaluation.datasets.catalogue import known
from dramaturg.evaluation.datasets.coser import NARRATOR, Book, Plot, heard, is_coser, known_as
from dramaturg.evaluation.datasets.dataset import Dataset, DatasetQuestion, DatasetTurn
from dramaturg.evaluation.datasets.files import Source, Tally, documents, text_of
from dramaturg.evaluation.datasets.folders import Wish, files_below, folder_with, gathered, missing, wish_of
from dramaturg.evaluation.datasets.novels import cast_novels, questions_of
from dramaturg.evaluation.datasets.plain import is_rolebench, read_rolebench
from dramaturg.evaluation.datasets.reading import read_dataset
from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.formats.markdown import language_of
from dramaturg.stores.names import normal_name

HELD_BACK = 5
"""Of scenes without a split of their own, every fifth is asked about and not known."""
TELLING = 12
"""Letters of a line by which two dialogues are of one scene: shorter ones are said anywhere."""


def asked_of(text: str) -> Dataset:
    """Return the questions of `--dataset`: of NAME=FOLDER those that are left to ask, of a path all."""
    wish = wish_of(text)
    if wish is None:
        return read_dataset(text)
    return questions_of(wish) if wish.name == "novel" else cast_of(wish).dataset


def cast_of(wish: Wish) -> Cast:
    """Return the roles of a dataset and what is left to ask them.

    Raises:
        RoleFileError: the folder is not there, does not hold the dataset, or an entry cannot be used.
        ValueError: there is no such dataset, or it lacks what roles need and nothing is named that has it.
    """
    if not wish.folder.is_dir():
        raise RoleFileError(f"{wish.folder} is no folder: name the one that holds {known(wish.name).title}.")
    return CASTS[wish.name](wish)


def cast_charactereval(wish: Wish) -> Cast:
    """Profiles become personas. Dialogues that share a line are of one scene; every fifth of these is held back."""
    source = folder_with(wish)
    found = read_dataset(source.path, "charactereval")
    profiles = charactereval.profiles_of(source)
    if not profiles:
        raise RoleFileError(f"{source.name} has no character_profiles.json: put it there, the roles are made of it.")
    scenes = scenes_of(found.questions)
    held = {one.id for number, (one, _) in enumerate(scenes) if number % HELD_BACK == HELD_BACK - 1}
    ask = {question for scene, questions in scenes if scene.id in held for question in questions}
    lines = [scene for scene, _ in scenes if scene.id not in held]
    members = dict[str, Member]()
    for name, profile in profiles.items():
        said = profile if isinstance(profile, Mapping) else {}
        full = said.get("姓名", "")
        members[free_id(wish.name, name, members)] = Member(
            name=name,
            aliases=(full,) if isinstance(full, str) and 0 < len(full) <= charactereval.LONGEST_SHORT else (),
            profile=charactereval.in_short(profile),
            documents={"profile": charactereval.as_document(name, profile)},
            scenes=[one for one in lines if any(turn.speaker == name for turn in one.lines)],
        )
    return gathered(
        wish, members, found, ask, [f"{len(held)} of {len(scenes)} scenes are held back, to be asked about"]
    )


def scenes_of(questions: Sequence[DatasetQuestion]) -> list[tuple[Scene, list[str]]]:
    """Put dialogues that share a telling line together; each scene has its lines once, and the ids of its questions."""
    first: dict[tuple[str, DatasetTurn], str] = {}
    parent = {one.id: one.id for one in questions}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = name = parent[parent[name]]
        return name

    for one in questions:
        for line in spoken(one):
            if len(line.text) >= TELLING:
                parent[root(one.id)] = root(first.setdefault((one.labels.get("novel", ""), line), one.id))
    groups: dict[str, list[DatasetQuestion]] = {}
    for one in questions:
        groups.setdefault(root(one.id), []).append(one)
    return [
        (
            Scene(
                name, tuple(dict.fromkeys(line for one in of for line in spoken(one))), of[0].labels.get("novel", "")
            ),
            [one.id for one in of],
        )
        for name, of in groups.items()
    ]


def spoken(question: DatasetQuestion) -> tuple[DatasetTurn, ...]:
    """All that is said in a question, up to itself."""
    return (*question.turns, DatasetTurn(speaker=question.user_role, text=question.text))


def cast_character_llm(wish: Wish) -> Cast:
    """Profiles with their headings become personas; all questions are asked."""
    source = folder_with(wish)
    found, members = read_dataset(source.path, "character_llm"), dict[str, Member]()
    for code, one in found.characters.items():
        title = one.persona.lstrip().partition("\n")[0]
        name = title.removeprefix("# ").strip() if title.startswith("# ") else code
        members[free_id(wish.name, code, members)] = Member(
            name=name, aliases=(code,), documents={"profile": one.persona}
        )
    if not members:
        raise RoleFileError(f"{source.name} has no folder `profiles` with texts: the roles are made of them.")
    return gathered(wish, members, found, None)


def cast_coser(wish: Wish) -> Cast:
    """Profiles become personas, conversations of the plots to learn from dialogues, what was lived through memories."""
    found = books_in(wish.folder)
    if not found:
        raise missing(wish)
    members, notes = dict[str, Member](), list[str]()
    questions, ask = list[DatasetQuestion](), set[str]()
    for source in found:
        book, title = source.content.first.read_as(Book), file_stem(source.name)
        tenth = max(1, len(book.plots) // 10)
        until = len(book.plots) - tenth if book.split_plot_index is None else book.split_plot_index
        notes.append(f"{len(book.plots) - until} of {len(book.plots)} plots of {source.name} are held back")
        several = f"{title} " if len(found) > 1 else ""  # people of two books may have one name
        roles, same = dict[str, str](), known_as(book)
        for name in (one for one in book.character_datasets if one not in same):
            roles[name] = free_id(wish.name, several + name, {*members, *roles.values()})
            names = [name, *sorted(other for other, person in same.items() if person == name)]
            if any(book.character_datasets[one].profile.strip() for one in names):
                members[roles[name]] = in_book(book, title, until, names)
        for question in read_dataset(source.path, "coser").questions:
            told = {"id": several + question.id, "role": roles[question.role] if several else question.role}
            questions.append(question.model_copy(update=told))
            if int(question.id.partition(".")[0]) >= until:
                ask.add(told["id"])
    whole = Dataset(name=wish.called, form="coser", questions=tuple(questions), licence=known(wish.name).licence)
    return gathered(wish, members, whole, ask, notes)


def in_book(book: Book, title: str, until: int, names: Sequence[str]) -> Member:
    """Somebody as the plots of a book before one have them; the first name is that of the plots."""
    name, *others = names
    lived = [
        {"text": person.experience.strip(), **({"when": plot.chapter} if plot.chapter else {})}
        for plot in book.plots[:until]
        for person in plot.key_characters
        if person.name == name and person.experience.strip()
    ]
    profiles = {
        "profile" if one == name else f"profile of {one}": f"# {one}\n\n{text}"
        for one in names
        if (text := book.character_datasets[one].profile.strip())
    }
    scenes = [*known_scenes(title, book.plots[:until], name)]
    return Member(name=name, aliases=tuple(others), documents=profiles, scenes=scenes, memories=lived)


def known_scenes(book: str, plots: Sequence[Plot], name: str) -> Iterator[Scene]:
    """The conversations of plots in which somebody speaks, without thoughts, which nobody hears, and the narrator."""
    for number, plot in enumerate(plots):
        for index, conversation in enumerate(plot.conversation):
            lines = tuple(one for one in heard(conversation.dialogues, Tally()) if one.speaker != NARRATOR)
            if any(one.speaker == name for one in lines):
                yield Scene(f"{book}-{number}-{index}", lines, plot.chapter or "")


def cast_rolebench(wish: Wish) -> Cast:
    """Pairs to learn from become memories; `role_specific/test` is asked. Profiles come from elsewhere, if at all."""
    parts: dict[str, list[Source]] = {}
    for path in files_below(wish.folder, (".jsonl",)):
        words = re.split(r"[/_.]", path.relative_to(wish.folder).as_posix())
        part = next((one for one in ("baseline", "general", "train") if one in words), "test")
        if part in ("train", "test") and is_rolebench(source := Source(path)):
            parts.setdefault(part, []).append(source)
    if "test" not in parts:
        raise missing(wish)
    questions: dict[tuple[str, str], DatasetQuestion] = {}
    for source in parts["test"]:
        for one in read_rolebench(source).questions:
            name = f"{source.path.relative_to(wish.folder).with_suffix('').as_posix()} {one.id}"
            questions.setdefault((one.role, one.text), one.model_copy(update={"id": name}))
    learned: dict[str, list[Mapping[str, str]]] = {}
    for source in parts.get("train", ()):
        for one in read_rolebench(source).questions:
            if one.answer and (one.role, one.text) not in questions:
                learned.setdefault(one.role, []).append({"question": one.text, "answer": one.answer})
    apart = apart_of(wish)
    members = dict[str, Member]()
    for name in dict.fromkeys(role for role, _ in questions):
        memories = learned.get(name, [])
        told = language_of(" ".join(text for role, text in questions if role == name))
        own = apart.get(normal_name(name)) or Member(name)
        members[free_id(wish.name, name, members)] = own._replace(
            name=name,
            aliases=(own.name, *own.aliases),
            language=told,
            memories=[*own.memories, *memories],
        )
    asked, licence = tuple(questions.values()), known(wish.name).licence
    whole = Dataset(name=wish.called, form="rolebench", questions=asked, licence=licence)
    bare = sum(not one.documents for one in members.values())
    note = f"{bare} of {len(members)} roles have no persona: {known(wish.name).needs}"
    return gathered(wish, members, whole, None, [note] * bool(bare))


def cast_characterrag(wish: Wish) -> Cast:
    """A folder is a role: its texts are the persona, its pairs are asked."""
    found = read_dataset(folder_with(wish).path, "characterrag")
    single, members = wish.called, dict[str, Member]()
    for role in found.characters:
        folder = folder_with(wish).path / role
        texts = {one.stem: text_of(one) for one in documents(folder)}
        members[free_id(wish.name, role or single, members)] = Member(name=role or single, documents=texts)
    return gathered(wish, members, found, None)


def cast_incharacter(wish: Wish) -> Cast:
    """Whom labels are of, with profiles from elsewhere; there are no questions: they are interviewed."""
    found, apart = read_dataset(folder_with(wish).path, "incharacter"), apart_of(wish)
    if not apart:
        raise ValueError(f"InCharacter has no profiles: add {known(wish.name).needs.removeprefix('profiles: ')}.")
    members, absent = dict[str, Member](), list[str]()
    for code, one in found.characters.items():
        names = (*one.aliases, code.rpartition("-")[0] or code, code)
        own = next((apart[name] for name in map(normal_name, names) if name in apart), None)
        if own is None:
            absent.append(code)
            continue
        members[free_id(wish.name, code, members)] = own._replace(
            aliases=(*own.aliases, *names),
            language=one.language if one.language in ("en", "zh", "ko") else own.language,
        )
    if not members:
        raise ValueError(f"{wish.profiles} has no profile of anybody in {found.name}: {', '.join(absent[:10])}.")
    return gathered(wish, members, found, None, [f"without a profile: {', '.join(absent)}"] * bool(absent))


def apart_of(wish: Wish) -> dict[str, Member]:
    """Return the members of the source of profiles by all their names; nothing where none is given."""
    if not wish.profiles:
        return {}
    if other := wish_of(wish.profiles):
        found = cast_of(other)
        from_there = (found.title, f"Licence: {found.licence}")
        members = [one._replace(sources=(*one.sources, *from_there)) for one in found.members.values()]
    else:
        folder = Path(wish.profiles).expanduser()
        if not folder.is_dir():
            raise RoleFileError(f"{wish.profiles} is no folder: give one with a .md or .txt for each name.")
        own = (f"Profile: from {folder.resolve().name}",)
        members = [Member(one.stem, documents={"profile": text_of(one)}, sources=own) for one in documents(folder)]
    return {normal_name(name): one for one in members for name in (*one.aliases, one.name)}


def books_in(folder: Path) -> list[Source]:
    """The books of CoSER in a folder and below it; one that is damaged is an error."""
    return [source for source in map(Source, files_below(folder, (".json",))) if is_coser(source)]


CASTS: Mapping[str, Callable[[Wish], Cast]] = {
    "charactereval": cast_charactereval,
    "rolebench": cast_rolebench,
    "character_llm": cast_character_llm,
    "coser": cast_coser,
    "characterrag": cast_characterrag,
    "incharacter": cast_incharacter,
    "novel": cast_novels,
}
"""By the names of the catalogue."""
