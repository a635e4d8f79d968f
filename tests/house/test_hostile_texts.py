"""Sixty hostile texts, by number: on the page of `dramaturg serve`, and in what graph, relations and evaluate write.

None may run, ask anything of the network or become an element. The quick tests read the HTML that commands write; the
slow one shows all of it in Chromium. A text that runs calls `bad` with its number.
"""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from chat_clients import missing, page_at
from page_house import page_house

from dramaturg.cli.drawing.page import html as graph_page
from dramaturg.cli.drawing.relations import html as relations_page
from dramaturg.cli.drawing.relations import known_relations
from dramaturg.evaluation.reports.page import written_report
from dramaturg.nodes.dialogues.relations import RelationSettings
from dramaturg.server.pages import POLICY
from dramaturg.stores.index.graph import Entity, Relation, Statement
from dramaturg.stores.library import library_at
from dramaturg.workflows.methods import flow

from cast_roles import lines_of
from evaluations import evaluation_of, judge, library_of, speaker, taken
from graph_samples import knowledge
from roles import run_settings, small_role, write_memories
from scope_roles import player

SCRIPT, IMAGE, FRAME = (
    "<script>bad({n})</script>",
    "<img src=x onerror=bad({n})>",
    "<iframe srcdoc='<script>parent.bad({n})</script>'>",
)


class Case(NamedTuple):
    """A hostile text, and where it comes from."""

    number: int
    place: str
    text: str


TEXTS = (
    # the card and the files of a role
    ("name", SCRIPT),
    ("name", '"><svg onload=bad({n})>'),
    ("alias", IMAGE),
    ("profile", "<details open ontoggle=bad({n})>"),
    ("profile", "</title><script>bad({n})</script>"),
    ("heading", IMAGE),
    ("document", "<body onload=bad({n})>"),
    ("document", "<svg><script>bad({n})</script></svg>"),
    ("document", "[x](javascript:bad({n}))"),
    ("document", '![x](x" onerror="bad({n}))'),
    ("file", "<img src=x onerror=bad({n})>"),
    ("file", "'onmouseover='bad({n})"),
    # what is said, and the titles of talks
    ("message", SCRIPT),
    ("message", IMAGE),
    ("message", "<base href='//evil.example/{n}'>"),
    ("message", "{{{{constructor.constructor('bad({n})')()}}}}"),
    ("message", "<input autofocus onfocus=bad({n})>"),
    ("reply", SCRIPT),
    ("reply", FRAME),
    ("reply", '<a href="javascript:bad({n})">x</a>'),
    ("reply", "<math><mi xlink:href='javascript:bad({n})'>x</mi></math>"),
    ("reply", "<style>@import '//evil.example/{n}'</style>"),
    ("reply", "<link rel=stylesheet href=//evil.example/{n}>"),
    ("thread", IMAGE),
    ("thread", "'\"><script>bad({n})</script>"),
    ("address", SCRIPT),
    ("address", "javascript:bad({n})"),
    ("address", '"onload="bad({n})'),
    # errors
    ("error", IMAGE),
    ("error", "<svg onload=bad({n})>"),
    ("error", "<form action=javascript:bad({n})><button autofocus>x</button></form>"),
    # evidence, of the form that it should have and of others
    ("passage", SCRIPT),
    ("passage", "<noscript><img src=x onerror=bad({n})></noscript>"),
    ("source", IMAGE),
    ("verdict", "<object data='javascript:bad({n})'>"),
    ("entity", SCRIPT),
    ("entity", "<embed src='javascript:bad({n})'>"),
    ("mood", IMAGE),
    ("memory", "<video><source onerror=bad({n})></video>"),
    ("clique", IMAGE),
    ("edge", "<svg><animate onbegin=bad({n}) attributeName=x dur=1s>"),
    ("draft", "<template><script>bad({n})</script></template>"),
    ("gate", "<marquee onstart=bad({n})>"),
    ("triple", IMAGE),
    ("node", SCRIPT),
    ("kind", "<img src=x onerror=bad({n})>"),
    ("fallback", IMAGE),
    # knowledge graphs and relations
    ("graph name", "</script><script>bad({n})</script>"),
    ("graph name", "<!--<script>bad({n})//"),
    ("graph description", "\u2028</script ><img src=x onerror=bad({n})>"),
    ("graph relation", "<svg><set onbegin=bad({n})>"),
    ("graph source", "]]></script><script>bad({n})</script>"),
    ("speaker", "</title></script><script>bad({n})</script>"),
    ("speaker", "url(javascript:bad({n}))"),
    ("line", "&lt;img src=x onerror=bad({n})&gt;<img src=x onerror=bad({n})>"),
    ("scene", "${{bad({n})}}<script>bad({n})</script>"),
    # evaluations
    ("question", "`</code><script>bad({n})</script>`|<img src=x onerror=bad({n})>"),
    ("answer", "<script>bad({n})</script>"),
    ("judge", '"><img src=x onerror=bad({n})>'),
    ("judged", "</p><script>bad({n})</script>[x](javascript:bad({n})) ![x](//evil.example/{n})"),
)
CASES = tuple(Case(n, place, text.format(n=n)) for n, (place, text) in enumerate(TEXTS, start=1))


def of(*places: str) -> list[str]:
    """The texts of some places."""
    return [one.text for one in CASES if one.place in places]


ALL = [one.text for one in CASES]


def test_there_are_sixty_and_each_has_its_own_number() -> None:
    assert len(CASES) == 60
    assert all(str(one.number) in one.text for one in CASES)


# What commands write


def drawn_graph() -> bytes:
    """The page of a graph in which everything is hostile."""
    names = [*of("graph name"), *of("entity", "name")]
    kept = tuple(Statement(text=one, passage="p1", source=one, start=4, end=18) for one in ALL)
    entities = [
        Entity(name=one, type="character", description=" ".join(ALL), names=(one, f"{one} too"), statements=kept)
        for one in names
    ]
    relations = [
        Relation(source=names[0], target=other, description=one, strength=3, statements=kept)
        for one, other in zip(ALL, names[1:], strict=False)
    ]
    return graph_page(knowledge(entities, relations), names[0])


async def drawn_relations(folder: Path) -> bytes:
    """The page of relations of a role all of whose scenes and speakers are hostile."""
    small_role(folder)
    one, other = of("speaker")
    scenes = {text: ((one, text), ("Ada Quill", text), (other, text)) for text in ALL}
    write_memories(folder / "ada", (), dialogue=lines_of(scenes))
    settings = run_settings(folder, player())
    context: Any = flow("drmr").context.model_validate({**settings, "user_role": one})
    for prepared in flow("drmr").preparations(context).values():
        await prepared.graph.ainvoke({"rebuild": False}, context=prepared.context)
    return await run_here(folder, one)


async def run_here(folder: Path, user: str) -> bytes:
    """`relations` opens its role in an event loop of its own."""
    import asyncio

    context = RelationSettings(role="ada", library=library_at(folder), user_role=user)
    return await asyncio.to_thread(lambda: relations_page(known_relations(context)))


async def drawn_report(folder: Path) -> bytes:
    """The report of an evaluation whose questions, answers, replies, reasons and judge are hostile."""
    library = library_of(folder / "library")
    rows = [{"question": one, "answer": other, "scope": "in"} for one in of("question") for other in of("answer")]
    (library / "ada" / "questions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    texts = iter(ALL * 100)
    marker = judge(lambda _: True, of("judge")[0])
    said = marker.reply
    marker.reply = lambda messages: " ".join(of("judged")) if len(messages) == 2 else said(messages)
    evaluation = evaluation_of(library, speaker(lambda _: next(texts) + " ".join(ALL)), (marker,))
    await taken(evaluation)
    return next(one for one in written_report(evaluation.folder) if one.suffix == ".html").read_bytes()


@pytest.fixture(params=["graph", "relations", "evaluate"])
async def written(request: pytest.FixtureRequest, tmp_path: Path) -> bytes:
    """What a command writes."""
    if request.param == "graph":
        return drawn_graph()
    return await (drawn_relations if request.param == "relations" else drawn_report)(tmp_path)


class Elements(HTMLParser):
    """The elements of a page, and the text outside of its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


KNOWN = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "canvas",
        "g",
        "p",
        "div",
        "button",
        "aside",
        "h1",
        "input",
    ),
    *("fieldset", "legend", "ul", "section", "noscript", "script", "header", "nav", "a", "h2", "h3", "table", "thead"),
    *(
        "tbody",
        "tr",
        "th",
        "td",
        "small",
        "details",
        "summary",
        "li",
        "blockquote",
        "pre",
        "figure",
        "figcaption",
        "img",
    ),
    *("em", "strong", "code", "ol", "hr", "br"),
}


async def test_no_text_becomes_an_element_and_the_policy_is_strict(written: bytes) -> None:
    found = Elements(written.decode()).found
    assert {tag for tag, _ in found} <= KNOWN
    assert sum(tag == "script" for tag, _ in found) in (0, 2)
    (policy,) = (given["content"] for tag, given in found if "http-equiv" in given)
    assert policy is not None
    assert "default-src 'none'; base-uri 'none'; form-action 'none';" in policy
    assert not re.search(r"unsafe|https?:|\*|blob:", policy)
    for tag, given in found:
        assert not [
            name for name in given if name.startswith("on") or name in ("srcdoc", "style", "action", "xlink:href")
        ]
        assert (given.get("href") or "#").startswith("#"), given
        if tag == "img" and not (given.get("src") or "").startswith("data:image/"):
            assert "img-src data:;" in policy  # a picture that a judge's Markdown names is not fetched


def test_the_policy_of_the_served_page_is_strict() -> None:
    rules = dict(rule.split(" ", 1) for rule in POLICY.split("; "))
    nobody = ("default-src", "base-uri", "form-action", "frame-ancestors")
    assert {rules[name] for name in nobody} == {"'none'"}
    assert {rules[name] for name in ("script-src", "style-src", "connect-src", "img-src")} == {"'self'"}
    assert rules["require-trusted-types-for"] == "'script'"
    assert rules["trusted-types"] == "'none'"
    assert not re.search(r"unsafe|https?:|\*|data:|blob:", POLICY)


# In a browser

IN_CHROMIUM = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing("playwright")), reason=missing("playwright")),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def browsed(test: Any) -> Any:
    """A test that needs Chromium."""
    for mark in IN_CHROMIUM:
        test = mark(test)
    return test


async def watched(page: Any) -> tuple[list[int], list[str]]:
    """The numbers of the texts that run, and what the page asks for, from now on."""
    ran: list[int] = []
    asked: list[str] = []
    await page.expose_function("bad", lambda number: ran.append(number))
    page.on("request", lambda one: asked.append(one.url))
    return ran, asked


def answering(status: int, said: Any) -> Any:
    """What answers a request of the page in the place of the server."""

    async def answer(route: Any) -> None:
        await route.fulfill(status=status, json=said)

    return answer


@browsed
async def test_what_a_command_writes_runs_nothing_in_chromium(written: bytes, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_bytes(written)
    async with page_at(file.as_uri()) as page:
        ran, asked = await watched(page)
        await page.reload()
        for one in await page.locator("details").element_handles():
            await one.evaluate("(one) => { one.open = true }")
        search = page.locator("[type=search]")
        if await search.count():  # its own script runs under the policy
            assert await page.inner_text("#title")
            await search.fill("a")
            for at in range(await page.locator(".hits button").count()):
                await page.locator(".hits button").nth(at).click()
                await page.locator(".detail li button").first.click()
        await page.wait_for_timeout(300)
        assert ran == []
        assert {url for url in asked if not url.startswith("data:")} <= {file.as_uri()}


PASSAGES = zip(of("passage", "document"), (of("source") + of("file")) * 9, strict=False)
HOSTILE: dict[str, Any] = {
    "talk": [{"text": one, "when": one, "talk": one, "turn": one, "place": 1, "by_words": one} for one in ALL],
    "facts": [{"about": one, "text": one, "replaces": [one]} for one in ALL],
    "selection": {
        "selected": [{"text": text, "source": one, "headings": [one, text], "passage": one} for text, one in PASSAGES],
        "verdicts": [{"passage": one, "certainty": 0.5} for one in of("verdict", "source")],
        "judged": of("verdict")[0],
        "fallback": of("fallback")[0],
    },
    "entities": [{"name": one, "type": one, "strategy": one, "certainty": one, "reason": one} for one in of("entity")],
    "mood": {"emotions": {one: {"score": one} for one in of("mood")}},
    "memories": [{"text": one, "emotions": {"joy": one}} for one in of("memory")],
    "relations": {
        "clique": [*of("clique"), *of("speaker")],
        "edges": [{"roles": of("speaker"), "score": one} for one in of("edge")],
    },
    "drafts": [{"text": one, "reason": one} for one in of("draft")],
    "gate": {"attempts": [{"verdict": one, "text": one} for one in of("gate")]},
    "identity": {"how": of("gate")[0], "triples": [{"sentence": one, "kind": one} for one in of("triple")]},
    "some_error": of("fallback")[0],
}
"""Evidence of every kind, as the page asks for it."""


@browsed
async def test_nothing_runs_on_the_served_page(tmp_path: Path) -> None:
    """As names, files, messages, replies, threads, evidence of any form, errors and addresses."""
    hostile = {
        "reply": lambda _: " ".join(of("reply")),
        "findings": json.dumps(
            {"belief_and_value": [{"attribute": one, "passage": 1} for one in ALL[:8]], "psychological_traits": []}
        ),
    }
    async with page_house(tmp_path, parts=hostile, settings={"redraws": 0}) as house:
        page = house.page
        ran, asked = await watched(page)
        role = tmp_path / "library" / "ada"
        given = {"name": " ".join(of("name")), "aliases": of("alias"), "profile": "\n".join(of("profile"))}
        card = yaml.safe_load((role / "role.yaml").read_text())
        (role / "role.yaml").write_text(yaml.safe_dump(card | given))
        (role / "persona" / f"{of('file')[1]}.md").write_text(f"# {of('heading')[0]}\n\n" + "\n\n".join(of("document")))
        await page.reload()
        await page.wait_for_selector(".roles li")
        await house.open(" ".join(of("name")))
        for one in of("message"):
            await house.page.fill("#say", one)
            await house.page.press("#say", "Enter")
            await house.settled()
        assert [question for question, _ in await house.shown()] == of("message")
        for one in of("thread"):  # talks that a chat client has named
            body = {"model": "ada", "messages": [{"role": "user", "content": one}]}
            named = await house.http.post("/v1/chat/completions", json=body, headers={"X-Role-Thread": one})
            assert named.is_success, named.text
        await page.evaluate("dispatchEvent(new Event('focus'))")
        await house.menu("#open-memory")
        await page.wait_for_selector("#memory li")
        assert "bad(" in await page.inner_text("#memory")
        said = [{"who": "human", "name": one, "text": one} for one in ALL]
        entry = {"thread": ALL[0], "here": False, "of": "ada", "turn": ALL[1], "at": ALL[2], "said": said}
        heard = entry | {"of": f"scene:{ALL[0]}"}
        known = {"keeps": True, "others": True, "total": 2, "data": [entry, heard]}
        known["notes"] = [{"id": one, "text": one} for one in ALL]
        await page.route("**/remembered?*", answering(200, known))
        await page.fill("#search-memory", ALL[0])
        await page.wait_for_selector("#memory .badge.some")
        await house.menu("#open-memory")
        usage = {one: {"calls": one} for one in of("node")}
        kinds = {one: {"memories": [{"text": one}]} for one in of("kind")}
        told = {"evidence": HOSTILE | kinds, "usage": usage, "question": ALL[0], "reply": ALL[1]}
        await page.route("**/turns/*", answering(200, told))
        await house.page.locator(".ask-why").last.click()
        await house.page.wait_for_selector("#why-body .because")
        await page.locator("#why-body .counted > summary").click()
        await page.locator("#why-body .counted .rest summary").click()
        for one in of("error"):
            wrong = {"error": {"message": one, "type": one, "code": one}}
            await page.route("**/chat/completions", answering(409, wrong))
            await house.page.fill("#say", "one more")
            await house.page.press("#say", "Enter")
            await house.settled()
            assert "bad(" in await page.inner_text("main")
            await page.unroute("**/chat/completions")
        for one in (*of("address"), *of("thread")):
            await page.evaluate("(one) => { location.hash = '#role=' + one + '&thread=' + one }", one)
            await page.reload()
            await page.wait_for_selector(".roles li, #turns > li")
        assert ran == []
        assert {url.split("/")[2] for url in asked} == {page.url.split("/")[2]}
        assert await page.locator("main script, main iframe, main object, main img, main base, main a").count() == 0
