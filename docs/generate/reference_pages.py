"""Writes pages of docs/reference from the code: commands, settings, state and events, routes, errors.

`tests/house/test_reference_pages.py` holds the pages against the code.
"""

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal, get_args, get_origin, get_type_hints

from starlette.routing import Route
from typing_extensions import get_original_bases, is_typeddict

from dramaturg.cli.app import COMMANDS, EXIT_CODES, imported, main
from dramaturg.models import errors as of_models
from dramaturg.nodes.open_settings import mark
from dramaturg.nodes.run import RoleContext
from dramaturg.server.access import Access
from dramaturg.server.app import RoleServer
from dramaturg.stores import errors as of_stores

from nodes_page import entries

FOLDER = Path(__file__).parents[1] / "reference"
GRAPHS = json.loads((Path(__file__).parents[2] / "langgraph.json").read_text(encoding="utf-8"))["graphs"]
WRITTEN = "`make docs` writes this page from the code, and a test compares the two."

REMEDIES: Mapping[str, str] = {
    "ModelError": "`dramaturg doctor` says which model is meant and whether it answers; the same command goes on",
    "ModelUnavailable": "wait, or look whether the address in `OPENAI_BASE_URL` is right and the server runs",
    "ModelRefused": "look at the key, the model's name and the limits of its server; the message quotes its answer",
    "ModelTimeout": "a longer `--set deadline=SECONDS` or `--set turn_deadline=SECONDS`, or a faster model",
    "UnusableAnswer": "ask again, or take a larger model; `--evidence` shows what was missing",
    "Filtered": "say it in other words, or take another model",
    "OtherOrigin": "set `OPENAI_BASE_URL` to the address that the server sends to, if you trust it",
    "PromptRefused": "a shorter message or other words, a smaller `longest` or `grounds_tokens`, or another model",
    "WeightsError": "`dramaturg models pull`; `dramaturg models check` names the file",
    "RoleError": "`dramaturg roles` lists the roles; `dramaturg new` begins one",
    "RoleFileError": "go to the file and the line that it names",
    "MissingIndex": "`dramaturg index ROLE`, with the `--method` that you talk by",
    "EmbeddingMismatch": "set the model that made the index, or `dramaturg index ROLE`",
    "DamagedIndex": "`dramaturg index ROLE`, which makes it again, or delete the folder `index/` of the role",
    "DamagedConversations": "restore the file from a backup, or move it away and start again",
    "RoleBusy": "another program holds the role: try again when it has ended",
    "StaleDraft": "the role was changed while it was indexed: try again",
    "StorageError": "what was there before is still there: mend the cause (space, permission), and run it again",
}
"""What to do about an error, by its class, or by the nearest class that it is one of."""


def cell(text: Any) -> str:
    """A text as a cell of a table."""
    return " ".join(str(text).replace("|", "\\|").replace("<", "&lt;").split())


def table(*head: str, rows: list[list[str]]) -> str:
    """A table in Markdown."""
    return "\n".join("| " + " | ".join(row) + " |" for row in [list(head), ["---"] * len(head), *rows])


def commands() -> str:
    """Every command, with its arguments and options."""
    parts = ["# Commands\n", f"{WRITTEN} [The command line](cli.md) has examples.\n"]
    for panel, group in COMMANDS.items():
        parts.append(f"## {panel}\n")
        for name in group:
            parts += described(imported(name), f"dramaturg {name}")
    return "\n".join(parts)


def described(command: Any, path: str) -> list[str]:
    """A command, and those below it."""
    below = getattr(command, "commands", None)
    if below:
        head = [f"### {path}\n", f"{cell(command.help)}\n"] if command.help else []
        return [*head, *(line for name, one in below.items() for line in described(one, f"{path} {name}"))]
    options, usage = [], [path]
    for one in command.params:
        if one.name == "help":
            continue
        if one.param_type_name == "argument":
            shown = one.metavar or one.name.upper()
            usage.append(shown.strip("[]") if one.required else f"[{shown.strip('[]')}]")
            words, default = [f"`{shown.strip('[]')}`"], ""
        else:
            words = [f"`{opt}`" for opt in (*one.opts, *one.secondary_opts)]
            default = shown_default(one)
        notes = [cell(getattr(one, "help", None) or "")]
        if one.min is not None or one.max is not None:
            notes.append(
                f"From {one.min} {f'to {one.max}' if one.max is not None else 'on'}.".replace("From None", "Up")
            )
        notes += ["May be repeated."] if getattr(one, "multiple", False) and "repeated" not in notes[0] else []
        notes += [f"Also from `{one.envvar}`."] if isinstance(one.envvar, str) else []
        options.append([", ".join(words), default, " ".join(filter(None, notes))])
    rows = table("argument or option", "default", "meaning", rows=options) if options else ""
    return [f"### {path}\n", f"{cell(command.help)}\n", f"```text\n{' '.join(usage)} [OPTIONS]\n```\n", rows, ""]


def shown_default(option: Any) -> str:
    """An option's default; none is an empty cell, as are a flag that is off and a list without entries."""
    default = option.default
    if default is None or default is False or callable(default) or "UNSET" in repr(default) or default in ("", []):
        return ""
    return f"`{cell(default)}`"


def settings() -> str:
    """The settings of every graph in langgraph.json."""
    parts = [
        "# Settings\n",
        f"{WRITTEN} A setting is given by `--set NAME=VALUE` on the command line, and as a field of the graph's "
        "context in Python and on a server. *Open* says whether a caller of a server may set it: see "
        "[who may set what](../how-to/studio.md#who-may-set-what).\n",
        "## Every method\n",
        settings_table(RoleContext, {}),
    ]
    for name, entry in GRAPHS.items():
        kind = resolve_name(entry["path"]).builder.context_schema
        parts += [f"\n## {name}\n", cell(entry["description"]) + "\n"]
        known = RoleContext.model_fields if issubclass(kind, RoleContext) else {}
        own = settings_table(kind, known)
        and_those = "these, and [those of every method](#every-method)" if known else ""
        lead = f"`{kind.__name__}` of `{kind.__module__}`"
        parts += [
            f"{lead}: {and_those or 'all of its settings'}.\n" if own else f"{lead}: no more than {and_those[11:]}.\n",
            own,
        ]
    return "\n".join(parts) + "\n"


def settings_table(kind: Any, known: Mapping[str, Any]) -> str:
    """The settings of a context that are not among those known, or have another default."""
    rows = []
    for name, field in kind.model_fields.items():
        if name in known and known[name].default == field.default and known[name].metadata == field.metadata:
            continue
        default = "must be given" if field.is_required() else f"`{cell(json.dumps(plain(field)))}`"
        rows.append([f"`{name}`", default, bounds(field), "yes" if mark(field) else "", cell(field.description or "")])
    return table("setting", "default", "values", "open", "meaning", rows=rows) if rows else ""


def plain(field: Any) -> Any:
    """A default as JSON has it."""
    return as_json(field.get_default(call_default_factory=True))


def as_json(value: Any) -> Any:
    """A value as JSON has it; of settings, what is not their default."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_defaults=True)
    if isinstance(value, tuple):
        return [*map(as_json, value)]
    return sorted(value) if isinstance(value, frozenset | set) else value


def bounds(field: Any) -> str:
    """What values a setting may have: choices, or a type with its bounds."""
    limits = []
    for one in field.metadata:
        for sign, key in ((">", "gt"), ("≥", "ge"), ("&lt;", "lt"), ("≤", "le")):
            limits += [f"{sign} {getattr(one, key):g}"] if hasattr(one, key) and getattr(one, key) is not None else []
    return " ".join([kinds(field.annotation), ", ".join(limits)]).strip()


def kinds(annotation: Any) -> str:
    """A type in words."""
    if not (isinstance(annotation, type) or get_origin(annotation)):
        return ""  # of a callable or an alias: the meaning says what it takes
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{one}`" for one in get_args(annotation))
    names = {int: "whole number", float: "number", str: "text", bool: "`true`, `false`", type(None): "`null`"}
    if annotation in names:
        return names[annotation]
    inner = [kinds(one) for one in get_args(annotation)]
    return " or ".join(dict.fromkeys(filter(None, inner))) if inner else ""


def state() -> str:
    """The channels of each graph, and the events that nodes stream."""
    channels: dict[str, tuple[str, list[str]]] = {}
    types: dict[str, Any] = {}
    for name, entry in GRAPHS.items():
        for channel, kind in get_type_hints(resolve_name(entry["path"]).builder.state_schema).items():
            channels.setdefault(channel, (shown_type(kind), []))[1].append(name)
            types |= {one.__name__: one for one in mappings(kind)}
    rows = [
        [f"`{name}`", kind, "all" if len(graphs) == len(GRAPHS) else ", ".join(f"`{one}`" for one in graphs)]
        for name, (kind, graphs) in sorted(channels.items())
    ]
    streamed: dict[str, list[str]] = {}
    for entry in entries()[0]:
        for event in entry.facts.events:
            streamed.setdefault(str(event), []).append(entry.name)
    events = [
        [f"`{event}`", ", ".join(f"`{one}`" for one in dict.fromkeys(nodes))]
        for event, nodes in sorted(streamed.items())
    ]
    entries_of = [fields_of(kind) for _, kind in sorted(types.items())]
    return "\n".join(
        [
            "# State and events\n",
            f"{WRITTEN} [Nodes](nodes.md) says which node reads and writes each channel.\n",
            "## Input and output\n",
            "Each method takes `messages` and gives `messages`, `evidence` and `usage`. `evidence` is an object with a "
            "key for each kind of finding of this turn; `usage` has calls, tokens and seconds by node.\n",
            "## Channels\n",
            "A channel has the same meaning and type in all graphs, so that states can be inherited together.\n",
            table("channel", "type", "graphs", rows=rows),
            "\n## Types of entries\n",
            "The mappings that channels hold, as plain values.\n",
            "\n".join(entries_of),
            "## Events\n",
            "Objects of LangGraph's stream mode `custom`; `event` is the name, the other keys what was found.\n",
            table("event", "nodes that stream it", rows=events),
            "",
        ]
    )


def mappings(kind: Any) -> Iterator[Any]:
    """The typed mappings that a type holds, and those that they hold."""
    if is_typeddict(kind):
        yield kind
        inner: Iterable[Any] = get_type_hints(kind).values()
    else:
        inner = get_args(kind)
    for one in inner:
        yield from mappings(one)


def fields_of(kind: Any) -> str:
    """A section on a typed mapping: what it is, and its keys with what is written below each."""
    meanings: dict[str, str] = {}
    for one in reversed([kind, *bases_of(kind)]):
        body = ast.parse(textwrap.dedent(inspect.getsource(one))).body[0].body  # type: ignore[attr-defined]
        for field, told in pairwise([*body, None]):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                said = isinstance(told, ast.Expr) and isinstance(told.value, ast.Constant) and str(told.value.value)
                meanings[field.target.id] = " ".join(said.split()) if said else ""
    optional = kind.__optional_keys__
    rows = [
        [f"`{name}`", shown_type(of) + " (may be missing)" * (name in optional), cell(meanings.get(name, ""))]
        for name, of in get_type_hints(kind).items()
    ]
    if not any(meaning for *_, meaning in rows):
        return f"### {kind.__name__}\n\n{first_line(kind)}\n\n{table('key', 'type', rows=[row[:2] for row in rows])}\n"
    return f"### {kind.__name__}\n\n{first_line(kind)}\n\n{table('key', 'type', 'meaning', rows=rows)}\n"


def bases_of(kind: Any) -> Iterator[Any]:
    """The typed mappings that one inherits its keys from."""
    for one in get_original_bases(kind):
        if is_typeddict(one):
            yield from (one, *bases_of(one))


def shown_type(kind: Any) -> str:
    """A type as it is written, without modules."""
    text = kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)
    text = re.sub(r"[a-z_A-Z0-9]+\.(?=[a-zA-Z_])", "", text)
    text = re.sub(r"\bUnion\[([^\[\]]*)\]", lambda union: union[1].replace(", ", " | "), text)  # before Python 3.14
    return f"`{cell(text).replace('&lt;', '<')}`"


def routes() -> str:
    """The paths of `dramaturg serve`."""
    server = RoleServer(rooms=None, access=Access())  # type: ignore[arg-type]
    rows = [
        [f"`{one.path}`", ", ".join(sorted((one.methods or set()) - {"HEAD"})), cell(first_line(one.endpoint))]
        for one in server.app().routes
        if isinstance(one, Route)
    ]
    return "\n".join(
        [
            "# Routes\n",
            f"{WRITTEN} [A role in a chat client](../how-to/serve.md) says what a request may hold.\n",
            table("path", "methods", "what it gives", rows=rows),
            "",
        ]
    )


def first_line(function: Any) -> str:
    """What a function is for."""
    return (inspect.getdoc(function) or "").partition("\n\n")[0]


def errors() -> str:
    """Exit codes, and the typed errors with what to do."""
    codes = re.findall(
        r"(\d+) ([^;]+?)(?:;|\.$)", " ".join((inspect.getdoc(main) or "").partition("Exit codes: ")[2].split())
    )
    rows = []
    for module in (of_stores, of_models):
        for name, kind in vars(module).items():
            if inspect.isclass(kind) and issubclass(kind, Exception) and kind.__module__ == module.__name__:
                code = next((code for one, code in EXIT_CODES.items() if issubclass(kind, one)), 2)
                remedy = next(REMEDIES[one.__name__] for one in kind.__mro__ if one.__name__ in REMEDIES)
                rows.append([f"`{name}`", f"`{module.__name__}`", str(code), cell(first_line(kind)), remedy])
    return "\n".join(
        [
            "# Exit codes and errors\n",
            f"{WRITTEN} [Troubleshooting](../troubleshooting.md) goes by the message that you see.\n",
            "## Exit codes\n",
            table("code", "meaning", rows=[[code, cell(meaning)] for code, meaning in codes]),
            "\n## Errors\n",
            "All are kinds of `ValueError` or `RuntimeError`. On the command line each is one sentence.\n",
            table("error", "module", "exit code", "what happened", "what to do", rows=rows),
            "",
        ]
    )


PAGES = {"commands": commands, "settings": settings, "state": state, "routes": routes, "errors": errors}

if __name__ == "__main__":
    for title, written in PAGES.items():
        (FOLDER / f"{title}.md").write_text(written(), encoding="utf-8")
