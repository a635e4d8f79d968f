"""Stands between a call of a model and those who show its tokens: what they are shown, and when.

They are shown what is said: no thoughts, and nothing after the place where a text ends that goes on. Whoever counts or
traces calls is told of each as it happens: what is held back changes no account.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Protocol, Self, TypeAlias

from langchain_core.callbacks import AsyncCallbackHandler, AsyncCallbackManager, BaseCallbackHandler
from langchain_core.callbacks.manager import ahandle_event
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, LLMResult
from langchain_core.runnables import RunnableConfig, ensure_config
from langchain_core.runnables.config import var_child_runnable_config

from dramaturg.models.thoughts import Thoughts

MayShow: TypeAlias = Callable[[str, bool], bool | None]
"""Whether a text may be shown, by its beginning and by whether that is all of it; None: more of it must be known."""


class Voice(Protocol):
    """What ends a text, which comes in parts, before its writer does."""

    cut: str
    """What was left out; empty: nothing."""

    def feed(self, part: str) -> str:
        """What of the text so far is now known to be kept."""

    def end(self) -> str:
        """The rest that is kept."""


class Said:
    """What is said in a text that comes in parts: without thoughts, and as its voice ends it.

    Args:
        unopened: the text begins within thoughts.
        voice: makes what ends it; None: its writer alone.
    """

    def __init__(self, *, unopened: bool = False, voice: Callable[[], Voice] | None = None) -> None:
        self._thoughts, self._make = Thoughts(unopened=unopened), voice
        self._voice = voice() if voice else None

    def feed(self, part: str) -> tuple[str, bool]:
        """What of the text so far is now known to be said, and whether all before it was thoughts after all."""
        known = self._thoughts.said_unopened
        said = self._thoughts.feed(part)
        taken_back = self._thoughts.said_unopened and not known
        if taken_back and self._make:
            self._voice = self._make()
        return (self._voice.feed(said) if self._voice and said else said), taken_back

    def end(self) -> str:
        """The rest that is said."""
        rest = self._thoughts.end()
        return self._voice.feed(rest) + self._voice.end() if self._voice else rest


class Curtain:
    """Up, down, or down until it is known which.

    Those who show tokens are told of a call, in the order in which it happened, when the curtain rises, and else
    nothing. The call is made within it, and with its `config`.

    Args:
        config: of a call that nobody is shown; None: it is shown.
        may_show: decides of what is said by its beginning; None: it is shown at once.
        said: makes what is said of a text.
    """

    def __init__(self, config: RunnableConfig | None, may_show: MayShow | None, said: Callable[[], Said]) -> None:
        self.shown = False
        """Whether somebody was shown a word."""
        self.config = config
        self.said = said()
        self._is_up = not (config or may_show)
        self._may_show = None if config else may_show
        self._begun = ""  # as much as was said while it is not known whether it may be shown
        self._held: list[_Held] = []
        self._around: RunnableConfig | None = None
        if not config:
            around = ensure_config()
            manager = AsyncCallbackManager.configure(around.get("callbacks"))
            # The mark of those who show tokens is not public; this method is what LangChain asks of them.
            held = {
                id(one): _Held(one, said, up=self._is_up)
                for one in manager.handlers
                if hasattr(one, "tap_output_aiter")
            }
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
        said, taken_back = self.said.feed(part)
        if self._may_show:
            self._begun = "" if taken_back else self._begun
            self._begun = (self._begun + said).lstrip()
            await self.heed(self._begun)
        self.shown = self.shown or (self._is_up and bool(said))

    async def heed(self, text: str, *, whole: bool = False) -> None:
        """Rise if what was said so far may be shown, or stay down for good if it may not."""
        verdict = self._may_show(text, whole) if self._may_show else None
        if verdict is not None:
            self._is_up, self._may_show = verdict, None
            for one in self._held if verdict else ():
                await one.pass_on()
        self.shown = self._is_up and bool(text)


class _Held(AsyncCallbackHandler):
    """Keeps what a handler is to be told of a call until it may be, and tells it of what is said alone."""

    run_inline = True  # else tokens would overtake each other

    def __init__(self, handler: BaseCallbackHandler, said: Callable[[], Said], *, up: bool) -> None:
        self._handler = handler
        self._make, self._said, self._parts = said, said(), list[str]()
        self._kept: list[tuple[str, Callable[[], Awaitable[None]]]] | None = None if up else []

    async def pass_on(self) -> None:
        """Tell it all that was kept, and from now on at once."""
        kept, self._kept = self._kept or [], None
        for _, tell in kept:
            await tell()

    async def _tell(self, event: str, *about: Any, **named: Any) -> None:
        tell = partial(ahandle_event, [self._handler], event, *about, **named)
        if self._kept is None:
            await tell()
        else:
            self._kept.append((event, tell))

    async def on_chat_model_start(self, *args: Any, **named: Any) -> None:
        """A call begins."""
        await self._tell("on_chat_model_start", "ignore_chat_model", *args, **named)

    async def on_llm_new_token(self, token: Any, *args: Any, chunk: Any = None, **named: Any) -> None:
        """A part of the text; one of thoughts alone is told to nobody."""
        written = chunk.message.text if isinstance(chunk, ChatGenerationChunk) else str(token)
        said, taken_back = self._said.feed(written)
        if taken_back and self._kept is not None:
            self._kept = [(event, tell) for event, tell in self._kept if event != "on_llm_new_token"]
            self._parts.clear()
        self._parts.append(said)
        blocks = isinstance(chunk, ChatGenerationChunk) and isinstance(chunk.message.content, list)
        if said != written or blocks:  # blocks may be thoughts
            if not said and written:
                return
            token, chunk = said, with_text(chunk, said) if isinstance(chunk, ChatGenerationChunk) else chunk
        await self._tell("on_llm_new_token", "ignore_llm", token, *args, chunk=chunk, **named)

    async def on_llm_end(self, response: LLMResult, *args: Any, **named: Any) -> None:
        """The text is whole: what was held back of it, and then what was said of it."""
        first = next((one for several in response.generations for one in several), None)
        if isinstance(first, ChatGeneration) and isinstance(first.message, AIMessage):
            rest = self._said.end()
            if self._parts and rest:
                part = ChatGenerationChunk(message=AIMessageChunk(content=rest, id=first.message.id))
                await self._tell("on_llm_new_token", "ignore_llm", rest, chunk=part, **named)
            if not self._parts:
                whole = self._make()
                rest = whole.feed(first.message.text)[0] + whole.end()
            response = response.model_copy(update={"generations": [[with_text(first, "".join([*self._parts, rest]))]]})
        await self._tell("on_llm_end", "ignore_llm", response, *args, **named)

    async def on_llm_error(self, *args: Any, **named: Any) -> None:
        """The call failed."""
        await self._tell("on_llm_error", "ignore_llm", *args, **named)


def with_text(one: ChatGeneration, text: str) -> ChatGeneration:
    """A text, or a part of one, with another text in its place."""
    message: BaseMessage = one.message.model_copy(update={"content": text})
    return type(one)(message=message, generation_info=one.generation_info)
