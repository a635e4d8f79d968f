"""How well a chat model answers RoleRAG's yes/no questions one by one, and what thresholds follow.

Three labelled sets about Beethoven, written for this project: are two entries one entity, can the role know an entity,
is an entity one certain thing. No graph is needed: where the notes about the role would say something of an entity, the
set has a short note.

Run: python benchmarks/graph_judges.py [--model embedded]
"""

import argparse
import asyncio
import time
from collections.abc import Iterable, Sequence

import numpy as np
from langchain_core.messages import BaseMessage
from rich.console import Console
from rich.table import Table
from sklearn.metrics import roc_auc_score

from dramaturg.models.chat import ChatModel, chat_model, threshold
from dramaturg.models.environment import environment
from dramaturg.models.questions import decide
from dramaturg.prompts import load
from dramaturg.stores.library import open_role

SAME = """
Haydn: He studied with Haydn until 1793 | Joseph Haydn: The old master who corrected his exercises in counterpoint
Karl: His nephew Karl was sent to a boarding school | Karl van Beethoven: The orphan for whom he went to court
Johann: His brother Johann sold medicines in Linz | Nikolaus Johann van Beethoven: The youngest brother, an apothecary
Archduke Rudolph: His pupil and patron, brother of the emperor | Rudolph: He was to become archbishop of Olmütz
Prince Lichnowsky: He paid him six hundred florins a year | Karl Lichnowsky: A patron who gave him rooms in his house
Wegeler: The doctor to whom he first wrote of his deafness | Franz Gerhard Wegeler: A friend of Bonn, a physician
Frau von Breuning: She taught him manners | Helene von Breuning: The widow in whose house he was at home in Bonn
Giulietta Guicciardi: The Moonlight Sonata was dedicated to her | Countess Guicciardi: A young pupil of sixteen
Third Symphony: He tore up its title page | Eroica: The symphony that was to be called Bonaparte
Ninth Symphony: Its last movement has a chorus | Choral Symphony: First heard in May 1824 at the Kärntnertor Theatre
Fidelio: His only opera | Leonore: The opera about a wife who frees her husband from prison, first given in 1805
Napoleon: The First Consul who made himself emperor | Bonaparte: He admired him until he was crowned
Electoral court: His father sang there | Court of the Elector: The court of Bonn that paid the musicians
Immortal Beloved: To her he wrote a letter in three parts | The unknown woman: Her letter was found after his death
Schindler: His unpaid secretary | Anton Schindler: He carried letters and later wrote a biography
Ries: A pupil who copied parts for him | Ferdinand Ries: The son of the violinist of Bonn, his pupil in Vienna
Waldstein: The count who sent him to Vienna | Count Waldstein: He wrote into his album of Haydn and Mozart
Neefe: His first real teacher | Christian Gottlob Neefe: The court organist who gave him Bach to play
Stephan: He fell out with Stephan over the rent | Stephan von Breuning: A friend since Bonn, who shared rooms with him
Goethe: They met at Teplitz | Johann Wolfgang von Goethe: The poet of Egmont, whom he found too fond of court air
Heiligenstadt Testament: A letter to his brothers of October 1802 | The testament of 1802: He wrote in it of his despair
Mälzel: He built ear trumpets for him | Johann Nepomuk Mälzel: The inventor of the metronome
London Philharmonic Society: It sent him a hundred pounds | Philharmonic Society: It ordered a symphony from him
Vienna: He lived there from 1792 until he died | The imperial city: He called it the land of the piano
"""
APART = """
Karl: His nephew Karl was sent to a boarding school | Carl: His brother Carl was a clerk in the treasury
Johann: His brother Johann sold medicines in Linz | Johann van Beethoven: His father, a tenor who drank
Ludwig van Beethoven: The composer | Ludwig van Beethoven the elder: His grandfather, Kapellmeister in Bonn
Haydn: He studied with Haydn until 1793 | Mozart: He played before Mozart in 1787
Third Symphony: He tore up its title page | Fifth Symphony: It begins with four notes
Bonn: He was born there | Vienna: He lived there from 1792 until he died
Prince Lichnowsky: He paid him six hundred florins a year | Prince Lobkowitz: He had the Eroica played in his palace
Prince Kinsky: He fell from his horse in 1812 | Archduke Rudolph: His pupil and patron
Wegeler: The doctor to whom he first wrote of his deafness | Doctor Schmidt: The doctor who sent him to Heiligenstadt
Stephan von Breuning: A friend since Bonn | Helene von Breuning: The widow in whose house he was at home
Eleonore von Breuning: She knitted him a waistcoat | Stephan von Breuning: A friend since Bonn
Giulietta Guicciardi: A young pupil of sixteen | Therese Malfatti: He asked for her hand in 1810
Johanna: The widow of his brother, whom he fought in court | Therese: The wife of his brother Johann
Salieri: He set Italian words with him | Albrechtsberger: He taught him counterpoint
Ries: A pupil who copied parts for him | Czerny: A pupil who came to him at the age of ten
Schindler: His unpaid secretary | Holz: The young violinist who took the secretary's place
Goethe: The poet of Egmont | Schiller: The poet of the Ode to Joy
Heiligenstadt: A village where he spent the summer of 1802 | Heiligenstadt Testament: A letter to his brothers
Fidelio: His only opera | Coriolan: An overture to a play by Collin
Burgtheater: He first played in public there | Kärntnertor Theatre: The Ninth was first heard there
Broadwood: The English piano that was sent to him in 1818 | Streicher: Friends who built pianos in Vienna
Waldstein: The count who sent him to Vienna | Waldstein Sonata: A sonata in C major, opus 53
Baden: He took the waters there | Teplitz: He met Goethe there
Rudolph: He was to become archbishop of Olmütz | Rudolf Kreutzer: The violinist who never played the sonata
"""
KNOWN = """
Haydn (character) | He studied with Haydn until 1793.
Mozart (character) | He played before Mozart in 1787.
Vienna (location) | He lived there from 1792 until he died.
Napoleon (character) | He struck out his name on the title page.
ear trumpet (object) | Mälzel made him ear trumpets.
coffee (object) | He counted sixty beans to a cup.
nephew (character) | He became guardian of Karl in 1816.
Goethe (character) | They met at Teplitz.
Schiller (character) |
string quartet (object) | He wrote sixteen of them.
the French Revolution (event) |
Congress of Vienna (event) | He conducted before the kings in 1814.
Bach (character) | Neefe gave him the Well-Tempered Clavier.
walks in the woods (concept) | He walked with a sketchbook in his pocket.
God (concept) |
freedom (concept) |
friends (character) |
candles (object) |
horse carriages (object) |
Rossini (character) |
Shakespeare (character) | He told Schindler to read The Tempest.
the violin (object) |
marriage (concept) |
illness (concept) | He lost his hearing year by year.
"""
UNKNOWN = """
Apollo 11 (event) |
television (object) |
the internet (concept) |
Albert Einstein (character) |
jazz (concept) |
the Beatles (character) |
the Second World War (event) |
electric guitar (object) |
airplanes (object) |
Hollywood (location) |
Harry Potter (character) |
Darth Vader (character) |
DNA (concept) |
computers (object) |
mobile phones (object) |
Taylor Swift (character) |
the moon landing (event) |
YouTube (organization) |
rock and roll (concept) |
the European Union (organization) |
penicillin (object) |
Spotify (organization) |
nuclear power (concept) |
the Berlin Wall (object) |
"""
CERTAIN = """
Joseph Haydn (character)
Vienna (location)
the Ninth Symphony (object)
Archduke Rudolph (character)
the Congress of Vienna (event)
Napoleon (character)
the Heiligenstadt Testament (object)
Bonn (location)
Goethe (character)
Fidelio (object)
Apollo 11 (event)
the London Philharmonic Society (organization)
Karl van Beethoven (character)
the Prater (location)
Schiller's Ode to Joy (object)
Prince Lichnowsky (character)
"""
KIND = """
friends (character)
food (object)
music (concept)
hobbies (concept)
teachers (character)
money (object)
love (concept)
weather (event)
enemies (character)
books (object)
travel (event)
health (concept)
religion (concept)
instruments (object)
fears (concept)
women (character)
"""


def names(text: str) -> str:
    """The cases as they are asked where descriptions are quoted."""
    return "\n".join(" | ".join(part.split(":")[0] for part in line.split("|")) for line in text.strip().splitlines())


Set = tuple[str, str, str, Sequence[str]]
SETS: dict[str, Set] = {
    "same": ("same_entity", SAME, APART, ("one", "other")),
    "same, by the names alone": ("same_entity", names(SAME), names(APART), ("one", "other")),
    "scope": ("judge_scope", KNOWN, UNKNOWN, ("entity", "notes")),
    "level": ("judge_level", CERTAIN, KIND, ("entity",)),
}


def lines(text: str) -> list[list[str]]:
    """The cases of a set, each in its parts."""
    return [[part.strip() for part in line.split("|")] for line in text.strip().splitlines()]


async def certainties(asked: ChatModel, prompt: str, cases: Iterable[list[str]], fields: Sequence[str]) -> list[float]:
    """P(yes) for each case."""
    role = open_role("beethoven", environment().library).card

    def messages(case: list[str]) -> list[BaseMessage]:
        data = {"profile": role.profile, **dict(zip(fields, case, strict=True))}
        return load(prompt, "en").messages(role=role.name, data=data)

    decisions = await asyncio.gather(*(decide(asked, messages(case)) for case in cases))
    return [float(one.answer) if one.probability is None else one.probability for one in decisions]


def row(name: str, yes: Sequence[float], no: Sequence[float], above: float, seconds: float) -> list[str]:
    """What the model does with a set, and where the two halves are told apart best."""
    right, wrong = np.array(yes), np.array(no)
    auc = roc_auc_score([1] * len(right) + [0] * len(wrong), [*right, *wrong])

    def correct(at: float) -> float:
        return float(np.mean([*(right >= at), *(wrong < at)]))

    best = max(np.unique([*right, *wrong]), key=correct)
    shares = [f"{np.mean(right >= above):.2f}", f"{np.mean(wrong >= above):.2f}"]
    words = [name, str(len(right) + len(wrong)), f"{auc:.3f}", f"{above:g}", f"{correct(above):.2f}", *shares]
    return [*words, f"{best:.3f}", f"{correct(best):.2f}", f"{seconds / (len(right) + len(wrong)):.2f}"]


async def main(model: str) -> None:
    """Print a row for each question."""
    columns = ("question", "n", "AUC", "threshold", "right", "yes of yes", "yes of no", "best threshold", "right there")
    table = Table(*columns, "s a case", title=f"RoleRAG's yes/no questions, {model}")
    for kind, (prompt, right, wrong, fields) in SETS.items():
        asked = chat_model(model, concurrency=2)
        began = time.perf_counter()
        yes = await certainties(asked, prompt, lines(right), fields)
        no = await certainties(asked, prompt, lines(wrong), fields)
        table.add_row(*row(kind, yes, no, threshold(asked.name, kind.split(",")[0]), time.perf_counter() - began))
    Console(width=120).print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="embedded")
    asyncio.run(main(parser.parse_args().model))
