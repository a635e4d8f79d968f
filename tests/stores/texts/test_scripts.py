"""Plays, screenplays, transcripts and subtitles as who says what, where and to whom."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.stores.texts.form import Line, SourceText, Unreadable
from dramaturg.stores.texts.scripts import looks_like_script, read_script


def lines(name: str, text: str) -> list[tuple[str, str]]:
    return [(line.speaker, line.text) for scene in read_script(name, text).scenes for line in scene.lines]


def first(text: SourceText) -> Line:
    return text.scenes[0].lines[0]


FOUNTAIN = """\
Title:
    THE LIGHT
Author: A keeper
Draft date: 1/2/2020

# Act I

= She is alone at first.

INT. LIGHTHOUSE - NIGHT (1911) #1A#

The lamp turns. [[Is it oil?]]
RAIN against the glass.

ADA (V.O.)
Nobody comes *here*
in winter.
(beat)
Nobody.

TOM (O.S.) (CONT'D)
(to Ada)
Open the door!

/* A scene that is cut:

MARK
I am cut.

*/
CUT TO:

.THE ROCKS BELOW

@McBRIDE
I see a light.

ADA ^
I see _nothing_.

!BANG
!BANG

~Row, brothers, row

SINGER
~Row, brothers, row
~The stream runs fast

> THE END <
"""


def test_fountain_is_read_with_its_forced_elements_and_dual_dialogue() -> None:
    assert lines("light.fountain", FOUNTAIN) == [
        ("ADA", "Nobody comes here in winter.\n(beat) Nobody."),
        ("TOM", "(to Ada) Open the door!"),
        ("McBRIDE", "I see a light."),
        ("ADA", "I see nothing."),
        ("SINGER", "Row, brothers, row\nThe stream runs fast"),
    ]


def test_a_slugline_gives_the_place_and_the_year_and_its_section_is_in_the_title() -> None:
    scene = read_script("light.fountain", FOUNTAIN).scenes[0]
    assert scene.title == "Act I. INT. LIGHTHOUSE - NIGHT (1911)"
    assert scene.place == "LIGHTHOUSE"
    assert scene.when == "1911"


def test_action_is_in_the_text_only_and_notes_are_said_to_be_left_out() -> None:
    read = read_script("light.fountain", FOUNTAIN)
    assert "RAIN against the glass." in read.text
    assert "BANG" in read.text
    assert "I am cut" not in read.text
    assert read.missing == ("2 notes are left out",)


def test_a_direction_says_to_whom_as_the_script_spells_the_name() -> None:
    assert read_script("light.fountain", FOUNTAIN).scenes[0].lines[1].to == "ADA"


def test_lines_keep_their_numbers_where_notes_are_taken_out() -> None:
    assert read_script("light.fountain", FOUNTAIN).scenes[1].lines[0].at == "line 35"


def test_a_note_that_never_ends_is_no_note() -> None:
    assert lines("a.fountain", "ADA\nLook [[ there.\n\nTOM\nWhere /* then?") == [
        ("ADA", "Look [[ there."),
        ("TOM", "Where /* then?"),
    ]


def test_a_screenplay_printed_with_indents_and_page_numbers_is_read() -> None:
    text = """
   INT. KITCHEN - DAY

   Ada pours tea.
                                                               2.
                         ADA
               Two sugars?
                         (MORE)

                         TOM
                   (smiling)
               None.

   EXT. QUAY - DUSK

                         ADA (CONT'D)
               It is cold.

   She shivers.

                         TOM
               It is.
"""
    assert looks_like_script("quay.txt", text)
    assert lines("quay.txt", text) == [
        ("ADA", "Two sugars?"),
        ("TOM", "(smiling) None."),
        ("ADA", "It is cold."),
        ("TOM", "It is."),
    ]


FINAL_DRAFT = """<?xml version="1.0" encoding="UTF-8"?>
<FinalDraft DocumentType="Script" Version="5"><Content>
<Paragraph Type="Scene Heading" Number="1"><Text>EXT. QUAY - DAY</Text></Paragraph>
<Paragraph Type="Action"><Text>Gulls &amp; </Text><Text Style="Bold">rain.</Text></Paragraph>
<Paragraph Type="Character"><Text>ADA (V.O.)</Text></Paragraph>
<Paragraph Type="Parenthetical"><Text>(to Tom)</Text></Paragraph>
<Paragraph Type="Dialogue"><Text>Well&#8230; </Text><Text>come.</Text></Paragraph>
<Paragraph><DualDialogue>
<Paragraph Type="Character"><Text>TOM</Text></Paragraph><Paragraph Type="Dialogue"><Text>No.</Text></Paragraph>
<Paragraph Type="Character"><Text>KIT</Text></Paragraph><Paragraph Type="Dialogue"><Text>Yes.</Text></Paragraph>
</DualDialogue></Paragraph>
</Content><TitlePage><Content><Paragraph Type="Action"><Text>QUAY</Text></Paragraph></Content></TitlePage></FinalDraft>
"""


def test_final_draft_is_read_by_what_its_paragraphs_say_they_are() -> None:
    read = read_script("quay.fdx", FINAL_DRAFT)
    assert looks_like_script("quay.fdx", FINAL_DRAFT)
    assert read.scenes[0].place == "QUAY"
    assert [(line.speaker, line.to, line.text) for line in read.scenes[0].lines] == [
        ("ADA", "TOM", "(to Tom) Well… come."),
        ("TOM", "", "No."),
        ("KIT", "", "Yes."),
    ]
    assert "Gulls & rain." in read.text


def test_entities_that_a_final_draft_file_declares_are_not_expanded() -> None:
    bomb = "".join(f'<!ENTITY x{n} "{f"&x{n - 1};" * 10}">' for n in range(1, 12))
    text = FINAL_DRAFT.replace("<FinalDraft", f'<!DOCTYPE F [<!ENTITY x0 "ha">{bomb}]><FinalDraft').replace(
        "No.", "&x11;"
    )
    assert len(read_script("bomb.fdx", text.replace(bomb, bomb[:900])).text) < 2_000


def test_a_final_draft_file_that_breaks_off_is_read_as_far_as_it_goes() -> None:
    cut = FINAL_DRAFT[: FINAL_DRAFT.index("<Text>No.")]
    assert lines("cut.fdx", cut) == [("ADA", "(to Tom) Well… come.")]


PLAY = """\
*** START OF THE PROJECT GUTENBERG EBOOK THE LAMP ***
Dramatis Personæ

ADA, keeper of the light.
TOM, her brother.
CHORUS.

Contents

ACT I
Scene I. A room in the lighthouse.

ACT I

SCENE I. A room in the lighthouse.

 Enter Ada and Tom.

ADA.
The lamp is out, and all the sea is dark;
[_Aside._] He must not see me weep.
[_Lights the
lamp._]

[_Knocking._]

The oil is low.

TOM.
[_To Ada._] What noise is this?

CHORUS.
Winds!

 [_Exeunt._]

SCENE II. The same.

TOM.
Still dark.

ADA.
Still.

*** END OF THE PROJECT GUTENBERG EBOOK THE LAMP ***
ADA.
This licence says nothing.
"""


def test_a_play_has_scenes_with_places_and_directions_where_they_stand_in_a_speech() -> None:
    read = read_script("lamp.txt", PLAY)
    assert [(scene.title, scene.place) for scene in read.scenes] == [
        ("ACT I. SCENE I. A room in the lighthouse", "A room in the lighthouse"),
        ("ACT I. SCENE II. The same", "The same"),
    ]
    assert [(line.speaker, line.text) for line in read.scenes[0].lines] == [
        (
            "ADA",
            "The lamp is out, and all the sea is dark;\n(Aside.) He must not see me weep.\n(Lights the lamp.)\n"
            "(Knocking.) The oil is low.",
        ),
        ("TOM", "(To Ada.) What noise is this?"),
        ("CHORUS", "Winds!"),
    ]
    assert read.scenes[0].lines[1].to == "ADA"


def test_what_stands_before_and_after_a_play_of_project_gutenberg_is_nobodys_speech() -> None:
    read = read_script("lamp.txt", PLAY)
    assert "licence" not in read.text
    assert "(Exeunt.)" in read.text


def test_a_play_with_names_and_speech_on_a_line_is_read() -> None:
    text = """
FIRST ACT

NORA (_laughing_). Hide the tree, Helene.

DR. RANK. I listen.

MRS. LINDE [_softly_]. He is
here at last.

NORA. To whom? O. No. I AM not.

DR. RANK. To you.
"""
    assert lines("tree.txt", text) == [
        ("NORA", "(laughing) Hide the tree, Helene."),
        ("DR. RANK", "I listen."),
        ("MRS. LINDE", "(softly) He is here at last."),
        ("NORA", "To whom? O. No. I AM not."),
        ("DR. RANK", "To you."),
    ]


def test_a_verse_that_begins_as_directions_do_is_said() -> None:
    text = "ADA.\nThe end of night is near,\nenter my heart,\nThe curtain of the sea\n\nTOM.\nBe still.\nExit Tom.\n\n"
    assert lines("v.txt", f"{text}ADA.\nCome.\n\nTOM.\nNo.\n")[:2] == [
        ("ADA", "The end of night is near, enter my heart,\nThe curtain of the sea"),
        ("TOM", "Be still."),
    ]


def test_a_chinese_play_is_read() -> None:
    text = """第一幕 第二场 海边的灯塔

阿达：灯灭了。
汤姆（对阿达）：谁在敲门？
阿达：（低声）没有人，
只有风在桌子上。
（汤姆下。）
汤姆：我去看看。
"""
    read = read_script("灯.txt", text)
    assert looks_like_script("灯.txt", text)
    assert (read.scenes[0].title, read.scenes[0].place) == ("第一幕. 第二场 海边的灯塔", "海边的灯塔")
    assert [(line.speaker, line.text, line.to) for line in read.scenes[0].lines] == [
        ("阿达", "灯灭了。", ""),
        ("汤姆", "(对阿达) 谁在敲门？", "阿达"),
        ("阿达", "（低声）没有人，只有风在桌子上。", ""),
        ("汤姆", "我去看看。", ""),
    ]


def test_a_korean_play_is_read() -> None:
    text = (
        "1막 2장 등대\n\n에이다: 등불이 꺼졌어.\n\n톰: (에이다에게) 누가 왔어?\n\n에이다: 바람이야.\n\n톰: 가 볼게.\n"
    )
    read = read_script("등대.txt", text)
    assert (read.scenes[0].title, read.scenes[0].place) == ("1막. 2장 등대", "등대")
    assert [(line.speaker, line.to) for line in read.scenes[0].lines] == [
        ("에이다", ""),
        ("톰", "에이다"),
        ("에이다", ""),
        ("톰", ""),
    ]


@pytest.mark.parametrize(
    "form",
    [
        "{0}: {1}",
        "**{0}:** {1}",
        "**{0}**: {1}",
        "[00:01:12] {0}: {1}",
        "00:01:12 {0}: {1}",
        "{0} (00:01:12): {1}",
        "- {0}: {1}",
        "{0}：{1}",
        "{0}  00:01:12\n{1}",
        "{0} [00:01:12]\n{1}",
    ],
)
def test_transcripts_are_read_however_they_name_speakers(form: str) -> None:
    said = [
        ("Ada Reed", "You came: at last."),
        ("Speaker 2", "The boat was late, you see."),
        ("Ada Reed", "It was."),
        ("Speaker 2", "Yes."),
    ]
    text = "\n\n".join(form.format(*one) for one in said)
    assert looks_like_script("talk.md", text)
    assert lines("talk.md", text) == said


def test_the_time_of_a_transcript_is_where_a_line_stands() -> None:
    text = "[00:01:12] Ada: You came.\n[00:01:15] Tom: I did.\n[00:02:00] Ada: Good.\n[00:02:03] Tom: Yes."
    assert first(read_script("t.txt", text)).at == "00:01:12"


def test_paragraphs_of_a_long_answer_stay_with_who_gives_it() -> None:
    text = "Q: Who are you?\n\nA: A keeper.\n\nI keep the light.\n\nQ: Alone?\n\nA: Alone."
    assert lines("t.txt", text)[1] == ("A", "A keeper.\nI keep the light.")


def test_subtitles_with_speakers_are_read_and_those_without_are_counted() -> None:
    text = """\ufeffWEBVTT

00:00:01.000 --> 00:00:03.000
<v Ada Reed>You came &amp;

00:00:03.000 --> 00:00:04.000
<v Ada Reed>stayed.</v>

00:00:05.000 --> 00:00:06.000
<v Tom>I did.</v>

00:00:07.000 --> 00:00:08.000
Who spoke?
"""
    read = read_script("talk.vtt", text)
    assert [(line.speaker, line.text, line.at) for line in read.scenes[0].lines] == [
        ("Ada Reed", "You came & stayed.", "00:00:01"),
        ("Tom", "I did.", "00:00:05"),
    ]
    assert read.missing == ("1 subtitle does not say who speaks",)


def test_a_subtitle_in_which_two_speak_is_two_lines() -> None:
    text = "1\n00:00:01,000 --> 00:00:03,000\n<i>ADA: Come!</i>\nTOM: No.\n\n"
    text += "2\n00:00:04,000 --> 00:00:05,000\n[Kit] {\\an8}Yes.\n"
    assert lines("film.srt", text) == [("ADA", "Come!"), ("TOM", "No."), ("Kit", "Yes.")]


def test_subtitles_that_name_nobody_are_refused() -> None:
    with pytest.raises(Unreadable, match="do not say who speaks"):
        read_script("film.srt", "1\n00:00:01,000 --> 00:00:03,000\nCome!\n")


def test_a_screenplay_without_speech_is_refused() -> None:
    with pytest.raises(Unreadable, match="nobody who speaks"):
        read_script("silent.fountain", "EXT. SEA - DAY\n\nWaves.\n")


def test_prose_that_is_said_to_be_a_script_is_refused() -> None:
    with pytest.raises(Unreadable, match="does not say who speaks"):
        read_script("novel.txt", NO_SCRIPTS["novel"])


NO_SCRIPTS = {
    "novel": '"Come in," said Ada. "No." He waited. "Yes," she said: "come."\n\nTom came in. Tom sat. He was cold.\n'
    * 20,
    "chat": "[03/05/2024, 10:15:02] Ada: Are you there?\n[03/05/2024, 10:15:09] Tom: I am.\n" * 6,
    "chat of Android": "5/3/24, 3:02 PM - Ada: Are you there?\n5/3/24, 3:03 PM - Tom: I am.\n" * 6,
    "KakaoTalk": "2024년 5월 3일 오후 3:02, 에이다 : 거기?\n2024년 5월 3일 오후 3:03, 톰 : 응.\n" * 6,
    "wiki page": "# Ada\n\n**Born:** 1811\n**Died:** 1890\n\nSee also: Tom.\n\nNote: she is a figure.\n",
    "recipe": "Serves: 4\nTime: 20 minutes\n\n1. Boil water.\n\nNote: use salt.\nTip: add it late.\n\n" * 3,
    "source": "def light(on):\n    Args:\n        on: whether.\n\n    Returns:\n        it.\n\n    print('x: y')\n" * 8,
    "log": "2024-05-03 10:00:01 INFO: started\n2024-05-03 10:00:02 ERROR: failed to start.\n" * 9,
    "log by levels": "INFO: The server has started.\nWARNING: The disk is nearly full.\n" * 9,
    "CSV": "Name,Text\nAda,Hello there: you.\nTom,Well.\n" * 9,
    "records": "Name: Ada\nPhone: 123\n\nName: Tom\nPhone: 456\n\nName: Kit\nPhone: 789\n" * 3,
    "records of nobody known": "Colour: red\nHeight: 123\n\nColour: blue\nHeight: 456\n\n" * 3,
    "YAML": "Metadata:\n  Kind: Role\nSpec:\n  Size: large\n" * 9,
    "diary": "3 May. I rose. Mood: good.\n\nMood: fair.\nWeather: wet.\n\n4 May. I slept.\n\nMood: bad.\n" * 4,
    "e-mail": "From: Ada Reed\nTo: Tom Reed\nSubject: The lamp.\n\nDear Tom, it is out.\n\n" * 5,
    "changelog": "## 1.2\n\nAdded: a lamp that burns.\nFixed: the door that stuck.\n\n" * 3,
    "documentation": "RoleError: it is bad.\nStaleDraft: it is old.\n\n" * 3
    + "One reads the file, then\nanother.\n\n" * 60,
    "headlines": "".join(f"THE {one} IS LATE\nFishers wait.\n\n" for one in ("BOAT", "MAIL", "TIDE", "MOON", "OIL")),
    "empty": "",
}


@pytest.mark.parametrize("kind", NO_SCRIPTS)
def test_what_only_has_colons_or_capitals_is_no_script(kind: str) -> None:
    assert not looks_like_script(f"{kind}.txt", NO_SCRIPTS[kind])


@pytest.mark.parametrize(
    "text",
    [
        "/*" * 50_000,
        "[[" * 50_000,
        "*a " * 50_000,
        "_a " * 50_000,
        "[a " * 50_000,
        "A (" * 50_000,
        "ADA (" + " " * 100_000 + "x",
        "ADA: " + ")" * 100_000 + "x",
        "ADA: a.\nTOM: b.\nADA: c.\nTOM: " + "(" * 50_000,
        "ADA: a.\nTOM: b.\nADA: c.\nTOM: " + "_" * 50_000 + " " * 50_000 + "x",
        "ADA. " * 40_000,
        "ADA\n" * 9_000,
        "ADA: x\nTOM: y.\n(" * 4_000,
        "ADA\n\n" * 9_000,
        "# " * 50_000,
        "INT. " * 40_000,
        "00:00:01,000 --> 00:00:02,000\n<v A" * 3_000,
        "<FinalDraft><Content>" + "<Paragraph><Text>" * 20_000,
    ],
)
@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", ["a.txt", "a.fountain", "a.srt"])
def test_a_hostile_text_has_an_end(name: str, text: str) -> None:
    looks_like_script(name, text)
    with suppress(Unreadable):
        read_script(name, text)


WORDS = st.text(st.characters(codec="utf-8", categories=("Ll", "Lu", "Nd", "Po", "Ps", "Pe")), min_size=1, max_size=12)
SPEECHES = st.lists(
    st.tuples(st.sampled_from(["Ada", "Tom"]), st.lists(WORDS, min_size=1, max_size=8)), min_size=2, max_size=8
)


@given(SPEECHES, st.sampled_from(["{}: {}", "**{}:** {}", "[00:01] {}: {}", "{}. {}", "{}\n{}", "{}\n\n{}", "{}  {}"]))
def test_no_letter_of_a_speech_is_lost(said: list[tuple[str, list[str]]], form: str) -> None:
    written = [
        (name, f"We say {' '.join(words)} and there it ends.")
        for name, words in said * 2 + [("Ada", ["x"]), ("Tom", ["y"])] * 2
    ]
    text = "\n\n".join(form.format(name if ":" in form else name.upper(), words) for name, words in written)
    read = [line.text for scene in read_script("t.txt", text).scenes for line in scene.lines]
    assert [one for line in read for one in line if one.isalnum()] == [
        one for _, words in written for one in words if one.isalnum()
    ]
