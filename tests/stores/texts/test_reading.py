"""Archives as phones export them: the one chat in them is read, and what is no chat is refused in a sentence."""

import zipfile
from collections.abc import Mapping
from io import BytesIO

import pytest

from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.texts.reading import read_sent

CHAT = "".join(
    f"01/03/24, 19:0{at} - {name}: {text}\n"
    for at, (name, text) in enumerate(
        (("Mira", "Are you still at the landing?"), ("Jonas Hale", "IMG-1.jpg (file attached)"), ("Mira", "Get in."))
    )
)


def packed(files: Mapping[str, str | bytes]) -> bytes:
    made = BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


def test_the_chat_in_an_archive_is_read_beside_its_pictures() -> None:
    read = read_sent("WhatsApp Chat.zip", packed({"_chat.txt": CHAT, "IMG-1.jpg": b"\xff\xd8", "more/old.txt": "Old."}))
    assert (read.name, read.form) == ("WhatsApp Chat.zip", "chat")
    assert [(line.speaker, line.text) for scene in read.scenes for line in scene.lines] == [
        ("Mira", "Are you still at the landing?\nGet in.")
    ]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            {"one.txt": CHAT, "two.txt": CHAT},
            "is an archive of several texts: unpack it, and name those that are meant",
        ),
        (
            {"one.txt": CHAT, "two.json": "[]"},
            "is an archive of several texts: unpack it, and name those that are meant",
        ),
    ],
)
def test_an_archive_of_which_no_one_text_is_meant_is_refused(files: Mapping[str, str], said: str) -> None:
    with pytest.raises(RoleFileError, match=f".zip {said}"):
        read_sent("chats.zip", packed(files))
