"""Documents of the benchmarks, made by a seed: people, places and groups of a coast, by full names and by short ones.

As many names go by two spellings as in a biography, so that there is something to merge.
"""

import random

PEOPLE, PLACES, GROUPS = 120, 80, 50
ONSETS = "b br c ch d dr f g gr h j k l m n p pr r s st t th tr v w"
VOWELS = "a e i o u ae ei ia ou"
CODAS = "l ld m n nd ne r rd rne s ss st th ven wick"
TITLES = ("Captain", "Doctor", "Mrs", "Master", "Judge")
KINDS = ("Harbour", "Street", "Mill", "House", "Island", "Bridge")
BODIES = ("Company", "Guild", "Society", "Council", "Brotherhood")
WORDS = """
ledger lamp quarrel letter harvest storm debt cargo promise funeral map chart bell rope market winter winding narrow
silver broken patient stubborn generous careful early distant rumour verdict voyage orchard cellar violin recipe glove
candle ferry timber fever wedding lesson engine garden witness journal tavern chimney blanket anchor saddle kettle
"""
VERBS = (
    "met",
    "wrote to",
    "quarrelled with",
    "lent money to",
    "sailed with",
    "taught",
    "nursed",
    "defended",
    "admired",
    "never forgave",
)


def documents(number: int = 100, characters: int = 5184, seed: int = 0) -> list[tuple[str, str]]:
    """Persona documents as (file name, Markdown), each of so many characters; the first n are always the same."""
    generator = random.Random(seed)
    people = [f"{name(generator)} {name(generator)}" for _ in range(PEOPLE)]
    titles = [generator.choice(TITLES) for _ in people]
    places = [f"{name(generator)} {generator.choice(KINDS)}" for _ in range(PLACES)]
    groups = [f"{name(generator)} {generator.choice(BODIES)}" for _ in range(GROUPS)]
    return [
        (f"life_{at:05}.md", document(random.Random(f"{seed} {at}"), people, titles, places, groups, characters))
        for at in range(number)
    ]


def document(
    generator: random.Random,
    people: list[str],
    titles: list[str],
    places: list[str],
    groups: list[str],
    characters: int,
) -> str:
    """One document: sections of paragraphs in which some of the people meet at some of the places."""
    cast = generator.sample(range(len(people)), 12)
    known = WORDS.split()
    scenes, bodies = generator.sample(places, 6), generator.sample(groups, 3)

    def person() -> str:
        at = generator.choice(cast)
        surname = people[at].split()[-1]
        return generator.choices((people[at], surname, f"{titles[at]} {surname}"), (6, 2, 1))[0]

    def words(count: int) -> str:
        return " ".join(generator.choices(known, k=count))

    def sentence() -> str:
        year, one, other = generator.randint(1801, 1899), person(), person()
        where, body, verb = generator.choice(scenes), generator.choice(bodies), generator.choice(VERBS)
        return generator.choice(
            (
                f"In {year} {one} {verb} {other} at {where}, over a {words(2)} that nobody else remembered.",
                f"{one} {verb} {other}, and the {words(2)} stayed between them until {year}.",
                f"At {where} the {body} kept a {words(3)} for {one}.",
                f"{one} left the {body} in {year}, with a {words(2)} and without the {words(1)}.",
                f"What {other} said of the {words(2)} at {where} was told to {one} much later.",
            )
        )

    parts, size = [f"# The life of {people[cast[0]]}"], 0
    while size < characters:
        if len(parts) % 4 == 1:
            parts.append(f"## The {words(2)} of {generator.choice(scenes)}")
        parts.append(" ".join(sentence() for _ in range(generator.randint(3, 8))))
        size = sum(map(len, parts)) + 2 * len(parts)
    return "\n\n".join(parts)[: characters - 1] + "\n"


def name(generator: random.Random) -> str:
    """An invented name of two or three syllables."""
    syllables = "".join(
        generator.choice(ONSETS.split()) + generator.choice(VOWELS.split()) for _ in range(generator.randint(1, 2))
    )
    return (syllables + generator.choice(CODAS.split())).capitalize()
