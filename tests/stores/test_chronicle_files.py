"""A draft of a chronicle, and triples taken over from it: what a person wrote stays, and nothing is lost or doubled."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.stores.documents import chronicle as chronicle_files
from dramaturg.stores.documents.chronicle import DRAFT, accept, read_draft, reject, with_triples, write_draft
from dramaturg.stores.documents.forms import CHRONICLE, Chronicle, Triple
from dramaturg.stores.errors import RoleError, RoleFileError, StaleDraft
from dramaturg.stores.role import Role

from roles import small_role

LIGHT = Triple(subject="Ada", relation="believes", object="a light must never fail", kind="belief", core=True)
TOM = Triple(subject="Ada", relation="is_related_to", object="Tom", kind="experience", source="life.md: Tom sails.")
STORMS = Triple(subject="Ada", relation="loves", object="storms", kind="preference", since="1841", until="1843-05")
WRITTEN = """\
# Who Ada is.
triples:
  # What she lives by.
  - {subject: Ada, relation: keeps, object: the lamp, kind: goal, core: true}  # since 1850
  - subject: Ada
    relation: distrusts
    object: the harbour master   # he sold the old lamp
    kind: preference
"""
KEEPS = Triple(subject="Ada", relation="keeps", object="the lamp", kind="goal", core=True)
DISTRUSTS = Triple(subject="Ada", relation="distrusts", object="the harbour master", kind="preference")


@pytest.fixture
def role(tmp_path: Path) -> Role:
    """Ada, of whom no chronicle is written yet."""
    small_role(tmp_path)
    (tmp_path / "ada" / CHRONICLE).unlink(missing_ok=True)
    return Role(tmp_path / "ada")


def put(role: Role, text: str, name: str = CHRONICLE) -> None:
    (role.root / name).write_bytes(text.encode())


def written(role: Role, name: str = CHRONICLE) -> str:
    return (role.root / name).read_bytes().decode()


def drafted(role: Role) -> list[Triple]:
    draft = read_draft(role.root)
    return list(draft.triples) if draft else []


def added(text: str, *new: Triple) -> str:
    return with_triples(text.encode(), new, Path("ada")).decode()


def triples_in(text: str) -> list[Triple]:
    return list(Chronicle.model_validate(yaml.safe_load(text)).triples)


# The draft


def test_a_draft_is_written_to_be_read_and_says_how_to_go_on(role: Role) -> None:
    path = write_draft(role.root, [LIGHT, TOM])
    assert path == role.root / DRAFT
    assert drafted(role) == [LIGHT, TOM]
    assert written(role, DRAFT).startswith("# What a model proposes for the chronicle of ada.")
    assert "dramaturg chronicle ada --review" in written(role, DRAFT)
    assert role.chronicle() == Chronicle()


def test_a_draft_is_made_over_another_one_only_when_told(role: Role) -> None:
    write_draft(role.root, [LIGHT])
    with pytest.raises(RoleError, match=r"'ada' has a draft already.*--review.*--again"):
        write_draft(role.root, [TOM])
    assert drafted(role) == [LIGHT]
    write_draft(role.root, [TOM], again=True)
    assert drafted(role) == [TOM]


def test_a_draft_with_a_slip_is_refused_with_its_line(role: Role) -> None:
    put(role, "triples:\n- {subject: Ada, relation: r, object: o, kind: whim}", DRAFT)
    with pytest.raises(RoleFileError, match=r"ada/chronicle\.draft\.yaml, line 2"):
        accept(role.root, [LIGHT])


# Taking over


def test_what_is_taken_over_stands_at_the_end_and_what_a_person_wrote_stays(role: Role) -> None:
    put(role, WRITTEN)
    write_draft(role.root, [LIGHT, TOM, STORMS])
    assert accept(role.root, [TOM, LIGHT]) == [TOM, LIGHT]
    assert written(role).startswith(WRITTEN)
    assert list(role.chronicle().triples) == [KEEPS, DISTRUSTS, TOM, LIGHT]
    assert drafted(role) == [STORMS]
    assert accept(role.root, [STORMS]) == [STORMS]
    assert written(role).startswith(WRITTEN)
    assert list(role.chronicle().triples) == [KEEPS, DISTRUSTS, TOM, LIGHT, STORMS]
    assert not (role.root / DRAFT).exists()


def test_a_first_triple_makes_the_chronicle(role: Role) -> None:
    write_draft(role.root, [LIGHT])
    accept(role.root, [LIGHT])
    assert list(role.chronicle().triples) == [LIGHT]


def test_what_is_rejected_is_gone_and_nothing_is_written_elsewhere(role: Role) -> None:
    put(role, WRITTEN)
    write_draft(role.root, [LIGHT, TOM])
    reject(role.root, [LIGHT])
    assert (drafted(role), written(role)) == ([TOM], WRITTEN)
    reject(role.root, [TOM])
    assert not (role.root / DRAFT).exists()


@pytest.mark.parametrize("decide", [accept, reject])
def test_what_is_no_longer_in_the_draft_cannot_be_decided_on(role: Role, decide: Any) -> None:
    put(role, WRITTEN)
    write_draft(role.root, [TOM])
    with pytest.raises(StaleDraft, match="'ada' was changed meanwhile"):
        decide(role.root, [TOM, LIGHT])
    assert (drafted(role), written(role)) == ([TOM], WRITTEN)


def test_what_the_chronicle_holds_is_not_taken_over_again(role: Role) -> None:
    put(role, WRITTEN)
    again = KEEPS.model_copy(update={"object": "The  lamp.", "core": False})
    later = KEEPS.model_copy(update={"since": "1850"})
    write_draft(role.root, [again, later, later])
    assert accept(role.root, [again, later, later]) == [later]
    assert list(role.chronicle().triples) == [KEEPS, DISTRUSTS, later]
    assert not (role.root / DRAFT).exists()


def test_killed_between_the_two_files_nothing_is_lost_or_doubled(role: Role, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    put(role, WRITTEN)
    write_draft(role.root, [LIGHT, TOM])
    with monkeypatch.context() as patched:
        patched.setattr(chronicle_files, "_shorten", killed)
        with pytest.raises(Killed):
            accept(role.root, [LIGHT])
    assert list(role.chronicle().triples) == [KEEPS, DISTRUSTS, LIGHT]
    assert drafted(role) == [LIGHT, TOM]
    assert accept(role.root, [LIGHT]) == []
    assert list(role.chronicle().triples) == [KEEPS, DISTRUSTS, LIGHT]
    assert drafted(role) == [TOM]


def test_a_full_disk_leaves_both_files_as_they_were(role: Role, monkeypatch: pytest.MonkeyPatch) -> None:
    put(role, WRITTEN)
    write_draft(role.root, [LIGHT])
    before = written(role, DRAFT)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(RuntimeError, match="No space left"):
        accept(role.root, [LIGHT])
    assert (written(role), written(role, DRAFT)) == (WRITTEN, before)


# Where triples are put in a file that a person wrote


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# Nothing yet.\n",
        "# Nothing yet.",
        "triples:\n",
        "triples:",
        "triples: []  # none yet\n",
        "triples: ~\n# the end\n",
        "triples:\n  []\n",
        "sentences:\n  keeps: $subject keeps $object\n",
        "triples: # none yet\nsentences:\n  keeps: $subject keeps $object\n",
        WRITTEN,
        WRITTEN.rstrip("\n"),
        f"{WRITTEN}\n# The end.\n",
        f"{WRITTEN}\n# How it is said.\nsentences:\n  keeps: $subject keeps $object  # so\n",
        WRITTEN.replace("\n  ", "\n"),
        WRITTEN.replace("    kind: preference", "    kind: preference\n    text: |\n      She does.\n\n      Not."),
        WRITTEN.replace("    kind: preference", '    kind: preference\n    text: "She\n      does."'),
        "triples: [{subject: Ada, relation: r, object: o, kind: goal}]  # one\n",
        "triples: [\n  {subject: Ada, relation: r, object: o, kind: goal},  # one\n  {subject: Ada, relation: r, "
        "object: p, kind: goal}\n]\nsentences: {}\n",
        "{triples: [{subject: Ada, relation: r, object: o, kind: goal}]}  # all in one\n",
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_comments_and_order_stay_wherever_the_list_stands(text: str, line_end: str, mark: str) -> None:
    given = mark + text.replace("\n", line_end)
    before = [] if "Ada" not in text else triples_in(text)
    after = added(given, LIGHT, TOM)
    assert triples_in(after.removeprefix(mark)) == [*before, LIGHT, TOM]
    comments = [line[line.index("#") :] for line in text.split("\n") if "#" in line]
    assert [line[line.index("#") :] for line in after.replace("\r\n", "\n").split("\n") if "#" in line] == comments
    assert after.startswith(mark)
    assert after.replace("\r\n", "").count("\n") == (0 if line_end == "\r\n" and "\n" in text else after.count("\n"))
    assert all(part in after for part in ("sentences:",) if part in text)


def test_a_file_in_an_odd_form_is_written_anew_with_all_that_it_says() -> None:
    odd = "triples:\n- &a {subject: Ada, relation: r, object: o, kind: goal}\n- {subject: Ada, relation: s, object: o, "
    odd += "kind: goal}\n- *a\n"
    before = triples_in(odd)
    assert triples_in(added(odd, LIGHT)) == [*before, LIGHT]
    assert triples_in(added("{}", LIGHT)) == [LIGHT]


def test_a_file_to_which_nothing_can_be_added_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chronicle_files, "_ways", lambda *_: iter([b"triples: [", b"triples: []"]))
    with pytest.raises(RoleFileError, match=r"chronicle\.yaml of 'ada' cannot be changed as it is written"):
        added(WRITTEN, LIGHT)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1) | st.text(
    "\"':#-{}[]|>\n\r\t \x85\u2028\ufeff,&*!%@`a", min_size=1
)


@given(
    TEXTS, TEXTS, TEXTS, st.sampled_from(["", WRITTEN, "triples: [{subject: A, relation: r, object: o, kind: goal}]"])
)
def test_whatever_a_triple_says_comes_back(subject: str, thing: str, source: str, text: str) -> None:
    triple = Triple(subject=subject, relation="likes", object=thing, kind="trait", source=source)
    after = added(text, triple, LIGHT)
    assert triples_in(after)[-2:] == [triple, LIGHT]
    assert after.startswith(text.rstrip("]"))
