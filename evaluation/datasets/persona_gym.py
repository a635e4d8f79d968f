"""PersonaGym's form (Samuel et al. 2025): a file of questions a persona, which its name describes, by five tasks."""

from pathlib import Path

from pydantic import RootModel

from dramaturg.evaluation.datasets.dataset import Character, Dataset, DatasetQuestion
from dramaturg.evaluation.datasets.files import JSON, Filled, Source, Tally, listed, named, read_content, read_whole

LOOKS = "questions/benchmark-v1, a file a persona, an object with five tasks and a list of questions for each"
LICENCE = "PersonaGym is under the MIT licence; its questions were written by a model"
TASKS = ("Expected Action", "Toxicity", "Linguistic Habits", "Persona Consistency", "Action Justification")


class Tasks(RootModel[dict[str, list[Filled]]]):
    """A file: the questions of a persona by their task."""


def is_persona_gym(source: Source) -> bool:
    """Whether it is the questions of a persona, or a folder of them."""
    files = _files(source)
    return bool(files) and read_content(files[0]).first.has(*TASKS)


def read_persona_gym(source: Source) -> Dataset:
    """Return the questions of each persona; the task is their attribute, and what a judge marks them by."""
    tally, people = Tally(), dict[str, Character]()
    for path in _files(source):
        people[path.stem] = Character(persona=f"{path.stem}.", language="en")
        for task, questions in read_whole(path, Tasks).root.items():
            for number, text in enumerate(questions, start=1):
                question = DatasetQuestion(
                    id=f"{path.stem}, {task} {number}",
                    text=text.strip(),
                    role=path.stem,
                    attribute=task,
                    labels={"task": task},
                )
                tally.add(question, named(path))
    return tally.dataset(source.name, "persona_gym", LICENCE, people)


def _files(source: Source) -> list[Path]:
    return listed(source.path, JSON) if source.folder else [source.path]
