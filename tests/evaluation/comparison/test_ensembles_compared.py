"""An ensemble under comparison: with a part left out, interviewed alone, and with prompts of somebody's own."""

from pathlib import Path

import pytest

from dramaturg.evaluation.comparison.contestants import contestant, models_of
from dramaturg.evaluation.interviews.asking import respondent_context
from dramaturg.evaluation.interviews.state import InterviewContext, described
from dramaturg.nodes.run import RunContext
from dramaturg.workflows.ensemble import PARTS, EnsembleContext

from roles import actor, run_settings, small_role


@pytest.mark.parametrize("part", PARTS)
def test_each_part_can_be_left_out(part: str) -> None:
    one = contestant(f"ensemble-without-{part}")
    context = one.context(RunContext(), "ada", seed=0, user_role="Tom")
    assert isinstance(context, EnsembleContext)
    assert context.parts == {*PARTS} - {part}
    assert context.user_role == "Tom"


def test_a_part_that_there_is_not_cannot_be_left_out() -> None:
    with pytest.raises(ValueError, match=r"no method 'ensemble-without-cope'; did you mean 'ensemble-without-scope'"):
        contestant("ensemble-without-cope")


def test_in_an_interview_the_parts_ask_nobody_and_remember_nothing(tmp_path: Path) -> None:
    settings = {"identity": {"gate": False, "update": True}, "passages": {"slots": 1}}
    given = run_settings(tmp_path, actor(), method="ensemble", method_settings=settings)
    context = respondent_context(InterviewContext(**given))
    assert isinstance(context, EnsembleContext)
    assert (context.identity.gate, context.identity.update, context.passages.slots) == (False, True, 1)
    assert (context.identity.approval, context.identity.kept_episodes) == ("nobody", 0)
    assert context.memories.conversation_memories == 0


async def test_other_words_of_a_prompt_are_another_run(tmp_path: Path) -> None:
    small_role(tmp_path)
    words = tmp_path / "words"
    words.mkdir()
    prompt = words / "greet.en.md"
    known, about = set[tuple[str, ...]](), list[object]()
    for text in ("", "# user\n\nHello!", "# user\n\nGood day!"):
        if text:
            prompt.write_text(text, encoding="utf-8")
        given = {"prompts": words} if text else {}
        known.add(models_of(RunContext(**given)))
        about.append((await described(InterviewContext(**run_settings(tmp_path, actor(), **given)))).get("prompts"))
    assert len(known) == 3
    assert about[0] is None  # what was kept before there were such prompts goes on
    assert len({*about}) == 3


def test_prompts_that_cannot_be_used_are_refused_before_anything_is_asked(tmp_path: Path) -> None:
    (tmp_path / "judge.en.md").write_text("# system\n\nYou judge.\n\n# user\n\nIs it so?", encoding="utf-8")
    with pytest.raises(ValueError, match=r"judge\.en\.md lacks \$"):
        models_of(RunContext(prompts=tmp_path))
