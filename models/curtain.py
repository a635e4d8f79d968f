"""What is held back of a text while it is written, until its beginning says whether a user may be shown it."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Self, TypeAlias

from langchain_core.callbacks import AsyncCallbackHandler, AsyncCallbackManager, BaseCallbackHandler
from langchain_core.callbacks.manager import ahandle_event
from langchain_core.runnables import RunnableConfig, ensure_config
from langchain_core.runnables.config import var_child_runnable_config

from dramaturg.models.asking import quiet as quietly

MayShow: TypeAlias = Callable[[str, bool], bool | None]
"""Whether a text may be shown, by its beginning and by whether that is all of it; None: more of it must be known."""


class Curtain:
    """Stands between a call of a model and those who show its tokens: up, down, or down until it is known which.

    Whoever counts or traces calls is told of each as it happens: what is held back changes no account. Those who show
    tokens are told of a call, in the order in which it happened, when the curtain rises, and else nothing. The call is
    made within it, and with its `config`.
    """

    def __init__(self, may_show: MayShow | None, *, quiet: bool) -> None:
        self.shown = False
        """Whether somebody was shown a word."""
        self.config = quietly("write") if quiet else None
        self._is_up = not (quiet or may_show)
        self._may_show = None if quiet else may_show
        self._begun = ""  # as much as was written while it is not known whether it may be shown
        self._held: list[_Held] = []
        self._around: RunnableConfig | None = None
        if self._may_show:
            around = ensure_config()
            manager = AsyncCallbackManager.configure(around.get("callbacks"))
            # The mark of those who show tokens is not public; this method is what LangChain asks of them.
            held = {id(one): _Held(one) for one in manager.handlers if hasattr(one, "tap_output_aiter")}
            manager.handlers = [held.get(id(one), one) for one in manager.handlers]
            manager.inheritable_handlers = [held.get(id(one), one) for one in manager.inheritable_handlers]
            self._held = list(held.values())
            self._around = {**around, "callbacks": manager}

    def __enter__(self) -> Self:
        # Not as a call's own config: a model that is bound or wrapped would add the one around it, with who shows.
        self._before = var_child_runnable_config.set(self._around) if self._around else None
        return self

    def __exit__(self, *_: object) -> None:
        if self._before:
            var_child_runnable_config.reset(self._before)

    async def heed_part(self, part: str) -> None:
        """Heed what was written so far, of which this is the next part; spaces that it begins with tell nothing."""
        if self._may_show:
            self._begun = (self._begun + part).lstrip()
            await self.heed(self._begun)
        self.shown = self.shown or (self._is_up and bool(part))

    async def heed(self, text: str, *, whole: bool = False) -> None:
        """Rise if what was written so far may be shown, or stay down for good if it may not."""
        verdict = self._may_show(text, whole) if self._may_show else None
        if verdict is not None:
            self._is_up, self._may_show = verdict, None
            for one in self._held if verdict else ():
                await one.pass_on()
        self.shown = self._is_up and bool(text)


class _Held(AsyncCallbackHandler):
    """Keeps what a handler is to be told of a call until it may be."""

    run_inline = True  # else tokens would overtake each other

    def __init__(self, handler: BaseCallbackHandler) -> None:
        self._handler = handler
        self._kept: list[Callable[[], Awaitable[None]]] | None = []

    async def pass_on(self) -> None:
        """Tell it all that was kept, and from now on at once."""
        kept, self._kept = self._kept or [], None
        for tell in kept:
            await tell()

    async def _tell(self, *event: Any, **named: Any) -> None:
        tell = partial(ahandle_event, [self._handler], *event, **named)
        if self._kept is None:
            await tell()
        else:
            self._kept.append(tell)

    async def on_chat_model_start(self, *args: Any, **named: Any) -> None:
        """A call begins."""
        await self._tell("on_chat_model_start", "ignore_chat_model", *args, **named)

    async def on_llm_new_token(self, *args: Any, **named: Any) -> None:
        """A part of the text."""
        await self._tell("on_llm_new_token", "ignore_llm", *args, **named)

    async def on_llm_end(self, *args: Any, **named: Any) -> None:
        """The text is whole."""
        await self._tell("on_llm_end", "ignore_llm", *args, **named)

    async def on_llm_error(self, *args: Any, **named: Any) -> None:
        """The call failed."""
        await self._tell("on_llm_error", "ignore_llm", *args, **named)
