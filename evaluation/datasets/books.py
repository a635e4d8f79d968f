"""CoSER's books, and the conversations of its test, as roles: who is in them by which names, and what is held back."""

from collections.abc import Iterable, Iterator, Sequence

from dramaturg.evaluation.datasets.cast import Cast, Member, Scene, file_stem, free_id
from dramaturg.evaluation.datasets.catalogue import known
from dramaturg.evaluation.datasets.coser import (
    NARRATOR,
    Book,
    Circumstance,
    Plot,
    heard,
    read_coser,
    read_coser_test,
)
from dramaturg.evaluation.datasets.dataset import Dataset, DatasetQuestion
from dramaturg.evaluation.datasets.files import Tally
from dramaturg.evaluation.datasets.folders import Wish, gathered, sources_in


def cast_coser(wish: Wish) -> Cast:
    """Profiles become personas, conversations of the plots to learn from dialogues, what was lived through memories."""
    found = sources_in(wish)
    members, notes = dict[str, Member](), list[str]()
    questions, ask = list[DatasetQuestion](), set[str]()
    for source in found:
        book, title = source.content.first.read_as(Book), file_stem(source.name)
        tenth = max(1, len(book.plots) // 10)
        until = len(book.plots) - tenth if book.split_plot_index is None else book.split_plot_index
        notes.append(f"{len(book.plots) - until} of {len(book.plots)} plots of {source.name} are held back")
        several = f"{title} " if len(found) > 1 else ""  # people of two books may have one name
        roles = dict[str, str]()
        for names in people_in(book.character_datasets):
            role = free_id(wish.name, several + names[0], {*members, *roles.values()})
            roles |= dict.fromkeys(names, role)
            if any(book.character_datasets[name].profile.strip() for name in names):
                members[role] = in_book(book, title, until, names)
        for question in read_coser(source).questions:
            told = {"id": several + question.id, "role": roles[question.role] if several else question.role}
            questions.append(question.model_copy(update=told))
            if int(question.id.partition(".")[0]) >= until:
                ask.add(told["id"])
    whole = Dataset(name=wish.called, form="coser", questions=tuple(questions), licence=known(wish.name).licence)
    return gathered(wish, members, whole, ask, notes)


def cast_coser_test(wish: Wish) -> Cast:
    """Whoever has a profile in a conversation is a role, in each book by itself; all lines of theirs are asked."""
    profiles, questions = dict[str, dict[str, str]](), dict[str, DatasetQuestion]()
    for source in sources_in(wish):
        for one in (record.read_as(Circumstance) for record in source.content.records):
            described = {person.name: person.description for person in one.plot.key_characters}
            for name, profile in one.character_profiles.items():
                told = profiles.setdefault(one.book, {}).get(name, "")
                profiles[one.book][name] = told or profile.strip() or described.get(name, "").strip()
        for question in read_coser_test(source).questions:
            questions.setdefault(question.id, question)
    members, roles, bare = dict[str, Member](), dict[tuple[str, str], str](), 0
    for book, people in profiles.items():
        for names in people_in(people):
            if not (texts := [people[name] for name in names if people[name]]):
                bare += 1
                continue
            role = free_id(wish.name, f"{book.partition(' (')[0]} {names[0]}", members)
            roles |= dict.fromkeys(((book, name) for name in names), role)
            profile = "\n\n".join((f"# {names[0]}", *texts))
            members[role] = Member(names[0], names[1:], documents={"profile": profile}, sources=(book,))
    asked = [
        one.model_copy(update={"role": roles[one.labels["book"], one.role]})
        for one in questions.values()
        if (one.labels["book"], one.role) in roles
    ]
    whole = Dataset(name=wish.called, form="coser_test", questions=tuple(asked), licence=known(wish.name).licence)
    return gathered(wish, members, whole, None, [f"{bare} characters are not described, and are no roles"] * bool(bare))


def people_in(names: Iterable[str]) -> list[tuple[str, ...]]:
    """The names of each person, the fullest first.

    Who has two is known by their words: all of Albany are in Duke of Albany, and in no third name.
    """
    words = {name: frozenset(name.casefold().split()) for name in names}
    longer = {name: [other for other in words if words[name] < words[other]] for name in words}
    full = {name: found[0] for name, found in longer.items() if len(found) == 1}
    return [(name, *(other for other in words if full.get(other) == name)) for name in words if name not in full]


def in_book(book: Book, title: str, until: int, names: Sequence[str]) -> Member:
    """Somebody as the plots of a book before one have them."""
    lived = [
        {"text": person.experience.strip(), **({"when": plot.chapter} if plot.chapter else {})}
        for plot in book.plots[:until]
        for person in plot.key_characters
        if person.name in names and person.experience.strip()
    ]
    told = [book.character_datasets[name].profile.strip() for name in names]
    profile = "\n\n".join((f"# {names[0]}", *filter(None, told)))
    scenes = [*known_scenes(title, book.plots[:until], names)]
    return Member(names[0], tuple(names[1:]), documents={"profile": profile}, scenes=scenes, memories=lived)


def known_scenes(book: str, plots: Sequence[Plot], names: Sequence[str]) -> Iterator[Scene]:
    """The conversations of plots in which somebody speaks, without thoughts, which nobody hears, and the narrator."""
    for number, plot in enumerate(plots):
        for index, conversation in enumerate(plot.conversation):
            lines = tuple(one for one in heard(conversation.dialogues, Tally()) if one.speaker != NARRATOR)
            if any(one.speaker in names for one in lines):
                yield Scene(f"{book}-{number}-{index}", lines, plot.chapter or "")
