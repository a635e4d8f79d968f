"""What a task of Inspect is made of: a role's questions as its dataset, a graph as its solver, a judge as its scorer.

```python
from inspect_ai import Task, task
from dramaturg.evaluation.inspect.task import judged, plays, questions

@task
def beethoven(method: str = "amadeus") -> Task:
    return Task(questions("beethoven"), solver=plays(method), scorer=judged("accuracy"))
```

Models are those of Inspect: `--model` speaks, and the model role `grader` judges (`--model-role grader=NAME`; without
it the same model). Inspect counts, limits (`--time-limit`), caches and logs what they are asked.
"""

import asyncio
from collections.abc import Sequence
from functools import cache
from typing import Any

from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    get_model,
)
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult

from dramaturg.evaluation.comparison.contestants import UNHURRIED, ToAsk, contestant, digest, language_in
from dramaturg.evaluation.comparison.plan import questions_of, spread
from dramaturg.evaluation.comparison.records import Reply
from dramaturg.evaluation.comparison.speakers import conversed
from dramaturg.evaluation.datasets.casting import asked_of
from dramaturg.evaluation.datasets.dataset import DatasetQuestion
from dramaturg.evaluation.judging.judges import JUDGES
from dramaturg.evaluation.judging.measures import measured, to_judge
from dramaturg.evaluation.judging.printed import require_printed
from dramaturg.evaluation.judging.scales import METRICS, UNJUDGED
from dramaturg.evaluation.judging.standing import ANCHORS
from dramaturg.evaluation.judging.verdicts import SHARED, read_standings, shown
from dramaturg.models.embeddings import embedder
from dramaturg.models.environment import environment
from dramaturg.nodes.run import RunContext, chat_in, library_of
from dramaturg.stores.errors import near_or_all
from dramaturg.workflows.methods import flow, preparations

ROLE, QUESTION, EVIDENCE = "role", "question", "evidence"
"""Where a sample's metadata name the role and its question, and where a state's store has what a reply rests on."""
GRADER = "grader"
"""The role of the model that judges, as Inspect's own scorers call it."""


class InspectChatModel(BaseChatModel):
    """A model of Inspect as LangChain's: asked with text alone, whoever its provider is."""

    inspect_model: Any
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None

    @property
    def model_name(self) -> str:
        """The name that thresholds and records go by."""
        return str(self.inspect_model)

    @property
    def _llm_type(self) -> str:
        return "inspect"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError("A model of Inspect is asked in an event loop: use ainvoke.")

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **parameters: Any,
    ) -> ChatResult:
        own = {"temperature": self.temperature, "max_tokens": self.max_tokens, "seed": self.seed}
        given = {name: value for name, value in {**own, **parameters}.items() if name in own and value is not None}
        output: ModelOutput = await self.inspect_model.generate(
            [inspect_message(one) for one in messages], config=GenerateConfig(stop_seqs=stop, **given)
        )
        used = output.usage
        message = AIMessage(
            output.completion,
            usage_metadata=UsageMetadata(
                input_tokens=used.input_tokens, output_tokens=used.output_tokens, total_tokens=used.total_tokens
            )
            if used
            else None,
            response_metadata={"finish_reason": FINISHED.get(output.stop_reason, output.stop_reason)},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


FINISHED = {"max_tokens": "length", "model_length": "length", "content_filter": "content_filter", "unknown": "stop"}
"""How LangChain's clients of OpenAI call it."""


def inspect_message(message: BaseMessage) -> ChatMessage:
    """A message in Inspect's form."""
    kinds: list[tuple[type[BaseMessage], Any]] = [
        (SystemMessage, ChatMessageSystem),
        (HumanMessage, ChatMessageUser),
        (AIMessage, ChatMessageAssistant),
    ]
    kind = next(made for known, made in kinds if isinstance(message, known))
    return kind(content=message.text)


def questions(role: str, dataset: str = "", limit: int = 0, library: str | None = None) -> MemoryDataset:
    """A role's questions as a dataset of Inspect: its own, or those of a dataset of `dramaturg evaluate`.

    Args:
        role: the id of the role.
        dataset: a file, or `NAME=FOLDER` as for `dramaturg evaluate --dataset`; empty: the role's own questions.
        limit: the most questions, spread over scopes and attributes; 0: all.
        library: the folder of roles; None: the usual one.

    Raises:
        RoleFileError: there is no such role, or its files or the dataset's cannot be read.
        ValueError: the dataset has no questions for the role.
    """
    there = library_of(context_with(library)).open(role)
    asked = spread(questions_of(there, asked_of(dataset) if dataset else None), limit)
    return MemoryDataset([sample_of(role, one) for one in asked], name=f"{role}, {dataset or 'its own questions'}")


def sample_of(role: str, question: DatasetQuestion) -> Sample:
    """A question as a sample: what was said before, then the question; its target is a right answer."""
    return Sample(
        id=question.id,
        input=[
            *(ChatMessageUser(content=f"{one.speaker}: {one.text}") for one in question.turns),
            ChatMessageUser(content=question.text),
        ],
        target=question.right_answers,
        metadata={ROLE: role, QUESTION: question.told()},
    )


@solver
def plays(method: str = "amadeus", role: str = "", library: str | None = None, embedding_model: str = "auto") -> Solver:
    """Have a role answer by a method, in a conversation of its own.

    Before the first question the role is prepared for the method, as by `dramaturg index`. Where a model does not
    answer, the sample is an error of Inspect's; what the reply rests on is in the state's store, as `evidence`.

    Args:
        method: one of `dramaturg evaluate --methods`, also with settings: `drmr[revisions=0]`.
        role: the role's id; empty: the one that the sample names (`questions`).
        library: the folder of roles; None: the usual one.
        embedding_model: as in every context of this package.

    Raises:
        ValueError: there is no such method, or it has no such setting.
    """
    playing, prepared, preparing = contestant(method), set[str](), asyncio.Lock()

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        name = role or str(state.metadata.get(ROLE, ""))
        if not name:
            raise ValueError("Nobody is asked: give plays(role=…), or take the samples of questions().")
        context = context_with(library, get_model(), embedding_model=embedding_model)
        question = question_of(state)
        there = await asyncio.to_thread(library_of(context).open, name)
        asked = ToAsk(playing, there, state.epoch - 1, question, f"{name} {state.epoch} {state.sample_id}")
        async with preparing:
            if name not in prepared:
                for one in preparations(playing.method, playing.context(context, name, seed=0)).values():
                    await one.graph.ainvoke({}, context=one.context)
                prepared.add(name)
        said = await conversed(asked, context, flow(playing.method))
        state.store.set(EVIDENCE, said.evidence)
        state.output = ModelOutput.from_content(str(state.model), said.text)
        state.messages.append(state.output.message)
        return state

    return solve


@scorer(metrics=[mean(), stderr()])
def judged(metric: str = "accuracy", library: str | None = None, embedding_model: str = "auto") -> Scorer:
    """Score replies by a metric of `dramaturg evaluate`; what the judge is known to be worth stands with every score.

    A judgement that did not come, or a question that the metric is not defined for, is unscored and in no mean. The
    metadata have the judge's name, the version of its prompt, P(yes) where there is one, and `standing`: how the judge
    did on the anchors (`dramaturg judges --anchors`), or that it was never checked. A judge that is not above chance
    there scores nothing.

    Raises:
        ValueError: there is no such metric, it is of talks, or it is asked in a paper's own words.
    """
    if metric not in METRICS:
        raise ValueError(f"There is no metric {metric!r}{near_or_all(metric, METRICS)}")
    require_printed([metric], {})

    embeds = metric in UNJUDGED or "events" in JUDGES[metric].needs

    async def score(state: TaskState, target: Target) -> Score:
        role, question = str(state.metadata.get(ROLE, "")), question_of(state, target)
        if not role:
            raise ValueError("Whose reply it is stands nowhere: take the samples of questions().")
        context = context_with(library, get_model(role=GRADER), embedding_model=embedding_model)
        there = await asyncio.to_thread(library_of(context).open, role)
        language = language_in(context, there)
        by = str(get_model(role=GRADER))
        reply = Reply(
            key=digest([role, state.sample_id, state.epoch, state.output.completion]),
            contestant="",
            role=role,
            seed=state.epoch - 1,
            question=question.id,
            asked=question.text,
            text=state.output.completion,
            evidence=state.store.get(EVIDENCE, {}),
        )
        task = to_judge(reply, question, there, metric, language, by)
        judge = None if metric in UNJUDGED else await chat_in(context, language)
        near: Any = await asyncio.to_thread(embedder, embedding_model, there.card.language) if embeds else None
        found = await measured(task, judge, near)
        worth, bears = ("", True) if judge is None else standing_of(by, metric, found.prompt, language)
        about = {"judge": by, "prompt": found.prompt, "probability": found.probability, "standing": worth}
        if not found.applicable:
            return Score.unscored(reason="not_applicable", answer=reply.text, metadata=about)
        if found.value is None or not bears:
            return Score.unscored(reason="missing", answer=reply.text, explanation=found.error or worth, metadata=about)
        return Score(value=found.value, answer=reply.text, explanation=found.reason or None, metadata=about)

    return score


def standing_of(judge: str, metric: str, prompt: str, language: str) -> tuple[str, bool]:
    """What is known of a judge by a metric in a language, in a sentence, and whether its numbers say anything."""
    known = read_standings(environment().cache / SHARED)
    found = [one for one in known if (one.judge, one.metric, one.source) == (judge, metric, ANCHORS)]
    fitting = next((one for one in found if prompt in one.prompts), None)
    if fitting is None:
        return f"never checked: dramaturg judges --anchors --metrics {metric} --judge NAME does it", True
    told = fitting.by_language[language].told if language in fitting.by_language else fitting.told
    above = "above chance" if told.above else "not above chance, so that its scores say nothing"
    return f"on the anchors {above} ({shown(told)})", told.above


def question_of(state: TaskState, target: Sequence[str] = ()) -> DatasetQuestion:
    """The question of a sample: that of `questions`, or else its text, with its target as the right answers."""
    if QUESTION in state.metadata:
        return DatasetQuestion.model_validate(state.metadata[QUESTION])
    right = [one for one in target if one]
    return DatasetQuestion(
        id=str(state.sample_id), text=state.input_text, answer=right[0] if right else "", more_answers=tuple(right[1:])
    )


def context_with(library: str | None, model: Model | None = None, **settings: Any) -> RunContext:
    """What every run is told: the library, and a model of Inspect."""
    speaking = {"chat_model": client_of(model)} if model else {}
    return RunContext.model_validate({"library": library or "", "deadline": UNHURRIED, **speaking, **settings})


@cache
def client_of(model: Model) -> InspectChatModel:
    """A model as LangChain's, the same each time: what was learned of it is kept with it."""
    return InspectChatModel(inspect_model=model)
