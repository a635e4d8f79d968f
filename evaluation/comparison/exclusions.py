"""Questions that are left out of a report because no method has them: recorded in the run's folder, and named there.

A question that a server refuses makes a run incomplete for good. It can be left out if every method lacks it, so that
nobody gains by it; one that some methods have cannot.
"""

from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from dramaturg.evaluation.comparison.plan import Excluded, Plan, read_plan
from dramaturg.evaluation.comparison.records import Records
from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.files import read_if_there, write_bytes

FILE = "left_out.json"
EXCLUDED = TypeAdapter(tuple[Excluded, ...])


def reported_plan(folder: Path) -> Plan:
    """Read the plan of a run without what was left out.

    Raises:
        RoleFileError: it is no run, or a file is damaged.
    """
    plan, data = read_plan(folder), read_if_there(folder / FILE, within=folder)
    try:
        return without(plan, EXCLUDED.validate_json(data)) if data else plan
    except ValidationError as error:
        raise RoleFileError(f"{folder / FILE} is damaged: remove it, and leave the questions out again.") from error


def leave_out(folder: Path, records: Records, named: Sequence[str], why: str) -> None:
    """Record that questions are left out of the reports of a run.

    Args:
        folder: of the run.
        records: of the run.
        named: the questions, as ROLE/QUESTION; the question by its id, or word for word.
        why: in a sentence.

    Raises:
        ValueError: there is no such question, a method has it, or there is no reason.
    """
    if not why.strip():
        raise ValueError("Say why a question is left out: --because 'the server refuses it'. The report says it.")
    plan = reported_plan(folder)
    found = [*plan.excluded]
    for one in named:
        role, _, question = one.partition("/")
        of = next((of for of in plan.questions.get(role, ()) if question in (of.id, of.text)), None)
        if of is None:
            raise ValueError(f"--leave-out {one}: the run asks {role} no such question. Write ROLE/QUESTION.")
        if not lacked_by_all(plan, records, role, of.id):
            raise ValueError(f"--leave-out {one}: a method has it. Only what all methods lack can be left out.")
        found.append(Excluded(role=role, question=of.id, text=of.text, why=why.strip()))
    write_bytes(folder / FILE, EXCLUDED.dump_json(tuple(found), indent=1), within=folder)


def lacked_by_all(plan: Plan, records: Records, role: str, question: str) -> bool:
    """Whether no method has a reply to a question, or no method a judgement of it by one metric and judge."""
    entries = [one for name in plan.methods for one in plan.of(name) if (one.role, one.question) == (role, question)]
    replied = {one.key for one in entries if one.key in records.replies and not records.replies[one.key].error}
    if not replied:
        return True
    judged: dict[tuple[str, str], list[bool]] = {}
    for said in records.judged.values():
        if said.reply in replied and said.applicable:
            judged.setdefault((said.metric, said.model), []).append(said.value is not None)
    return any(not any(of) for of in judged.values())


def without(plan: Plan, excluded: Sequence[Excluded]) -> Plan:
    """The plan without these questions."""
    gone = {(one.role, one.question) for one in excluded}
    fields = {name: getattr(plan, name) for name in plan.model_fields_set}
    kept = Plan(
        **fields
        | {
            "excluded": tuple(excluded),
            "entries": tuple(one for one in plan.entries if (one.role, one.question) not in gone),
            "questions": {
                role: tuple(one for one in of if (role, one.id) not in gone) for role, of in plan.questions.items()
            },
        }
    )
    kept._folder = plan.folder
    return kept
