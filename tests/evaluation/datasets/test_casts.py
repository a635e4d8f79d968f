"""Datasets as roles of a library: what each role knows, what is held back, and folders that are not as they must be."""

import json
import os
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import pytest
import tiny_datasets as tiny

from dramaturg.evaluation.datasets import cast as casts
from dramaturg.evaluation.datasets.cast import Cast, placed, put_into, role_id
from dramaturg.evaluation.datasets.casting import CASTS, asked_of, cast_of
from dramaturg.evaluation.datasets.catalogue import DATASETS
from dramaturg.evaluation.datasets.folders import Wish, wish_of
from dramaturg.evaluation.datasets.persona_gym import TASKS
from dramaturg.evaluation.metrics.acting import acting_score
from dramaturg.stores.errors import RoleError, RoleFileError, StorageError
from dramaturg.stores.library import Library

from packed_documents import packed

SHARED = os.environ.get("DRAMATURG_SHARED_DATA")
DATA = Path(SHARED or "")
shared = pytest.mark.skipif(not SHARED, reason="set DRAMATURG_SHARED_DATA to the folder of shared data")


def fetched(name: str) -> pytest.MarkDecorator:
    """With the files of a dataset as `dramaturg dataset fetch` brings them, where they are among the shared data."""
    return pytest.mark.skipif(not (SHARED and (DATA / name).is_dir()), reason=f"fetch {name} into the shared data")


MAKERS = {one.__name__: one for one in (tiny.charactereval, tiny.rolebench, tiny.character_llm, tiny.coser)}
ADA = "ada"


def cast_in(name: str, folder: Path, *only: str, profiles: str = "") -> Cast:
    return cast_of(Wish(name, folder, only, profiles))


def made(cast: Cast, folder: Path) -> Library:
    library = Library(folder / "library")
    put_into(cast, placed(cast, [*cast.members], library), library)
    return library


def test_each_dataset_has_its_cast() -> None:
    assert CASTS.keys() == DATASETS.keys()


def test_charactereval_knows_the_scenes_that_are_not_asked_about(tmp_path: Path) -> None:
    cast = cast_in("charactereval", tiny.charactereval(tmp_path))
    library = made(cast, tmp_path)
    role = library.role(role_id("charactereval", "阿灯"))
    assert (role.id, role.card.name, role.card.language) == ("charactereval-u963fu706f", "阿灯", "zh")
    assert role.card.aliases == ("陈阿灯",)
    assert role.card.profile == "姓名：陈阿灯。身份：守灯人。性格：沉静而固执。"
    assert "no licence" in role.card.sources[1]
    (document,) = role.documents()
    assert document.text.startswith("# 阿灯\n\n## 姓名\n\n陈阿灯\n")
    assert "## 人物关系\n\n- 弟弟：老汤\n" in document.text
    assert len({line.scene for line in role.dialogues()}) == 8
    assert len(role.dialogues()) == 8 * 5  # what both dialogues of a scene hold stands there once
    assert {one.id for one in cast.dataset.questions} == {"8", "9", "18", "19"}
    assert cast.notes == ["2 of 10 scenes are held back, to be asked about"]


@pytest.mark.parametrize("name", ["charactereval", "coser"])
def test_nothing_that_is_asked_is_known(tmp_path: Path, name: str) -> None:
    cast = cast_in(name, MAKERS[name](tmp_path))
    known = {line.text for one in cast.members.values() for scene in one.scenes for line in scene.lines}
    asked = {
        line for one in cast.dataset.questions for line in (one.answer, *(turn.text for turn in one.turns)) if line
    }
    assert len(asked) > 1
    assert known
    assert not {line for line in asked if len(line) > 12} & known


def test_a_book_of_coser_has_plots_to_learn_from(tmp_path: Path) -> None:
    cast = cast_in("coser", tiny.coser(tmp_path))
    library = made(cast, tmp_path)
    role = library.role("coser-ada")
    assert [line.text for line in role.dialogues()][:2] == [
        "Is the lamp lit, on night 0?",
        "(nods) It is lit, on night 0.",
    ]
    assert {line.speaker for line in role.dialogues()} == {"Ada", "Tom"}
    assert [(one.text, one.when) for one in role.memories()] == [
        (f"Ada lit the lamp on night {number}.", f"Night {number}") for number in range(2)
    ]
    assert [(one.role, one.answer) for one in cast.dataset.questions] == [
        ("Tom", "Is the lamp lit, on night 2?"),
        ("Ada", "(nods) It is lit, on night 2."),
    ]


@pytest.mark.parametrize(
    ("extra", "joined"),
    [
        (["Duke of Albany", "Albany"], {"coser-duke-of-albany": ("Albany",)}),
        (["Duke of Albany", "Earl of Albany", "Albany"], {"coser-albany": ()}),  # who is meant is not said
        (["Duke of Albany", "Albanyshire"], {"coser-albanyshire": ()}),
    ],
)
def test_a_name_that_is_in_no_plot_is_that_of_the_one_person_whose_name_has_it(
    tmp_path: Path, extra: list[str], joined: dict[str, tuple[str, ...]]
) -> None:
    tiny.coser(tmp_path)
    file = tmp_path / "The Light.json"
    book: Any = json.loads(file.read_text(encoding="utf-8"))
    book["character_datasets"] |= {name: {"profile": f"{name} is brave."} for name in extra}
    for name in extra[:-1]:
        book["plots"][0]["key_characters"].append({"name": name, "experience": f"{name} came to the rock."})
    tiny.put(file, book)
    cast = cast_in("coser", tmp_path)
    assert {role: cast.members[role].aliases for role in joined} == joined
    one = cast.members["coser-duke-of-albany"]
    assert ("profile of Albany" in one.documents) == bool(one.aliases)
    assert cast.chosen(["Albany"] if one.aliases else ["Duke of Albany"]) == ["coser-duke-of-albany"]


def test_two_books_of_coser_do_not_mix(tmp_path: Path) -> None:
    cast = cast_in("coser", tiny.coser(tiny.coser(tmp_path), "The Fog"))
    assert [*cast.members] == ["coser-the-fog-ada", "coser-the-fog-tom", "coser-the-light-ada", "coser-the-light-tom"]
    library = made(cast, tmp_path)
    for role in map(library.role, cast.members):
        (question,) = cast.dataset.of_role(role.id, role.card.name, *role.card.aliases)
        assert (question.id.startswith("The Fog"), cast.questions(role.id)) == ("the-fog" in role.id, 1)


def test_whoever_is_in_the_conversations_of_cosers_test_is_a_role_of_each_book(tmp_path: Path) -> None:
    cast = cast_in("coser_test", tiny.coser_test(tmp_path))
    assert {role: (one.name, one.aliases) for role, one in cast.members.items()} == {
        "coser-test-the-light-ada": ("Ada", ()),
        "coser-test-the-light-tom": ("Tom", ()),
        "coser-test-the-light-tom-pike": ("Tom Pike", ()),
        "coser-test-the-fog-ada": ("Ada", ()),
    }
    assert cast.chosen(["Ada"]) == ["coser-test-the-light-ada", "coser-test-the-fog-ada"]
    light = [one for one in cast.dataset.questions if "light" in one.role]
    assert [(one.id, one.role[21:], one.user_role, one.answer) for one in light] == [
        ("The Light (#1)-0-0.1", "tom", "Environment", "Is the lamp lit?"),
        ("The Light (#1)-0-0.2", "ada", "Tom", "(nods) It is."),
        ("The Light (#1)-0-0.3", "tom", "Ada", "Good."),
        ("The Light (#1)-0-0.4", "ada", "Tom", "Night 0."),
        ("The Light (#1)-1-0.1", "tom-pike", "Environment", "Is the lamp lit?"),
        ("The Light (#1)-1-0.3", "tom-pike", "Ada", "Good."),
    ]
    assert light[1].context == "A gale, the 0.\n\nKeeper 0.\n\nI must stay awake."
    assert "1 characters are not described" in cast.notes[0]
    documents = made(cast, tmp_path).role("coser-test-the-light-tom-pike").documents()
    assert [one.text for one in documents] == ["# Tom Pike\n\nA man.\n"]


@fetched("coser_test")
def test_the_two_hundred_conversations_of_coser_become_roles(tmp_path: Path) -> None:
    cast = cast_in("coser_test", DATA / "coser_test" / "data" / "test")
    assert (len(cast.members), len({one.labels["book"] for one in cast.dataset.questions})) == (314, 100)
    assert len(cast.dataset.questions) == 2040


@fetched("coser_test")
def test_the_released_judgements_of_acting_give_the_released_scores() -> None:
    """All severities there are whole numbers, so that a flaw that the authors' code drops makes no difference."""
    told = json.loads((DATA / "coser_test" / "exp" / "evaluation" / "test_set_gpt-4o.json").read_text())
    means = dict[str, list[float]]()
    for case in told["cases"].values():
        rounds = sum(one["role"] != "Environment" for one in case["simulation"])
        for dimension, one in case["critique"].items():
            if isinstance(one, dict):
                score = acting_score([flaw["severity"] for flaw in one["flaws"]], rounds)
                assert score == pytest.approx(one["score"], abs=1e-12)
                means.setdefault(dimension, []).append(score)
    found = {dimension: sum(of) / len(of) for dimension, of in means.items()}
    assert found == pytest.approx({dimension: told["scores"][dimension] for dimension in found})
    assert (len(found), sum(found.values()) / 4) == (4, pytest.approx(told["scores"]["avg"]))


def test_rolebench_learns_from_one_part_and_is_asked_the_other(tmp_path: Path) -> None:
    cast = cast_in("rolebench", tiny.rolebench(tmp_path))
    role = made(cast, tmp_path).role("rolebench-ada")
    assert [(one.question, one.answer) for one in role.memories()] == [
        ("Where do you live?", "In the tower of the light.")
    ]
    assert [one.text for one in cast.dataset.questions] == ["Who is Tom?", "Fog?"]
    assert "1 of 1 roles have no persona" in cast.notes[0]


def test_the_release_of_rolebench_on_the_hub_has_descriptions(tmp_path: Path) -> None:
    cast = cast_in("rolebench", tiny.rolebench(tmp_path, "Ada", "Tom"))
    documents = made(cast, tmp_path).role("rolebench-tom").documents()
    assert [one.text for one in documents] == ["# Tom\n\nTom is silent.\n"]
    assert (cast.notes, len(cast.dataset.questions), "Apache-2.0" in cast.licence) == ([], 4, True)


def test_a_character_of_timechara_is_asked_at_points_of_its_story(tmp_path: Path) -> None:
    cast = cast_in("timechara", tiny.timechara(tmp_path))
    role = made(cast, tmp_path).role("timechara-ada-reed")
    assert (role.card.name, role.card.profile) == ("Ada Reed", "Ada Reed is silent.")
    assert [(one.id, one.attribute, one.scope, one.context, one.labels["fact"]) for one in cast.dataset.questions] == [
        (
            "test 1",
            "future",
            "out",
            "It is at dusk, in the 1st year of the light. Nothing of what comes later has happened yet.",
            "future: Ada Reed keeps to it.",
        ),
        (
            "test 2",
            "past-absence",
            "in",
            "It is the end, in volume 2 of the light. Nothing of what comes later has happened yet.",
            "past-absence: Ada Reed keeps to it.\nAbsence: not there.",
        ),
        (
            "test 3",
            "past-only",
            "in",
            "It is the end, in volume 2 of the light. Nothing of what comes later has happened yet.",
            "past-only: Ada Reed keeps to it.",
        ),
    ]


def test_a_persona_of_persona_gym_is_the_name_of_its_file(tmp_path: Path) -> None:
    cast = cast_in("persona_gym", tiny.persona_gym(tmp_path))
    (role,) = map(made(cast, tmp_path).role, cast.members)
    assert role.card.name == "A keeper of a light, fond of tea"
    assert role.card.profile == "A keeper of a light, fond of tea."
    asked = cast.dataset.of_role(role.id, role.card.name)
    assert len(asked) == 5
    assert {one.attribute for one in asked} == {one.labels["task"] for one in asked} == {*TASKS}


def test_situations_of_ping_pong_are_brought_about_by_a_user(tmp_path: Path) -> None:
    cast = cast_in("ping_pong", tiny.ping_pong(tmp_path))
    role = made(cast, tmp_path).role("ping-pong-ada-reed")
    (document,) = role.documents()
    assert document.text == "# Ada Reed\n\nAda Reed is silent.\n\n## How Ada Reed talks\n\nA: …\n"
    told = [(one.text, one.labels["aim"], one.attribute) for one in cast.dataset.questions]
    assert told == [("Ask for tea.", "Ask for tea.", "tea"), ("Begin a fight.", "Begin a fight.", "")]
    assert cast.notes == ["left out: 2 of: a situation in another language than those that roles speak"]


@fetched("ping_pong")
def test_the_characters_of_ping_pong_become_roles(tmp_path: Path) -> None:
    cast = cast_in("ping_pong", DATA / "ping_pong")
    assert (len(cast.members), len(cast.dataset.questions)) == (8, 64)


@fetched("persona_gym")
def test_the_two_hundred_personas_become_roles(tmp_path: Path) -> None:
    cast = cast_in("persona_gym", DATA / "persona_gym")
    assert (len(cast.members), len(cast.dataset.questions)) == (200, 10_000)


@fetched("persona_gym")
def test_a_released_persona_score_is_the_mean_of_five_tasks_but_for_one() -> None:
    """That of claude_3_haiku is printed as 3.64, and its five are 3.84 in the mean."""
    off = dict[str, float]()
    for path in (DATA / "persona_gym" / "evaluations").glob("*/scores.json"):
        scores = json.loads(path.read_text())
        mean = sum(scores.values()) - scores["PersonaScore"]
        if abs(mean / 5 - scores["PersonaScore"]) > 0.0051:
            off[path.parent.name] = round(mean / 5, 2)
    assert off == {"20240710_claude_3_haiku": 3.84}


def test_profiles_come_from_another_dataset_with_its_licence(tmp_path: Path) -> None:
    other = tiny.character_llm(tmp_path / "other")
    cast = cast_in("rolebench", tiny.rolebench(tmp_path / "bench"), profiles=f"character-llm={other}")
    role = made(cast, tmp_path).role("rolebench-ada")
    assert next(one.text for one in role.documents()).startswith("# Ada Reed")
    assert any("CC BY-NC" in one for one in role.card.sources)
    assert len(role.memories()) == 1
    assert cast.notes == []


def test_character_llm_is_asked_everything(tmp_path: Path) -> None:
    cast = cast_in("character_llm", tiny.character_llm(tmp_path))
    role = made(cast, tmp_path).role("character-llm-ada")
    assert (role.card.name, role.card.aliases, role.card.profile) == (
        "Ada Reed",
        ("Ada",),
        "Ada keeps a light. She was born on the rock.",
    )
    assert [one.scope for one in cast.dataset.of_role(role.id, role.card.name, *role.card.aliases)] == ["in", "out"]


def test_a_folder_of_characterrag_is_a_role(tmp_path: Path) -> None:
    cast = cast_in("characterrag", tiny.characterrag(tmp_path))
    (role,) = (made(cast, tmp_path).role(one) for one in cast.members)
    assert (role.card.name, role.card.language, len(cast.dataset.questions)) == ("에이다", "ko", 2)


def test_incharacter_needs_profiles_and_names_whom_it_has_none_of(tmp_path: Path) -> None:
    folder = tiny.incharacter(tmp_path / "labels")
    with pytest.raises(ValueError, match=r"has no profiles: add --profiles FOLDER"):
        cast_in("incharacter", folder)
    tiny.put(tmp_path / "texts" / "Ada.md", "# Ada\n\nShe keeps a light.\n")
    cast = cast_in("incharacter", folder, profiles=str(tmp_path / "texts"))
    role = made(cast, tmp_path).role("incharacter-ada-en")
    assert (role.card.language, "ada-en" in role.card.aliases) == ("en", True)
    assert role.card.sources[-1] == "Profile: from texts"
    assert cast.notes == ["without a profile: ling-zh"]
    tiny.put(tmp_path / "none" / "Zoe.md", "# Zoe\n")
    with pytest.raises(ValueError, match="has no profile of anybody"):
        cast_in("incharacter", folder, profiles=str(tmp_path / "none"))


def test_a_novel_becomes_the_persona_of_whoever_is_named(tmp_path: Path) -> None:
    folder = tiny.novel(tmp_path / "books")
    cast = cast_in("novel", folder, "Ada Reed", "Tom")
    role = made(cast, tmp_path).role("novel-ada-reed")
    (document,) = role.documents()
    assert document.text == (
        "# The Light\n\n\n## CHAPTER I. The Rock\n\nAda Reed kept the light, and nobody else did.\n\n"
        " no heading of ours\n\n## CHAPTER II. The Fog\n\nTom brought flour on Tuesdays.\n"
    )
    assert (cast.questions("novel-ada-reed"), cast.questions("novel-tom")) == (1, 0)
    assert len(asked_of(f"novel={folder}").questions) == 1
    with pytest.raises(ValueError, match="name one or more with --only"):
        cast_in("novel", folder)
    with pytest.raises(ValueError, match="speaks of 'Zoe'"):
        cast_in("novel", folder, "Zoe")


@pytest.mark.parametrize(
    "line", ["CHAPTER XII", "Chapter 3: The Fog", "Stave One", "第十二回 雾", "第3章", "IV.", "Epilogue", "제 3 장"]
)
def test_beginnings_of_chapters_are_known(tmp_path: Path, line: str) -> None:
    book = tiny.put(tmp_path / "a.txt", f"Ada.\n\n{line}\n\nShe slept.\n")
    (document,) = cast_in("novel", book.parent, "Ada").members["novel-ada"].documents.values()
    assert f"\n## {line}\n" in document


@pytest.mark.parametrize("line", ["Ada went away.", "I", "Book", "chapter and verse are given", "in 1820"])
def test_other_lines_begin_none(tmp_path: Path, line: str) -> None:
    book = tiny.put(tmp_path / "a.txt", f"Ada.\n\nShe\n{line}\nslept.\n\n{line} said she\n")
    (document,) = cast_in("novel", book.parent, "Ada").members["novel-ada"].documents.values()
    assert "## " not in document


def epub(pages: dict[str, str], links: list[str]) -> bytes:
    items = "".join(
        f'<item id="p{n}" href="{link}" media-type="application/xhtml+xml"/>' for n, link in enumerate(links)
    )
    order = "".join(f'<itemref idref="p{n}"/>' for n in range(len(links)))
    opf = f"<package><manifest>{items}</manifest><spine>{order}</spine></package>"
    container = '<container><rootfiles><rootfile full-path="o/b.opf"/></rootfiles></container>'
    return packed({"META-INF/container.xml": container, "o/b.opf": opf, **pages})


@pytest.mark.crash
def test_an_epub_leads_nowhere_and_has_a_bound(tmp_path: Path) -> None:
    """A link with `..` finds only what is in the book; what unpacks to more than it may is refused."""
    secret = tiny.put(tmp_path / "secret.xhtml", "<p>Not for you.</p>")
    page = "<h1>I</h1><p>Ada kept the light.</p>"
    book = tmp_path / "books" / "light.epub"
    book.parent.mkdir()
    outside = f"../../{secret.name}", str(secret), "../" * 20 + str(secret)[1:]
    book.write_bytes(epub({"o/1.xhtml": page, "../evil.xhtml": "<p>Evil.</p>"}, ["1.xhtml", *outside]))
    cast = cast_in("novel", book.parent, "Ada")
    (document,) = cast.members["novel-ada"].documents.values()
    assert document.strip() == "# I\n\nAda kept the light."
    assert not (tmp_path / "evil.xhtml").exists()
    bomb = BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(11):
            archive.writestr(f"{number}.xhtml", bytes(30_000_000))
    book.write_bytes(bomb.getvalue())
    assert book.stat().st_size < 1_000_000
    with pytest.raises(RoleFileError, match=r"light.epub holds more than .* bytes"):
        cast_in("novel", book.parent, "Ada")


BROKEN: dict[str, tuple[Callable[[Path], Path], str, str, str]] = {
    "charactereval": (tiny.charactereval, "data/test_data.jsonl", "[\n{]", "data/test_data.jsonl, line 2"),
    "charactereval, entry": (tiny.charactereval, "data/test_data.jsonl", '[{"id": 1}]', "test_data.jsonl, entry 1"),
    "rolebench": (tiny.rolebench, "rolebench-eng/role_specific/train.jsonl", "{}\n{", "train.jsonl, line 2"),
    "coser": (tiny.coser, "The Light.json", '{"plots": [}', "The Light.json, line 1"),
    "coser_test": (tiny.coser_test, "data/test/test_set.json", "[\n{]", "test/test_set.json, line 2"),
    "character_llm": (tiny.character_llm, "questions/generated_agent_interview_Ada.json", "[{", "Ada.json, line 1"),
    "characterrag": (tiny.characterrag, "에이다/qa.jsonl", '{"question": "a"}', "qa.jsonl, line 1"),
    "incharacter": (tiny.incharacter, "characters.json", '{"ada-en": 1}', "characters.json"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_file_that_is_damaged_is_named_with_its_line(tmp_path: Path, case: str) -> None:
    maker, file, text, told = BROKEN[case]
    (maker(tmp_path / "d") / file).write_text(text, encoding="utf-8")
    with pytest.raises(RoleFileError) as raised:
        cast_in(case.partition(",")[0], tmp_path / "d", profiles=str(tmp_path))
    assert told in str(raised.value)


@pytest.mark.parametrize("name", [*DATASETS])
def test_a_folder_without_the_dataset_is_said(tmp_path: Path, name: str) -> None:
    tiny.put(tmp_path / "d" / "notes.csv", "a,b\n")
    with pytest.raises((RoleFileError, ValueError), match="d "):
        cast_in(name, tmp_path / "d", "Ada", profiles=str(tmp_path))
    with pytest.raises(RoleFileError, match="is no folder"):
        cast_in(name, tmp_path / "nowhere")


def test_who_is_not_there_is_said_with_who_is_near(tmp_path: Path) -> None:
    cast = cast_in("coser", tiny.coser(tmp_path))
    assert cast.chosen(["tom", "coser-ada", "Tom"]) == ["coser-tom", "coser-ada"]
    with pytest.raises(ValueError, match="did you mean 'Ada'"):
        cast.chosen(["Adda"])


def test_a_role_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    cast = cast_in("coser", tiny.coser(tmp_path))
    library = made(cast, tmp_path)
    assert [one.state for one in placed(cast, [*cast.members], library)] == ["there", "there"]
    profile = library.role("coser-ada").root / "persona" / "profile.md"
    profile.write_text("# Mine\n")
    found = placed(cast, [*cast.members], library)
    put_into(cast, found, library)
    assert [one.state for one in found] == ["edited", "there"]
    assert profile.read_text() == "# Mine\n"
    (library.root / "coser-ada" / "role.yaml").write_text("name: Ada\n")
    with pytest.raises(RoleError, match="not made of CoSER"):
        placed(cast, ["coser-ada"], library)


def test_roles_are_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cast, library, written = cast_in("coser", tiny.coser(tmp_path)), Library(tmp_path / "library"), list[str]()

    def full(path: str, mode: str, **more: Any) -> IO[Any]:
        if len(written) == 5:
            raise OSError(28, "no space")
        written.append(path)
        return open(path, mode, **more)  # noqa: PTH123

    monkeypatch.setattr("dramaturg.stores.files.open", full, raising=False)
    with pytest.raises(StorageError, match="no space"):
        put_into(cast, placed(cast, [*cast.members], library), library)
    assert len(written) == 5
    assert library.roles() == []
    assert not library.root.exists() or not [*library.root.iterdir()]


def test_nobody_is_asked_what_was_said_by_a_namesake_without_a_profile(tmp_path: Path) -> None:
    tiny.coser(tiny.coser(tmp_path, "The Fog"))
    file = tmp_path / "The Light.json"
    book = json.loads(file.read_text().replace('"Tom"', '"\u00c4da"'))
    book["character_datasets"] = {"\u00c4da": {"profile": "", "plots": []}, "Ada": {"profile": "Ada.", "plots": []}}
    file.write_text(json.dumps(book))
    cast = cast_in("coser", tmp_path)
    named = [one for one in cast.members if one.startswith("coser-the-light")]
    assert [cast.members[one].name for one in named] == ["Ada"]
    asked = [one for one in cast.dataset.questions if one.role == named[0]]
    assert asked
    assert all("It is lit" in str(one.answer) for one in asked)


def test_ids_are_those_of_folders_and_differ() -> None:
    assert role_id("character_llm", "Ludwig van Beethoven") == "character-llm-ludwig-van-beethoven"
    assert role_id("coser", "Élise / Mère") == "coser-elise-mere"
    assert role_id("rolebench", "张飞") == "rolebench-u5f20u98de"
    long = [role_id("charactereval", "长" * number) for number in (40, 41)]
    assert [len(one) for one in long] == [64, 64]
    assert len({*long}) == 2


def test_two_names_are_two_roles(tmp_path: Path) -> None:
    folder = tiny.charactereval(tmp_path)
    tiny.put(folder / "data" / "character_profiles.json", {"Ada Reed": {"a": "one"}, "Ada-Reed": {"a": "two"}})
    cast = cast_in("charactereval", folder)
    assert [one.name for one in cast.members.values()] == ["Ada Reed", "Ada-Reed"]
    assert len(made(cast, tmp_path).roles()) == 2


def test_names_and_paths_are_told_apart(tmp_path: Path) -> None:
    there = tmp_path / "a=b"
    there.mkdir()
    assert wish_of(str(there)) is None
    assert wish_of("/x/character-llm=/y") is None
    assert wish_of(f"Character-LLM={there}") == Wish("character_llm", there)
    with pytest.raises(ValueError, match="did you mean 'coser'"):
        wish_of("cosser=/x")


def test_profiles_hold_whole_sentences() -> None:
    assert casts.first_sentences("# A\n\nOne. Two is long. Three.", 17) == "One. Two is long."
    assert casts.first_sentences("一。二二。三", 4) == "一。"
    assert casts.first_sentences("no end" * 10, 12) == "no endno end"


@shared
@pytest.mark.parametrize(
    ("name", "folder", "roles", "questions"),
    [
        ("charactereval", "charactereval", 12, 191),
        ("rolebench", "rolebench", 4, 533),
        ("character_llm", "character_llm", 3, 269),
        ("coser", "coser_plays", 14, 15),
    ],
)
def test_the_real_ones_become_roles(tmp_path: Path, name: str, folder: str, roles: int, questions: int) -> None:
    cast = cast_in(name, DATA / folder)
    assert (len(cast.members), len(cast.dataset.questions)) == (roles, questions)
    library = made(cast, tmp_path)
    assert len(library.roles()) == roles
    for role in map(library.role, library.roles()):
        assert role.card.sources[0] == cast.title
        assert (role.documents(), role.dialogues(), role.memories()) != ([], [], []) or name == "rolebench"
    json.dumps([one.model_dump() for one in cast.dataset.questions])
