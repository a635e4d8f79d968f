"""Runs of one plan put together: other roles or seeds of it, or the same ones answered in several places."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from dramaturg.evaluation.comparison.exclusions import reported_plan
from dramaturg.evaluation.comparison.making import differences
from dramaturg.evaluation.comparison.plan import Excluded, Plan, in_words, read_plan
from dramaturg.evaluation.comparison.records import RecordFile, Records

SAME = ("methods", "metrics", "model", "judges", "dataset", "bounds", "inventories", "anonymous", "primary")
"""What runs must share; roles, seeds and questions may be a part of the plan in each."""
T = TypeVar("T")


def merged(folders: Sequence[Path], out: Path) -> tuple[Plan, Records]:
    """Return the plan and the records of runs as of one run; what failed in one may have been answered in another.

    What a run leaves out of its report is left out here, too, unless another run asks for it.

    Args:
        folders: of the runs.
        out: of the report; it counts as the folder of the whole, so that what is known of judges is read there.

    Raises:
        ValueError: they are no runs of one plan, ask a role other questions, or hold interviews, which stay with a run.
        RoleFileError: a folder is no run, or damaged.
    """
    plans = [read_plan(folder) for folder in folders]
    for plan in plans:
        require_one_plan(plans[0], plan)
    entries = {one.key: one for folder in folders for one in reported_plan(folder).entries}
    asked = {(one.role, one.question) for one in entries.values()}
    questions = together([one.questions for one in plans]).items()
    whole = plans[0].model_copy(
        update={
            "roles": tuple(dict.fromkeys(role for one in plans for role in one.roles)),
            "seeds": tuple(sorted({seed for one in plans for seed in one.seeds})),
            "questions": {role: tuple(one for one in of if (role, one.id) in asked) for role, of in questions},
            "entries": tuple(entries.values()),
            "excluded": tuple(dict.fromkeys(left_out_of(plans, entries))),
            "embedders": together([one.embedders for one in plans]),
            "left_out": together([one.left_out for one in plans]),
            "unplayed": tuple(dict.fromkeys(said for one in plans for said in one.unplayed)),
            "repeated": together([one.repeated for one in plans]),
            "taken_from": ", ".join(sorted({one.taken_from for one in plans} - {""})),
        }
    )
    whole._folder = out
    found = Records({}, {}, {})
    for read in (RecordFile(folder).read() for folder in folders):
        replies = read.replies.items()
        found.replies.update({key: one for key, one in replies if key not in found.replies or not one.error})
        found.judged.update({key: one for key, one in read.judged.items() if key not in found.judged or not one.error})
        found.indexed.update(read.indexed)
    return whole, found


def left_out_of(plans: Sequence[Plan], entries: Collection[str]) -> Iterator[Excluded]:
    """What runs leave out and the whole lacks, too; where it has another seed of the question, the run is named."""
    kept = {(one.role, one.question) for plan in plans for one in plan.entries if one.key in entries}
    for plan in plans:
        gone = {(one.role, one.question) for one in plan.entries if one.key not in entries}
        for one in reported_plan(plan.folder).excluded:
            if (about := (one.role, one.question)) in gone:
                yield one.model_copy(update={"why": f"{one.why}, in {plan.folder.name}"}) if about in kept else one


def require_one_plan(first: Plan, plan: Plan) -> None:
    """Refuse a run that is not of the plan of the first one."""
    named, name = first.folder.name, plan.folder.name
    if plan.interviews:
        raise ValueError(f"{name} holds interviews: its report is of that run alone.")
    if differ := [one for one in SAME if getattr(plan, one) != getattr(first, one)]:
        said = f"{in_words(first, differ[0])} in {named}, {in_words(plan, differ[0])} in {name}"
        raise ValueError(f"These are no runs of one plan, their {differ[0]} differ: {said}.")
    if differ := list(differences(first.made, plan.made)):
        raise ValueError(f"These are no runs of one plan: in {name}, {'; '.join(differ)}.")
    if plan.compared_with != first.compared_with:
        raise ValueError(f"These are no runs of one plan: {name} compares with {plan.compared_with}.")
    if other := [role for role, of in plan.questions.items() if first.questions.get(role, of) != of]:
        raise ValueError(f"These are no runs of one plan: {name} asks {other[0]} other questions.")


def together(parts: Sequence[Mapping[str, T]]) -> dict[str, T]:
    """The parts of several plans as one."""
    return {name: one for part in parts for name, one in part.items()}
