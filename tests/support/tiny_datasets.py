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


def rolebench(folder: Path, *names: str) -> Path:
    """Pairs to learn from and to be tested by, and a question that is in both; with names, descriptions of them too."""

    def lines(*pairs: tuple[str, str]) -> list[dict[str, Any]]:
        return [
            {"role": name, "question": question, "generated": [answer], "type": "script_based"}
            for name in names or ("Ada",)
            for question, answer in pairs
        ]

    learned = lines(("Who is Tom?", "My brother."), ("Where do you live?", "In the tower of the light."))
    put(folder / "rolebench-eng" / "role_specific" / "train.jsonl", *learned)
    asked = lines(("Who is Tom?", "Tom."), ("Fog?", "I ring."))
    put(folder / "rolebench-eng" / "role_specific" / "test.jsonl", *asked)
    put(folder / "rolebench-eng" / "general" / "test.jsonl", *lines(("Translate: lamp.", "Lampe.")))
    if names:
        put(folder / "profiles-eng" / "desc.json", {name: f"{name} is silent." for name in names})
        put(folder / "profiles-eng" / f"profiles-eng-{names[0]}.jsonl", {"content": ["Silence."]})
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


def coser_test(folder: Path, *names: str) -> Path:
    """Three conversations: of two books, in both of which there is an Ada, and in one a Tom and a Tom Pike.

    With names, each of them stands for Ada in a book of her own.
    """

    def conversation(book: str, number: int, **profiles: str) -> dict[str, Any]:
        tom = "Tom Pike" if number else "Tom"
        lines = [("Environment", "Night."), (tom, "[Late.] Is the lamp lit?"), ("Ada", "(nods) It is."), (tom, "Good.")]
        return {
            "book": book,
            "scenario": f"A gale, the {number}.",
            "topic": "lamp",
            "dialogues": [{"character": name, "message": text} for name, text in [*lines, ("Ada", f"Night {number}.")]],
            "key_characters": [{"name": "Ada", "thought": "I must stay awake."}],
            "character_profiles": profiles,
            "plot": {"i_p": number, "key_characters": [{"name": "Ada", "description": f"Keeper {number}."}]},
            "i_c": 0,
            "tag": "ood",
        }

    if names:
        books = [
            json.dumps(conversation(f"Book {name}", 1, Ada="Ada is silent.")).replace("Ada", name) for name in names
        ]
        put(folder / "data" / "test" / "test_set.json", [json.loads(book) for book in books])
        return folder
    profiles = {"Ada": "Ada keeps a light.", "Tom": "Tom fishes."}
    light = [conversation("The Light (#1)", 0, **profiles), conversation("The Light (#1)", 1, **{"Tom Pike": "A man."})]
    put(folder / "data" / "test" / "test_set.json", [*light, conversation("The Fog", 1, Ada="Another.", Jory="")])
    return folder


def timechara(folder: Path, *names: str) -> Path:
    """Three kinds of question to each of some characters, those for validation among those of the test."""

    def asked(name: str, kind: str, period: str, place: str = "-") -> dict[str, Any]:
        return {
            "series": "the_light",
            "character": name,
            "character_period": period,
            "question": f"What of the {kind} fog?",
            "data_type": kind,
            "temporal_label": f"{kind}: {name} keeps to it.",
            "spatial_label": place,
            "participants": [name],
        }

    test = [
        one
        for name in names or ("Ada Reed",)
        for one in (
            asked(name, "future", "1st-year / at dusk"),
            asked(name, "past-absence", "2", "Absence: not there."),
            asked(name, "past-only", "2"),
        )
    ]
    put(folder / "validation.json", test[:1])
    put(folder / "test.json", test)
    for name in names or ("Ada Reed",):
        put(folder / "data" / "personality" / f"{name.lower().replace(' ', '_')}_personality.txt", f"{name} is silent.")
    return folder


def persona_gym(folder: Path, *personas: str) -> Path:
    """A question for each task and persona."""
    tasks = ("Expected Action", "Toxicity", "Linguistic Habits", "Persona Consistency", "Action Justification")
    for persona in personas or ("A keeper of a light, fond of tea",):
        questions = {task: [f"{task}: what do you do in fog?"] for task in tasks}
        put(folder / "questions" / "benchmark-v1" / f"{persona}.json", questions)
    return folder


def ping_pong(folder: Path, *names: str) -> Path:
    """Characters with two situations each, and one who speaks Russian."""

    def told(*names: str) -> dict[str, Any]:
        situations = [
            {"text": "Ask for tea.", "tags": ["tea"], "num_turns": 4},
            {"text": "Begin a fight.", "num_turns": 4},
        ]
        characters = [
            {"char_name": one, "system_prompt": f"{one} is silent.", "example_prompt": "A: …"} for one in names
        ]
        return {"characters": characters, "situations": situations, "version": 3}

    put(folder / "settings_v2.json", {"ru": told("Юля"), "en": told(*(names or ("Ada Reed",)))})
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


def locomo(folder: Path) -> Path:
    """Two talks: what is asked stands in one line, in two, in a session after the ninth, or nowhere."""

    def talk(name: str, boat: str) -> dict[str, Any]:
        def line(where: str, speaker: str, text: str, **more: str) -> dict[str, Any]:
            return {"speaker": speaker, "dia_id": where, "text": text, **more}

        first = [
            line("D1:1", "Ada", f"I bought the boat {boat} at the market."),
            line("D1:2", "Tom", "Was it dear?"),
            line("D1:3", "Ada", "Look at her!", blip_caption="a green sail above a quay"),
        ]
        second = [line("D2:1", "Tom", "My lamp broke in the storm."), line("D2:2", "Ada", "Take oil from the tower.")]
        tenth = [line("D10:1", "Tom", "The goat ate my ledger."), line("D10:2", "Ada", "Write another ledger.")]
        asked = [
            {"question": "What did Ada buy?", "answer": f"the boat {boat}", "evidence": ["D1:01"], "category": 4},
            {"question": "Which lamp and ledger?", "answer": "both", "evidence": ["D2:1 D10:1"], "category": 1},
            {"question": "When did it sail?", "answer": 2023, "evidence": ["D:1:3", "D9:9"], "category": 2},
            {"question": "Why did Tom buy a goat?", "adversarial_answer": "milk", "evidence": [], "category": 5},
        ]
        said = {"session_10": tenth, "session_2": second, "session_1": first}
        times = {f"{one}_date_time": f"1:05 pm on {8 + at} May, 2023" for at, one in enumerate(reversed(said))}
        return {"sample_id": name, "conversation": {"speaker_a": "Ada", **said, **times}, "qa": asked}

    return put(folder / "tiny.json", [talk("talk-1", "Gull"), talk("talk-2", "Tern")])


def longmemeval(folder: Path) -> Path:
    """A question with a history whose sessions are not in their order, and one to which there is no answer."""

    def line(role: str, content: str, **more: bool) -> dict[str, Any]:
        return {"role": role, "content": content, **more}

    def asked(name: str, question: str, answer: str) -> dict[str, Any]:
        return {
            "question_id": name,
            "question_type": "single-session-user",
            "question": question,
            "answer": answer,
            "question_date": "2023/06/01 (Thu) 10:00",
            "haystack_session_ids": ["later", "answer_1"],
            "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/02 (Tue) 23:40"],
            "haystack_sessions": [
                [line("user", "How do I mend a net?"), line("assistant", "With twine.")],
                [
                    line("user", "My parrot is called Pepper.", has_answer=True),
                    line("assistant", "A fine name.", has_answer=False),
                    line("user", "Good night."),
                ],
            ],
            "answer_session_ids": ["answer_1"],
        }

    put(
        folder / "history.json",
        [asked("q1", "What is my parrot called?", "Pepper"), asked("q2_abs", "My cat?", "None.")],
    )
    return folder / "history.json"
