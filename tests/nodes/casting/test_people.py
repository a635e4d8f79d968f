"""Who is in a prose text, and which names are one person's."""

from dramaturg.nodes.casting.people import Person, people_in


def names_of(people: list[Person]) -> list[set[str]]:
    return [{one.name, *one.aliases} for one in people]


def test_whoever_speaks_most_comes_first_and_places_are_nobody() -> None:
    text = "“Aye,” said Brandt. “No,” said Mira.\n\n“No,” Mira repeated.\n\nThey walked along to Harrow and to London."
    assert [(one.name, one.quotes, one.mentions) for one in people_in(text, "en")] == [("Mira", 2, 2), ("Brandt", 1, 1)]


def test_the_names_of_one_person_are_joined() -> None:
    text = (
        "“Avast,” said Long Tom Brandt. Then Tom Brandt rose. Tom Brandt sat.\n\n“Sit,” said Brandt.\n\n"
        "“No,” said Mr. Brandt, and so Brandt left."
    )
    (brandt,) = names_of(people_in(text, "en"))
    assert brandt == {"Long Tom Brandt", "Tom Brandt", "Mr. Brandt", "Brandt"}


def test_two_of_one_family_are_never_joined() -> None:
    text = (
        "“Come,” said Mr. Hale. “Never,” said Mrs. Hale.\n\n“Why?” asked Miss Hale. “Ask Clara,” said Lucy Hale.\n\n"
        "“Ask Lucy,” said Clara Hale.\n\n“Both of you,” said Hale."
    )
    people = names_of(people_in(text, "en"))
    assert {"Hale"} in people  # who that is cannot be told
    assert all(len({"Mr. Hale", "Mrs. Hale", "Miss Hale", "Clara Hale", "Lucy Hale"} & one) <= 1 for one in people)


def test_a_short_name_is_joined_with_the_long_one_of_whom_alone_it_can_be() -> None:
    text = "“Come,” said Elizabeth Hale. “Lizzy,” said Tom, “sit.” “I do,” said Lizzy."
    assert {"Elizabeth Hale", "Lizzy"} in names_of(people_in(text, "en"))


def test_a_name_that_is_told_in_full_once_is_that_of_whom_alone_it_can_be() -> None:
    text = (
        "## Mira\n\nOld Mira Castellan rowed. Tom Reed and Tom Quill did not.\n\n“Come,” said Mira.\n\n"
        "“No,” said Tom.\n\n“Then stay,” said Mira.\n\nTo Mira\n\nHale wrote. “Mira,” said Hale."
    )
    assert [(one.name, one.aliases) for one in people_in(text, "en")] == [
        ("Mira Castellan", ("Mira",)),
        ("Hale", ()),
        ("Tom", ()),
    ]


def test_what_somebody_is_called_is_joined_with_the_name_beside_which_the_text_says_it() -> None:
    text = (
        "“Up,” said the keeper.\n\n“Down,” said the Dane.\n\n“Out,” said the keeper.\n\n“In,” said the Dane.\n\n"
        "“Go,” said Hale.\n\n“Stay,” said Brandt.\n\nBrandt, the keeper, and the Dane, Hale, went. {}\n\n"
        "“Well,” said Hale, and Brandt said nothing."
    )
    apart = names_of(people_in(text.format("Hale, the keeper, and Brandt came."), "en"))
    assert apart == [{"Hale", "Dane"}, {"the keeper"}, {"Brandt"}]
    assert names_of(people_in(text.format("Up came the keeper, Brandt."), "en")) == [
        {"Hale", "Dane"},
        {"Brandt", "the keeper"},
    ]


def test_somebody_without_a_name_who_speaks_is_a_person_too() -> None:
    text = "“Beds?” asked the landlady.\n\n“Two,” said Mira.\n\n“One,” said the landlady, and she took the lamp."
    assert ("the landlady", 2, "f") in [(one.name, one.quotes, one.gender) for one in people_in(text, "en")]


def test_titles_and_pronouns_tell_the_gender() -> None:
    text = "“No,” said Mr. Brandt. “Yes,” said Robin, shaking her head. Robin took her lamp. Robin saw herself."
    assert {one.name: one.gender for one in people_in(text, "en")} == {"Mr. Brandt": "m", "Robin": "f"}


def test_chinese_names_without_their_surnames_are_joined() -> None:
    text = (
        "林晚秋低声问道：“有人吗？”\n\n“有。”周掌柜笑道。\n\n晚秋说：“我找人。”\n\n林晚秋坐下。周掌柜又说：“等等。”\n\n"
        "晚秋道：“好。”"
    )
    assert names_of(people_in(text, "zh")) == [{"林晚秋", "晚秋"}, {"周掌柜"}]


def test_korean_names_without_their_surnames_are_joined() -> None:
    text = "이서진이 물었다. “누구요?”\n\n“나요.” 노인이 대답했다.\n\n“들어오세요.” 서진이 말했다."
    assert names_of(people_in(text, "ko")) == [{"이서진", "서진"}, {"노인"}]
