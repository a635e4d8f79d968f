"""What another program can ask of roles, tool by tool: each has its arguments as fields, which say what they mean."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal
from uuid import uuid4

from langchain_core.messages import HumanMessage
from pydantic import BaseModel, ConfigDict, Field

from dramaturg.conversations.conversation import Conversation
from dramaturg.conversations.opening import open_conversation
from dramaturg.nodes.dialogues.cast import cast_of
from dramaturg.nodes.dialogues.index import edges_of, score_of
from dramaturg.nodes.dialogues.relations import clique_of, relation, shown
from dramaturg.nodes.dialogues.role_memory import of_user, records_in
from dramaturg.nodes.reply import joined
from dramaturg.nodes.run import RoleContext, run_of
from dramaturg.nodes.turn import question_in
from dramaturg.server.replies import replies_in
from dramaturg.server.rooms import Model, Rooms
from dramaturg.stores import learning
from dramaturg.stores.documents.memories import add_memory
from dramaturg.stores.errors import RoleError
from dramaturg.stores.index.dialogues import DIALOGUE_KIND
from dramaturg.workflows.methods import Flow, flow, grounds_graph

Result = dict[str, Any]
Role = Annotated[
    str, Field(min_length=1, max_length=200, description="The id, name or alias of a role: see list_roles.")
]
Method = Annotated[
    str, Field(max_length=80, description="How the role answers, of those that list_roles names; empty: the server's.")
]
User = Annotated[
    str,
    Field(
        max_length=80,
        description="Who you are to the role: another role, or anybody who speaks in its dialogues; empty: a stranger.",
    ),
]
Thread = Annotated[
    str,
    Field(
        max_length=200,
        pattern=r"^[^\x00-\x1f\x7f]*$",
        description="The name of a conversation with the role. It goes on where it stopped, and the role remembers it.",
    ),
]
Text = Annotated[str, Field(min_length=1, max_length=100_000)]


class Tool(BaseModel):
    """A tool and, as its fields, what it is called with."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)
    only_reads: ClassVar[bool] = True

    async def run(self, rooms: Rooms) -> Result:
        """Do it.

        Raises:
            ValueError: there is no such role, method or thing, or it cannot be done.
            RuntimeError: a model, an index or a file is not as it must be.
        """
        raise NotImplementedError


class ListRoles(Tool):
    """List the roles that can be asked, with a short profile of each, and the methods by which they answer."""

    async def run(self, rooms: Rooms) -> Result:
        """See the class."""
        return {
            "roles": [one for one in await asyncio.to_thread(rooms.roles) if not one["story_of"]],
            "methods": list(rooms.listed),
            "method": rooms.method,
        }


class AskRole(Tool):
    """Say something to a role and hear its reply, in character. With `thread` the conversation is kept and goes on."""

    only_reads: ClassVar[bool] = False
    role: Role
    message: Annotated[Text, Field(description="What you say to the role.")]
    thread: Thread = ""
    method: Method = ""
    user: User = ""
    evidence: Annotated[bool, Field(description="Whether to return why the reply is as it is, too.")] = False

    async def run(self, rooms: Rooms) -> Result:
        """See the class."""
        model, context = await meant(rooms, self.role, self.method, self.user)
        async with AsyncExitStack() as stack:
            if self.thread:
                talk = await rooms.conversation(model, context, self.thread)
            else:
                talk = await stack.enter_async_context(open_conversation(rooms.methods[model.method], context))
            output = await said_to(talk, self.message)
            replies = replies_in(output["messages"])
            waiting = await talk.waiting()
        lines = [{"name": one.name, "text": one.text} for one in replies] if len(replies) > 1 else []
        return {
            "role": model.role,
            "method": model.method,
            "thread": self.thread or None,
            "reply": "\n\n".join(one.text for one in replies),
            **({"lines": lines} if lines else {}),
            **({"waiting": waiting} if waiting else {}),
            **({"evidence": output["evidence"], "usage": output["usage"]} if self.evidence else {}),
        }


class Recall(Tool):
    """Look up what a role would answer a question from: passages, memories, facts, dialogues, beliefs. Nothing is said.

    The conversation, where one is named, is read and not changed.
    """

    role: Role
    question: Annotated[Text, Field(description="What the role would be asked.")]
    thread: Thread = ""
    method: Method = ""
    user: User = ""

    async def run(self, rooms: Rooms) -> Result:
        """See the class."""
        model, context = await meant(rooms, self.role, self.method, self.user)
        builder = grounds_graph(rooms.methods[model.method])
        asked = HumanMessage(self.question, id=str(uuid4()))
        question = question_in([asked])
        talk = await rooms.conversation(model, context, self.thread or f"{uuid4()}")
        known = await talk.values() if self.thread else {}
        taken = {name: value for name, value in known.items() if name in builder.schemas[builder.input_schema]}
        given = {**taken, "messages": [*known.get("messages", []), asked], "question": question}
        where: Any = {"configurable": {"thread_id": talk.thread.name}}
        found = await builder.compile(store=talk.store).ainvoke(given, where, context=context)
        grounds = joined(found["gathered"].values())
        return {
            "role": model.role,
            "method": model.method,
            "found": grounds["texts"],
            "limits": grounds["limits"],
            "evidence": found["evidence"],
            "usage": found["usage"],
        }


class Relations(Tool):
    """Say how a role stands to somebody who speaks in its dialogues: the clique of the two, and who matters how much.

    With `thread`, also what the role remembers of that person from it, where it was held by the method drmr.
    """

    role: Role
    person: Annotated[str, Field(min_length=1, max_length=80, description="Whom the role is to be related to.")]
    thread: Thread = ""
    score: Annotated[
        bool, Field(description="Whether the model is asked for the scores that are missing, which takes its time.")
    ] = False

    async def run(self, rooms: Rooms) -> Result:
        """See the class."""
        model, context = await meant(rooms, self.role, "drmr", self.person)
        await prepare(flow("drmr"), context, scores=self.score)
        cast = await cast_of(await run_of(context), "")
        scores = await asyncio.to_thread(cast.role.index(DIALOGUE_KIND).builder.known)
        edges = edges_of(cast.store.dialogues)
        related = [relation(edge, score_of(scores, edge, cast.card)) for edge in edges]
        clique = clique_of(related, cast)
        records = []
        if self.thread:
            talk = await rooms.conversation(model, context, self.thread)
            records = [one["text"] for one in of_user(records_in(await talk.values()), cast)]
        return {
            "role": cast.card.name,
            "person": cast.user.known_as,
            "speaks_in_the_dialogues": cast.user.speaker is not None,
            "clique": clique,
            "relations": [shown(one) for one in related if {*one["roles"]} <= {*clique}],
            "role_memory": records,
        }


class Remember(Tool):
    """Write something down for a role, for all its conversations: as a memory, or as a document about it.

    It is indexed at once. `dramaturg undo` takes it back.
    """

    only_reads: ClassVar[bool] = False
    role: Role
    text: Annotated[Text, Field(description="What is to be remembered; a document as Markdown.")]
    kind: Annotated[
        Literal["memory", "document"],
        Field(
            description="memory: a line that emotional-rag and ensemble recall with a mood; document: a text that "
            "amadeus, role-rag, ensemble and the baselines look things up in."
        ),
    ]
    title: Annotated[
        str, Field(max_length=80, description="The name of a document, such as 'Years in Vienna'; a new one.")
    ] = ""
    when: Annotated[str, Field(max_length=80, description="Of a memory: when it was, in words.")] = ""

    async def run(self, rooms: Rooms) -> Result:
        """See the class."""
        model, context = await meant(rooms, self.role, "" if self.kind == "document" else "emotional-rag")
        role = await asyncio.to_thread(rooms.library.open, model.role)
        if self.kind == "memory":
            if self.title:
                raise ValueError("A memory has no title: leave it out, or have it written as a document.")
            kept = await asyncio.to_thread(add_memory, role.root, self.text, self.when)
        else:
            if not self.title or self.when:
                raise ValueError("A document needs a title, and has no `when`: give a title alone.")
            kept = learning.document_name(self.title)
            await asyncio.to_thread(learn_new, role, kept, self.text)
        result: Result = {"role": model.role, "kept_in": kept}
        try:
            return result | {"index": await prepare(flow(rooms.methods[model.method]), context)}
        except (ValueError, RuntimeError) as error:
            return result | {"not_indexed": f"{error} The next question to the role by {model.method} tries it again."}


TOOLS: dict[str, type[Tool]] = {
    "list_roles": ListRoles,
    "ask_role": AskRole,
    "recall": Recall,
    "relations": Relations,
    "remember": Remember,
}


async def meant(rooms: Rooms, role: str, method: str, user: str = "") -> tuple[Model, RoleContext]:
    """The role and method that are meant, and how they answer."""
    found = await asyncio.to_thread(rooms.role_named, role)
    if found is None:
        raise RoleError(f"There is no role {role!r}: list_roles lists those there are.")
    model = rooms.model(f"role:{found}:{method}" if method else f"role:{found}")
    given = {"user_role": user} if user else {}
    if given and "user_role" not in flow(rooms.methods[model.method]).context.model_fields:
        raise ValueError(
            f"By {model.method} it makes no difference who asks: leave `user` out, or take drmr or ensemble."
        )
    return model, rooms.context(model, given)


async def said_to(talk: Conversation, message: str) -> dict[str, Any]:
    """Take a turn; one that is cancelled before anybody has heard its reply is taken back."""
    asked = HumanMessage(message, id=str(uuid4()))
    try:
        return await talk.take_turn(asked)
    except asyncio.CancelledError:
        begun = await talk.unfinished()
        if begun and begun.id == asked.id:
            await talk.withdraw()
        raise


async def prepare(method: Flow, context: RoleContext, *, scores: bool = False) -> dict[str, Any]:
    """Prepare a role for a method: what has changed is indexed; return a report by index."""
    reports = {}
    for title, one in method.preparations(context).items():
        wishes = {"scores": True} if scores and one.takes("scores") else {"rebuild": False}
        reports[title] = (await one.graph.ainvoke(wishes, context=one.context)).get("index")
    return reports


def learn_new(role: Any, name: str, text: str) -> None:
    """Put a document into the persona that is not there yet; it blocks."""
    if name in role.persona.names():
        raise RoleError(f"{role.id!r} has a document {name!r} already: give another title.")
    learning.learn(role, [(name, learning.checked(text.encode(), Path(name)))], was={name: None})
