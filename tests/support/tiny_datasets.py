"""A tiny dataset in each form, made by hand: what a user's folder looks like, without a word of the real ones."""

import json
from pathlib import Path
from typing import Any


def put(path: Path, *values: object) -> Path:
    """Write a text, one JSON value, or JSON lines of several."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = values[0] if isinstance(values[0], str) else "\n".join(json.dumps(one, ensure_ascii=False) for one in values)
    path.write_text(str(text), encoding="utf-8")
    return path


def charactereval(folder: Path, scenes: int = 10) -> Path:
    """Scenes of two dialogues each, of which the second goes on with the first."""
    data = []
    for number in range(scenes):
        fog, lamp = f"今晚海上有雾，这是第{number}个夜晚了。", f"（点灯）第{number}盏灯已经点上了，你放心吧。"
        opening = f"老汤：{fog}\n阿灯：{lamp}\n老汤：油够吗？"
        more = f"\n阿灯：第{number}桶油还没有打开，够用到天亮。\n老汤：那我回去了。"
        about = {"role": "阿灯", "novel_name": "灯塔"}
        data += [
            {"id": 2 * number, "context": opening, **about},
            {"id": 2 * number + 1, "context": opening + more, **about},
        ]
    put(folder / "data" / "test_data.jsonl", data)
    profile = {
        "姓名": "陈阿灯",
        "身份": "守灯人",
        "性格": "沉静而固执。",
        "人物关系": {"弟弟": "老汤"},
        "经典台词": ["有雾。", "点灯。"],
    }
    put(folder / "data" / "character_profiles.json", {"阿灯": profile, "老汤": {"身份": "渔夫"}})
    put(folder / "data" / "id2metric.jsonl", {"8": [["Accuracy", "准"]]})
    return folder


def rolebench(folder: Path) -> Path:
    """Pairs to learn from and to be tested by, and a question that is in both."""

    def line(question: str, answer: str) -> dict[str, Any]:
        return {"role": "Ada", "question": question, "generated": [answer], "type": "script_based"}

    learned = [line("Who is Tom?", "My brother."), line("Where do you live?", "In the tower of the light.")]
    put(folder / "rolebench-eng" / "role_specific" / "train.jsonl", *learned)
    put(folder / "rolebench-eng" / "role_specific" / "test.jsonl", line("Who is Tom?", "Tom."), line("Fog?", "I ring."))
    put(folder / "rolebench-eng" / "general" / "test.jsonl", line("Translate: lamp.", "Lampe."))
    return folder


def character_llm(folder: Path) -> Path:
    """A profile with headings, and two questions, of which one is beyond the character."""
    put(
        folder / "profiles" / "wiki_Ada.txt",
        "# Ada Reed\n\nAda keeps a light.\n\n## Youth\n\nShe was born on the rock.\n",
    )
    questions = [
        {"topic_id": "t1", "topic": "interpersonal relationships", "question": "Who is Tom?"},
        {"topic_id": "t4", "topic": "difficult to answer without breaking character", "question": "Your phone?"},
    ]
    put(folder / "questions" / "generated_agent_interview_Ada.json", questions)
    return folder


def coser(folder: Path, name: str = "The Light") -> Path:
    """A book of three plots; the last one is the test's."""

    def plot(number: int) -> dict[str, Any]:
        lines = [
            {"character": "Environment", "message": f"Night {number} falls."},
            {"character": "Tom", "message": f"[He is late.] Is the lamp lit, on night {number}?"},
            {"character": "Ada", "message": f"(nods) It is lit, on night {number}."},
        ]
        conversation = {"scenario": "A gale.", "topic": "lamp", "key_characters": [], "dialogues": lines}
        people = [{"name": "Ada", "description": "keeper", "experience": f"Ada lit the lamp on night {number}."}]
        return {"chapter": f"Night {number}", "conversation": [conversation], "key_characters": people}

    people = {one: {"profile": f"{one} lives on the rock.", "plots": []} for one in ("Ada", "Tom")}
    book = {"plots": [plot(number) for number in range(3)], "character_datasets": people, "split_plot_index": 2}
    put(folder / f"{name}.json", book)
    return folder


def characterrag(folder: Path) -> Path:
    """A folder a role."""
    put(folder / "에이다" / "persona.md", "# 에이다\n\n에이다는 바위섬의 등대를 지키는 사람이다.\n")
    pair = {"question": "무엇을 지킵니까?", "answer": "등대입니다.", "attribute": "skill & expertise"}
    put(folder / "에이다" / "qa.jsonl", pair, {**pair, "question": "어디에 삽니까?"})
    return folder


def incharacter(folder: Path) -> Path:
    """Two characters, of whom one has scores."""
    person = {"alias": ["Ada", "Ada Reed"], "agent": {}, "experimenter": "Tom", "labels": {"MBTI": "INFJ"}}
    put(folder / "characters.json", {"ada-en": person, "ling-zh": {**person, "alias": ["阿玲"]}})
    label = {"ada-en": {"BFI": {"Openness": {"score": 4.5, "type": "H"}}}}
    put(folder / "characters_labels.json", {"pdb": label, "annotation": label})
    return folder


def novel(folder: Path) -> Path:
    """A book as Project Gutenberg gives it, with a question beside it."""
    text = (
        "The Project Gutenberg eBook of The Light\n\nTitle: The Light\n\n"
        "*** START OF THE PROJECT GUTENBERG EBOOK THE LIGHT ***\n\n"
        "CHAPTER I. The Rock\n\nAda Reed kept the light, and nobody else did.\n\n# no heading of ours\n\n"
        "CHAPTER II. The Fog\n\nTom brought flour on Tuesdays.\n\n"
        "*** END OF THE PROJECT GUTENBERG EBOOK THE LIGHT ***\n\nLicence terms.\n"
    )
    put(folder / "light.txt", text)
    put(folder / "questions.jsonl", {"question": "Who brought flour?", "answer": "Tom.", "role": "Ada Reed"})
    return folder
