"""How each dataset becomes roles: who is in it, what they know of it, and which questions that leaves to ask."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from dramaturg.evaluation.datasets import charactereval
from dramaturg.evaluation.datasets.books import cast_coser, cast_coser_test
from dramaturg.evaluation.datasets.cast import Cast, Member, Scene, free_id
from dramaturg.evaluation.datasets.catalogue import PROFILES_APART, known
from dramaturg.evaluation.datasets.dataset import Dataset, DatasetQuestion, DatasetTurn
from dramaturg.evaluation.datasets.files import Source, documents, read_whole, text_of
from dramaturg.evaluation.datasets.folders import Wish, files_below, folder_with, gathered, missing, sources_in, wish_of
from dramaturg.evaluation.datasets.novels import cast_novels, questions_of
from dramaturg.evaluation.datasets.plain import DESCRIPTIONS, Descriptions, is_rolebench, read_rolebench
from dramaturg.evaluation.datasets.reading import read_dataset
from dramaturg.evaluation.datasets.timechara import read_timechara
from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.formats.markdown import language_of
from dramaturg.stores.names import normal_name

HELD_BACK = 5
"""Of scenes without a split of their own, every fifth is asked about and not known."""
TELLING = 12
"""Letters of a line by which two dialogues are of one scene: shorter ones are said anywhere."""


PERSONALITY = "_personality"
"""The end of the names of TimeChara's texts."""


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
    members = named_members(wish, dict.fromkeys(role for role, _ in questions), descriptions_in(wish.folder))
    for role, own in members.items():
        memories = [*own.memories, *learned.get(own.name, [])]
        language = language_of(" ".join(text for name, text in questions if name == own.name))
        members[role] = own._replace(language=language, memories=memories)
    asked, licence = tuple(questions.values()), known(wish.name).licence
    whole = Dataset(name=wish.called, form="rolebench", questions=asked, licence=licence)
    return gathered(wish, members, whole, None, bare_note(wish, members))


def descriptions_in(folder: Path) -> dict[str, str]:
    """Who each role of RoleBench is, where the folder has it."""
    files = [one for one in files_below(folder, (".json",)) if one.name == DESCRIPTIONS]
    return {name: text for one in files for name, text in read_whole(one, Descriptions).root.items()}


def named_members(wish: Wish, names: Iterable[str], told: Mapping[str, str]) -> dict[str, Member]:
    """Whoever is asked something, with what the dataset tells of them, or else with a profile from elsewhere."""
    apart, members = apart_of(wish), dict[str, Member]()
    here = {normal_name(name): text.strip() for name, text in told.items()}
    for name in names:
        own = apart.get(normal_name(name)) or Member(name)
        if text := here.get(normal_name(name)):
            own = own._replace(documents={"profile": f"# {name}\n\n{text}"})
        aliases = tuple(one for one in (own.name, *own.aliases) if one != name)
        members[free_id(wish.name, name, members)] = own._replace(name=name, aliases=aliases)
    return members


def cast_timechara(wish: Wish) -> Cast:
    """Each character is a role, with its personality where that lies in the folder; all questions are asked."""
    questions = dict[tuple[str, str, str], DatasetQuestion]()  # those for validation are among those of the test
    for source in sources_in(wish):
        for one in read_timechara(source).questions:
            named_after = one.model_copy(update={"id": f"{source.name} {one.id}"})
            questions.setdefault((one.role, one.context, one.text), named_after)
    texts = [one for one in files_below(wish.folder, (".txt",)) if one.stem.endswith(PERSONALITY)]
    told = {one.stem.removesuffix(PERSONALITY).replace("_", " "): text_of(one) for one in texts}
    members = named_members(wish, dict.fromkeys(one.role for one in questions.values()), told)
    asked, licence = tuple(questions.values()), known(wish.name).licence
    whole = Dataset(name=wish.called, form="timechara", questions=asked, licence=licence)
    return gathered(wish, members, whole, None, bare_note(wish, members))


def cast_persona_gym(wish: Wish) -> Cast:
    """A persona is a role, and what its file is called is all that it knows; all questions are asked."""
    found = read_dataset(folder_with(wish).path, "persona_gym")
    members = dict[str, Member]()
    for persona in found.characters:
        role = free_id(wish.name, persona, members)
        members[role] = Member(persona, language="en", documents={"profile": f"# Persona\n\n{persona}.\n"})
    return gathered(wish, members, found, None)


def cast_ping_pong(wish: Wish) -> Cast:
    """Each character is a role with what its prompt says; all situations are played."""
    files = [one for one in files_below(wish.folder, (".json",)) if one.stem.startswith("settings")]
    if not files:
        raise missing(wish)
    found, members = read_dataset(files[-1], "ping_pong"), dict[str, Member]()  # of two versions the later one
    for name, one in found.characters.items():
        told = Member(name, language=one.language, documents={"profile": one.persona})
        members[free_id(wish.name, name, members)] = told
    return gathered(wish, members, found, None)


def bare_note(wish: Wish, members: Mapping[str, Member]) -> list[str]:
    """That roles have no persona, if some have none."""
    bare = sum(not one.documents for one in members.values())
    return [f"{bare} of {len(members)} roles have no persona: {PROFILES_APART}"] * bool(bare)


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


CASTS: Mapping[str, Callable[[Wish], Cast]] = {
    "charactereval": cast_charactereval,
    "rolebench": cast_rolebench,
    "character_llm": cast_character_llm,
    "coser": cast_coser,
    "coser_test": cast_coser_test,
    "timechara": cast_timechara,
    "persona_gym": cast_persona_gym,
    "ping_pong": cast_ping_pong,
    "characterrag": cast_characterrag,
    "incharacter": cast_incharacter,
    "novel": cast_novels,
}
"""By the names of the catalogue."""
