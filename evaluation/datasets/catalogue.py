"""The datasets that are known by name: what each has, under which licence, where it is had, and its files' digests.

None is part of the package. Digests are those of the files of one commit; a file with another one may be a newer
version, or not what it says it is.
"""

from collections.abc import Mapping
from typing import NamedTuple

from dramaturg.evaluation.datasets import (
    character_llm,
    charactereval,
    coser,
    incharacter,
    persona_gym,
    ping_pong,
    plain,
    timechara,
)
from dramaturg.stores.errors import near_or_all


class Known(NamedTuple):
    """A dataset that is known by name."""

    name: str
    title: str
    has: str
    """Profiles, scenes, questions, labels: what there is of each."""
    licence: str
    asked: str
    """Which questions are asked of the roles that are made of it, since these know the rest."""
    where: str
    """Where it is had, for people."""
    needs: str = ""
    """What it lacks that roles need, and how it is given."""


PROFILES_APART = "profiles: --profiles FOLDER, with a text for each name, or --profiles NAME=FOLDER, another dataset"

DATASETS: Mapping[str, Known] = {
    one.name: one
    for one in (
        Known(
            name="charactereval",
            title="CharacterEval (Tu et al. 2024)",
            has="77 roles of Chinese scripts: profiles, 4,564 dialogues to go on with, metrics by dialogue; no answers",
            licence=charactereval.LICENCE,
            asked="the dialogues of every fifth scene; the lines of the others are known",
            where="github.com/morecry/CharacterEval",
        ),
        Known(
            name="rolebench",
            title="RoleBench (Wang et al. 2023)",
            has="100 roles in English and Chinese: questions with answers by GPT, to learn from and to be tested by; "
            "the release on the hub has a description of each, the repository none",
            licence=plain.ROLEBENCH_LICENCE,
            asked="role_specific/test; the pairs of role_specific/train are memories, and `general` is left alone",
            where="ZenMoore/RoleBench on Hugging Face, or github.com/rolellm/RoleBench",
            needs=PROFILES_APART,
        ),
        Known(
            name="character_llm",
            title="Character-LLM (Shao et al. 2023)",
            has="9 roles: profiles with headings, 857 questions, of which 45 are beyond the character; no answers",
            licence=character_llm.LICENCE,
            asked="all",
            where="github.com/choosewhatulike/trainable-agents, data/seed_data",
        ),
        Known(
            name="coser",
            title="CoSER (Wang et al. 2025)",
            has="books: profiles, plots and conversations with their lines, which are the answers; here the two plays",
            licence=coser.LICENCE,
            asked="lines of the plots from `split_plot_index` on (else of the last tenth); the others are known",
            where="github.com/Neph0s/CoSER, data/final",
        ),
        Known(
            name="coser_test",
            title="CoSER Test (Wang et al. 2025)",
            has="200 conversations of 101 books, of which half are of books that its models have not seen: scenes, "
            "profiles, thoughts and lines, which are the answers",
            licence=coser.TEST_LICENCE,
            asked="all lines that answer somebody; with --turns a talk for each role of a conversation",
            where="github.com/Neph0s/CoSER, data/test",
        ),
        Known(
            name="timechara",
            title="TimeChara (Ahn et al. 2024)",
            has="14 characters of four series of novels, each at several points of its story: 10,895 questions, 600 of "
            "them for validation, with what the character can know then; their personalities lie in the repository",
            licence=timechara.LICENCE,
            asked="all",
            where="ahnpersie/timechara on Hugging Face; the personalities: github.com/ahnjaewoo/timechara",
        ),
        Known(
            name="persona_gym",
            title="PersonaGym (Samuel et al. 2025)",
            has="200 personas of a sentence each, with ten questions for each of five tasks; no answers",
            licence=persona_gym.LICENCE,
            asked="all",
            where="github.com/vsamuel2003/PersonaGym, questions/benchmark-v1",
        ),
        Known(
            name="ping_pong",
            title="PingPong (Gusev 2024)",
            has="8 characters in English, and 8 situations that a simulated user brings about with each; no answers",
            licence=ping_pong.LICENCE,
            asked="all, in talks: --turns 4 --user Guest",
            where="github.com/IlyaGusev/ping_pong_bench, settings_v2.json",
        ),
        Known(
            name="characterrag",
            title="CharacterRAG's form (AMADEUS)",
            has="a folder a role: a persona (.md, .txt), and pairs of question and answer with one of six attributes",
            licence=plain.PAIRS_LICENCE,
            asked="all",
            where="not published: the form is for sets of your own",
        ),
        Known(
            name="incharacter",
            title="InCharacter (Wang et al. 2024)",
            has="32 characters: types and scores by votes and by annotators, questionnaires; no profiles, no questions",
            licence=incharacter.LICENCE,
            asked="none: name an inventory among the metrics; the labels of the folder are taken",
            where="github.com/Neph0s/InCharacter",
            needs=PROFILES_APART,
        ),
        Known(
            name="novel",
            title="Novels as .txt or .epub",
            has="a folder of books of yours: each role that you name (--only) has them all, chapter by chapter",
            licence="The licence of a book is its own: see in it, and with whom it is from",
            asked="those in questions.jsonl, if the folder has one",
            where="your own files; Project Gutenberg has books without copyright",
        ),
    )
}
"""By the names that commands take."""


def known(name: str) -> Known:
    """Return a dataset by its name, in which - and _ are the same; a ValueError lists what there is."""
    if found := DATASETS.get(name.strip().lower().replace("-", "_")):
        return found
    raise ValueError(f"There is no dataset {name!r}{near_or_all(name, DATASETS)}")
