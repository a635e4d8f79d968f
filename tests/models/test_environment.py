"""Variables that cannot be: which, what they are, and what they may be."""

from pathlib import Path

import pytest

from dramaturg.models.environment import check_environment, environment


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("DRAMATURG_THREADS", "0", "cannot be '0': it should be greater than or equal to 1."),
        ("DRAMATURG_KEEP_VERSIONS", "long", "cannot be 'long': it should be a valid integer"),
        ("DRAMATURG_TELEMETRY", "span", "cannot be 'span': it should be 'spans' or 'texts'."),
        ("DRAMATURG_LIBRARY", "mysql://me:secret@there/roles", "cannot be 'mysql://…@there/roles': it may be a folder"),
        ("OPENAI_BASE_URL", "localhost:8000", "cannot be 'localhost:8000': it may be an address such as https://"),
    ],
)
def test_a_value_that_cannot_be_is_named_with_what_it_may_be(name: str, value: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=name) as refused:
        environment({name: value})
    assert str(refused.value).startswith(f"{name} {sentence}")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("DRAMATURG_LIBARY", "DRAMATURG_LIBRARY"),
        ("DRAMATURG_MODEL", "DRAMATURG_CHAT_MODEL"),
        ("DRAMATURG_BASE_URL", "OPENAI_BASE_URL"),
        ("DRAMATURG_API_KEY_FILE", "OPENAI_API_KEY_FILE"),
    ],
)
def test_a_name_that_is_nearly_a_variable_is_refused(name: str, meant: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name} is not read: did you mean {meant}\?$"):
        check_environment({name: "x"})


def test_names_that_others_set_are_left_alone(tmp_path: Path) -> None:
    kubernetes = {"DRAMATURG_PORT": "tcp://10.0.0.1:8642", "DRAMATURG_SERVICE_HOST": "10.0.0.1"}
    check_environment({**kubernetes, "DRAMATURG_LIBRARY": str(tmp_path), "DRAMATURG_KEYS_FILE": "keys"})


def test_a_file_is_no_library(tmp_path: Path) -> None:
    (tmp_path / "roles").touch()
    with pytest.raises(ValueError, match=r"DRAMATURG_LIBRARY cannot be .*: it may be a folder, and this is a file"):
        check_environment({"DRAMATURG_LIBRARY": str(tmp_path / "roles")})
