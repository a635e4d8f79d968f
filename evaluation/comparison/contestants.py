"""The methods that are compared, by the names of the papers' tables, each with its settings."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from dramaturg.evaluation.comparison.external_process import PACKAGES
from dramaturg.nodes.context import RoleContext, RunContext
from dramaturg.stores.errors import did_you_mean
from dramaturg.workflows.methods import METHODS, context_type

WEB = "web_search"


class Contestant(NamedTuple):
    """A method under comparison: a workflow or another package's method, and what it is told beside its defaults."""

    name: str
    method: str
    settings: Mapping[str, Any]

    def context(self, shared: RunContext, role: str, seed: int, user_role: str = "") -> RoleContext:
        """How it replies for a role, with the models of the comparison.

        Args:
            shared: the models and bounds that all contestants have.
            role: the id of the role.
            seed: of written texts.
            user_role: who asks; a method that makes no difference between users is not told.
        """
        kind = context_type(self.method) if self.method in METHODS else RoleContext
        common = {name: getattr(shared, name) for name in RunContext.model_fields}
        asking = {"user_role": user_role} if user_role and "user_role" in kind.model_fields else {}
        web = {WEB: getattr(shared, WEB, "off")} if self.searches else {}
        return kind(**{**common, "role": role, "model_seed": seed, **asking, **web, **self.settings})

    @property
    def searches(self) -> bool:
        """Whether it searches the web, where there is a tool for that."""
        return self.method in METHODS and WEB in context_type(self.method).model_fields


VARIANTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "full-retrieval": ("id-rag", {"identity": "full"}),
    "generative-agents": ("id-rag", {"identity": "baseline"}),
    "ordinary-rag": ("emotional-rag", {"strategy": "semantic"}),
}
"""Baselines that are a workflow of a paper with one mechanism left out: ID-RAG 5.4, Emotional RAG IV."""
NAMES = (*METHODS, *VARIANTS, *PACKAGES)


def contestant(name: str) -> Contestant:
    """Look one up.

    Raises:
        ValueError: there is none of that name.
    """
    if name in VARIANTS:
        return Contestant(name, *VARIANTS[name])
    if name in METHODS or name in PACKAGES:
        return Contestant(name, name, {})
    near = did_you_mean(name, NAMES) or f"; there are: {', '.join(NAMES)}."
    raise ValueError(f"There is no method {name!r}{near}")
