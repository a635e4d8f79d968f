"""Who is compared, by the names of the papers' tables: methods, a floor and a ceiling; and what each is asked.

Floor and ceiling need no model. What a judge gives them says what its numbers are worth: a method that gets no more
than the floor has shown nothing, and no method can be expected to get more than right answers do.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from dramaturg.evaluation.comparison.external import PACKAGES
from dramaturg.evaluation.comparison.making import Making, making_of, played_by
from dramaturg.evaluation.datasets.dataset import DatasetQuestion
from dramaturg.models.clients import name_of
from dramaturg.models.embeddings import name_of as embeddings_name
from dramaturg.nodes.run import RoleContext, RunContext, deviations
from dramaturg.prompts import digest_of
from dramaturg.stores.errors import near_or_all
from dramaturg.stores.files import canonical
from dramaturg.stores.role import Role
from dramaturg.workflows.methods import context_type
from dramaturg.workflows.names import METHODS
from dramaturg.workflows.settings import require_known, settings_of, with_settings, written

WEB = "web_search"
PARTS = ("passages", "scope", "memories", "relations", "identity")
"""Of the ensemble, which is not imported for its names."""


PUBLISHED = ("amadeus", "role-rag", "emotional-rag", "id-rag", "drmr")
"""Under these names stands what the papers have: their rules hold, and not those that we think better."""
BASELINES = tuple(name for name in METHODS if name not in (*PUBLISHED, "ensemble"))
"""The papers have these too, and their rules hold for them: what is compared differs in the method alone."""


class Contestant(NamedTuple):
    """A method under comparison: a workflow or another package's method, and its settings beside the defaults."""

    name: str
    method: str
    settings: Mapping[str, Any]
    kind: type[RoleContext] = RoleContext
    """What a workflow may be told; what is no workflow is told no more than every run is."""
    hears_all: bool = False
    """Whether in a scene everybody hears everything: what the filter of presence is compared with."""

    def context(self, shared: RunContext, role: str, seed: int, user_role: str = "") -> RoleContext:
        """Return the context in which it replies for a role, with the models of the comparison.

        Args:
            shared: the models and bounds that all contestants have.
            role: the id of the role.
            seed: of written texts.
            user_role: who asks; a method that makes no difference between users is not told.
        """
        here = {"embedding_model"} if server_of(shared) else set()  # it measures here; a server embeds by its own
        common = {name: getattr(shared, name) for name in RunContext.model_fields if name not in here}
        asking = {"user_role": user_role} if user_role and "user_role" in self.kind.model_fields else {}
        web = {WEB: getattr(shared, WEB, "off")} if self.searches else {}
        rules = {"rules": "paper"} if self.method in BASELINES else {}
        own = {"role": role, "model_seed": seed, "turn_deadline": UNHURRIED}
        return self.kind(**{**common, **own, **rules, **asking, **web, **self.settings})

    def making(self, shared: RunContext, languages: Sequence[str], *, scene: bool = False) -> Making:
        """Say what makes its replies, for roles that speak these languages; on a server, only by which settings.

        Args:
            shared: the models and bounds that all contestants have.
            languages: of the roles.
            scene: whether they are asked in a scene.
        """
        made = making_of(self.method, self.context(RunContext(), "any", seed=0), SHARED, languages)
        if scene:
            made = played_by(made, languages)
        return made.model_copy(update={"code": "", "prompts": {}}) if server_of(shared) else made

    @property
    def searches(self) -> bool:
        """Whether it searches the web, where there is a tool for that."""
        return WEB in self.kind.model_fields


VARIANTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "full-retrieval": ("id-rag", {"identity": "full"}),
    "generative-agents": ("id-rag", {"identity": "baseline"}),
    "ordinary-rag": ("emotional-rag", {"strategy": "semantic"}),
    "naive-rag-acts": ("naive-rag", {"splitter": "acts-document", "longest": 100_000}),
    **{
        f"ensemble-without-{left_out}": ("ensemble", {"parts": [one for one in PARTS if one != left_out]})
        for left_out in PARTS
    },
    **{f"{name}-ours": (name, {"rules": "ours"}) for name in PUBLISHED},
}
"""Workflows with one mechanism left out: the papers' baselines (ID-RAG 5.4, Emotional RAG IV), and the ensemble's; and
the papers' methods by our rules."""
HEARS_ALL = "-hears-all"
"""The end of the name of a method that plays a scene in which everybody hears everything."""
NAMES = (*METHODS, *VARIANTS, *PACKAGES)
FLOOR, CEILING = "always-declines", "right-answers"
BOUNDS: Mapping[str, Contestant] = {name: Contestant(name, name, {}) for name in (FLOOR, CEILING)}
"""They stand beside the methods, and are none."""
DECLINED: Mapping[str, str] = {
    "en": "That I do not know. I have never heard of it.",
    "zh": "这个我不知道，从来没有听说过。",
    "ko": "그건 모르겠습니다. 들어 본 적이 없습니다.",
}
"""What the floor says to every question, in the role's language."""
UNHURRIED = 3600.0
"""Seconds for a turn: what is compared is what a method does, not what of it fits into the time of a chat."""
SHARED = frozenset({*RunContext.model_fields, "role", "turn_deadline", "user_role", WEB})
"""Settings that a contestant cannot have of its own: who plays, with which models, and who asks."""
DERIVED = "index"
"""The folder of a role whose files are made from its others."""


def contestant(name: str) -> Contestant:
    """Return the contestant of a name; a flow of somebody's own is imported.

    Args:
        name: of a method, of a variant, or of a flow of one's own; settings may stand behind it:
            `drmr[notes=true,revisions=0]`. The contestant's name has them by name, so that one contestant has one name.

    Raises:
        ValueError: there is no such method, and what there is; or it has no such setting, the value is out of its
            bounds, or all methods of a comparison share it.
    """
    called, texts = with_settings(name)
    base = called.removesuffix(HEARS_ALL)
    given = settings_of(texts, f"{base}[…]", once=True)
    full = f"{called}[{','.join(written(given))}]" if given else called
    if base in PACKAGES:
        if given:
            raise ValueError(f"{base} takes no settings here: it is another package's method.")
        return Contestant(full, base, {}, hears_all=called != base)
    method, settings = VARIANTS.get(base, (base, {}))
    if method not in METHODS and ":" not in method:
        raise ValueError(f"There is no method {base!r}{near_or_all(base, NAMES)}")
    kind = context_type(method)
    require_known(kind, given, base, but=SHARED)
    if shared := sorted(set(leaves(given)) & SHARED):
        raise ValueError(f"{full} cannot set {shared[0]}: all methods of a comparison share it.")
    as_published = {"rules": "paper"} if method in PUBLISHED and deviations(kind) else {}
    one = Contestant(full, method, {**as_published, **settings, **given}, kind, called != base)
    if given:
        require_usable(one)
    return one


def contestants_of(names: Iterable[str]) -> list[Contestant]:
    """The contestants of a comparison; the same name twice is one.

    Raises:
        ValueError: one cannot be had, or two differ in nothing but their names.
    """
    found = {one.name: one for one in map(contestant, names)}
    told = {one.name: (one.method, one.hears_all, one.context(RunContext(), "any", seed=0)) for one in found.values()}
    for first, second in combinations(found, 2):
        if told[first] == told[second]:
            raise ValueError(f"{first} and {second} are the same: leave one of them out.")
    return [*found.values()]


def leaves(settings: Mapping[str, Any]) -> Iterator[str]:
    """The names of settings, and of those in parts."""
    for name, value in settings.items():
        yield name
        if isinstance(value, Mapping):
            yield from leaves(value)


def require_usable(one: Contestant) -> None:
    """Refuse a contestant whose settings are out of their bounds, in a sentence that names it."""
    try:
        one.context(RunContext(), "any", seed=0)
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, of['loc']))}: {of['msg']}" for of in error.errors(include_url=False))
        raise ValueError(f"{one.name} cannot be used: {'; '.join(problems)}.") from error


def rules_of(name: str) -> str:
    """Whose rules a contestant follows: "paper" or "ours"; empty for other packages' methods and flows of one's own."""
    called, texts = with_settings(name)
    base = called.removesuffix(HEARS_ALL)
    method, settings = VARIANTS.get(base, (base, {}))
    usual = "paper" if method in (*PUBLISHED, *BASELINES) else "ours"
    return str({"rules": usual, **settings, **settings_of(texts)}["rules"]) if method in METHODS else ""


class ToAsk(NamedTuple):
    """A question to a role by one method; `key` is a digest of all that the reply depends on."""

    contestant: Contestant
    role: Role
    seed: int
    question: DatasetQuestion
    key: str
    thread: str = ""
    """Of a turn of a talk: the key of the first turn."""
    made: str = ""
    """A digest of what makes the method's replies."""


def bound_reply(name: str, question: DatasetQuestion, language: str) -> str:
    """Return what floor or ceiling says in a language; empty where the question has no right answer to say."""
    right = [*question.right_answers, question.talk.fact if question.talk else ""]
    return DECLINED[language] if name == FLOOR else right[0]


def to_ask_of(
    contestants: Sequence[Contestant],
    roles: Iterable[tuple[Role, Sequence[DatasetQuestion]]],
    seeds: Sequence[int],
    shared: RunContext,
    makings: Mapping[str, Making],
) -> Iterator[ToAsk]:
    """Yield all questions of an evaluation: role by role, and all methods on one question one after the other.

    Floor and ceiling say the same for every seed: they are asked once, and only where they have something to say.
    """
    for role, questions in roles:
        knowledge, languages = fingerprint(role.root), languages_of(shared, role)
        made = {name: one.digest(languages) for name, one in makings.items()}
        for seed in seeds:
            threads: dict[tuple[str, str], str] = {}
            for question in questions:
                for one in contestants:
                    if one.name not in BOUNDS:
                        key = key_of(one, made[one.name], role, knowledge, seed, question, shared)
                        talk = question.talk.id if question.talk else ""
                        thread = threads.setdefault((one.name, talk), key) if talk else ""
                        yield ToAsk(one, role, seed, question, key, thread, made[one.name])
                    elif seed == seeds[0] and (text := bound_reply(one.name, question, language_in(shared, role))):
                        # It rests on no model, and on nothing that the role knows.
                        key = digest([one.name, role.id, question.id, question.text, text])
                        yield ToAsk(one, role, seed, question, key)


def language_in(shared: RunContext, role: Role) -> str:
    """The language that a role speaks in an evaluation."""
    return role.card.language if shared.language == "auto" else shared.language


def languages_of(shared: RunContext, role: Role) -> tuple[str, ...]:
    """The languages of the prompts that a role may be asked by: the one it speaks, and its own, of its documents."""
    return tuple(dict.fromkeys((language_in(shared, role), role.card.language)))


def key_of(
    contestant: Contestant,
    made: str,
    role: Role,
    knowledge: str,
    seed: int,
    question: DatasetQuestion,
    shared: RunContext,
) -> str:
    """Digest what a reply depends on."""
    asked = question.told("id", "text", "user_role", "context", "turns")
    told: Any = [contestant.name, made, role.id, knowledge, seed, asked]
    told += [*models_of(shared), shared.language]
    tool: Any = getattr(shared, WEB, "off")
    if contestant.searches and tool != "off":
        told.append(str(getattr(tool, "name", None) or f"{tool.__module__}:{tool.__qualname__}"))
    return digest(told)


def server_of(shared: RunContext) -> str:
    """The address of the server where the roles speak; empty: they speak here."""
    return str(getattr(shared, "server", ""))


def speaking_model(shared: RunContext) -> str:
    """The name of the model that speaks; on a server, what that calls it."""
    server = server_of(shared)
    return f"{shared.chat_model} at {server}" if server else name_of(shared.chat_model)


def models_of(shared: RunContext) -> tuple[str, ...]:
    """The names of the chat model and of the embedding model, and a digest of prompts that are not the package's."""
    embedding = shared.embedding_model
    names = speaking_model(shared), embedding if isinstance(embedding, str) else embeddings_name(embedding)
    return (*names, digest_of(shared.prompts)) if shared.prompts else names


def digest(told: Any) -> str:
    """Return a key of all that something depends on, given as plain values."""
    return hashlib.sha256(canonical(told)).hexdigest()[:32]


def fingerprint(folder: Path) -> str:
    """Return a digest of what a role knows: of all its files but those that are made from others."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        if path.is_file() and inner.parts[0] != DERIVED and not any(part.startswith(".") for part in inner.parts):
            digest.update(canonical([inner.as_posix(), hashlib.sha256(path.read_bytes()).hexdigest()]))
    return digest.hexdigest()
