"""CoSER's books, and the conversations of its test, as roles: who is in them by which names, and what is held back."""

from collections.abc import Iterator, Sequence

from dramaturg.evaluation.datasets.cast import Cast, Member, Scene, file_stem, free_id
from dramaturg.evaluation.datasets.catalogue import known
from dramaturg.evaluation.datasets.coser import (
    NARRATOR,
    Book,
    Circumstance,
    Plot,
    heard,
    known_as,
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
        roles, same = dict[str, str](), known_as(book)
        for name in (one for one in book.character_datasets if one not in same):
            roles[name] = free_id(wish.name, several + name, {*members, *roles.values()})
            names = [name, *sorted(other for other, person in same.items() if person == name)]
            if any(book.character_datasets[one].profile.strip() for one in names):
                members[roles[name]] = in_book(book, title, until, names)
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
        for name, text in people.items():
            if not text:
                bare += 1
                continue
            role = roles[book, name] = free_id(wish.name, f"{book.partition(' (')[0]} {name}", members)
            members[role] = Member(name, documents={"profile": f"# {name}\n\n{text}"}, sources=(book,))
    asked = [
        one.model_copy(update={"role": roles[one.labels["book"], one.role]})
        for one in questions.values()
        if (one.labels["book"], one.role) in roles
    ]
    whole = Dataset(name=wish.called, form="coser_test", questions=tuple(asked), licence=known(wish.name).licence)
    return gathered(wish, members, whole, None, [f"{bare} characters are not described, and are no roles"] * bool(bare))


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
