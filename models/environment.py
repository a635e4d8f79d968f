"""The one place that reads environment variables, and the file of an endpoint that `dramaturg setup` has written."""

import json
import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from platformdirs import user_cache_path, user_config_path, user_data_path
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator


class Environment(BaseModel):
    """What the surroundings say when a context does not."""

    model_config = ConfigDict(frozen=True)

    base_url: str | None = Field(default=None, description="OPENAI_BASE_URL: an OpenAI-compatible server.")
    api_key: SecretStr | None = Field(
        default=None, description="OPENAI_API_KEY: its key; or OPENAI_API_KEY_FILE: a file that holds it and no more."
    )
    chat_model: str | None = Field(default=None, description="DRAMATURG_CHAT_MODEL: the name of a chat model.")
    embedding_model: str | None = Field(default=None, description="DRAMATURG_EMBEDDING_MODEL: an embedding model.")
    library: Path | str = Field(
        default_factory=lambda: user_data_path("dramaturg") / "library",
        description="DRAMATURG_LIBRARY: the folder of the roles, or a database of them, postgresql://….",
    )
    cache: Path = Field(
        default_factory=lambda: user_cache_path("dramaturg"),
        description="DRAMATURG_CACHE: weights, and answers where they are kept.",
    )
    weights: Path | None = Field(
        default=None,
        description="DRAMATURG_WEIGHTS: another cache, as of an image, which is looked into first.",
    )
    threads: int | None = Field(default=None, ge=1, description="DRAMATURG_THREADS: of the embedded models.")
    open_settings: str = Field(
        default="",
        description="DRAMATURG_OPEN_SETTINGS: names of settings that callers of a server may set, too; or all.",
    )
    server_key: SecretStr | None = Field(
        default=None, description="DRAMATURG_SERVER_KEY: sent as x-api-key to the server that --server names."
    )
    keep_versions: int | None = Field(
        default=None,
        ge=0,
        le=36_500,
        description="DRAMATURG_KEEP_VERSIONS: for how many days a version of an index in a database can be read by "
        "conversations that go by it, after the role has it no longer; 30 where nothing is said.",
    )
    telemetry: Literal["spans", "texts"] | None = Field(
        default=None,
        description="DRAMATURG_TELEMETRY: spans: OpenTelemetry spans of graphs, nodes and questions; texts: with what "
        "is said in them.",
    )
    lightrag_python: Path | None = Field(
        default=None, description="DRAMATURG_LIGHTRAG_PYTHON: a Python that has LightRAG, for comparisons with it."
    )
    graphrag_python: Path | None = Field(
        default=None, description="DRAMATURG_GRAPHRAG_PYTHON: a Python that has GraphRAG, for comparisons with it."
    )

    @field_validator("library", mode="before")
    @classmethod
    def _folder_or_address(cls, given: str | Path) -> str | Path:
        kind, is_address, _ = str(given).partition("://")
        if is_address and kind not in ("postgresql", "postgres"):
            raise ValueError("it may be a folder, or postgresql://user@host/name")
        return given if is_address else Path(given)

    @field_validator("base_url")
    @classmethod
    def _http(cls, given: str | None) -> str | None:
        if given and not given.startswith(("http://", "https://")):
            raise ValueError("it may be an address such as https://host/v1")
        return given

    @property
    def weights_in(self) -> tuple[Path, ...]:
        """The caches where weights may be; what is pulled goes to the last."""
        return (self.weights, self.cache) if self.weights else (self.cache,)

    @property
    def opened(self) -> frozenset[str]:
        """The names in `open_settings`, between commas or spaces."""
        return frozenset(self.open_settings.replace(",", " ").split())


VARIABLES = {
    "base_url": "OPENAI_BASE_URL",
    "api_key": "OPENAI_API_KEY",
    "chat_model": "DRAMATURG_CHAT_MODEL",
    "embedding_model": "DRAMATURG_EMBEDDING_MODEL",
    "library": "DRAMATURG_LIBRARY",
    "cache": "DRAMATURG_CACHE",
    "weights": "DRAMATURG_WEIGHTS",
    "threads": "DRAMATURG_THREADS",
    "open_settings": "DRAMATURG_OPEN_SETTINGS",
    "server_key": "DRAMATURG_SERVER_KEY",
    "keep_versions": "DRAMATURG_KEEP_VERSIONS",
    "telemetry": "DRAMATURG_TELEMETRY",
    "lightrag_python": "DRAMATURG_LIGHTRAG_PYTHON",
    "graphrag_python": "DRAMATURG_GRAPHRAG_PYTHON",
}


KEY_FILE = "OPENAI_API_KEY_FILE"
KEYS_FILE = "DRAMATURG_KEYS_FILE"
"""The file of callers of `dramaturg serve`, which its command line reads."""
SETTINGS_FILE = "DRAMATURG_SETTINGS"
KEPT = ("OPENAI_BASE_URL", "OPENAI_API_KEY", "DRAMATURG_CHAT_MODEL", "DRAMATURG_EMBEDDING_MODEL")
"""What may stand in the file of settings."""


def settings_file(variables: Mapping[str, str] = os.environ) -> Path:
    """Where an endpoint is kept: in the file of DRAMATURG_SETTINGS, else in the user's folder of settings."""
    named = variables.get(SETTINGS_FILE)
    return Path(named) if named else user_config_path("dramaturg") / "endpoint.json"


def keep_endpoint(values: Mapping[str, str], file: Path) -> None:
    """Write an endpoint to its file, which nobody else may read."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = file.with_name(f"{file.name}.new")
    new.touch(mode=0o600)
    new.chmod(0o600)
    new.write_text(json.dumps({name: value for name, value in values.items() if value}, indent=2), encoding="utf-8")
    new.replace(file)


def use_endpoint(values: Mapping[str, str]) -> None:
    """Have this process ask another endpoint from now on, or, without values, that of nobody.

    A key is never set beside the address of another endpoint, for whoever reads in between.
    """
    os.environ.pop("OPENAI_API_KEY", None)
    for name in ("OPENAI_BASE_URL", "DRAMATURG_CHAT_MODEL", "DRAMATURG_EMBEDDING_MODEL", "OPENAI_API_KEY"):
        os.environ.pop(name, None)
        if value := values.get(name):
            os.environ[name] = value


def kept_endpoint(variables: Mapping[str, str] = os.environ) -> Mapping[str, str]:
    """The variables of the endpoint that is kept, for a command to set those that are not.

    There are none where the surroundings name an endpoint: its key must not be sent to another address.

    Raises:
        ValueError: the file cannot be read.
    """
    if any(variables.get(name) for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", KEY_FILE)):
        return {}
    return read_endpoint(settings_file(variables))


def read_endpoint(file: Path) -> Mapping[str, str]:
    """The variables of the endpoint in a file; none where there is no file.

    Raises:
        ValueError: the file cannot be read.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(found, dict) or not all(isinstance(one, str) for one in found.values()):
            raise ValueError("It is no table of texts.")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ValueError(
            f"The settings in {file} cannot be read: run `dramaturg setup` again, or remove it."
        ) from error
    return {name: found[name] for name in KEPT if found.get(name)}


def environment(variables: Mapping[str, str] = os.environ) -> Environment:
    """Read the variables that are set and not empty.

    Raises:
        ValueError: a variable cannot be used, or the file of the key cannot be read; the message names the variable,
            its value and what it may be.
    """
    given: dict[str, Any] = {field: variables[name] for field, name in VARIABLES.items() if variables.get(name)}
    if "api_key" not in given and (file := variables.get(KEY_FILE)):
        try:
            given["api_key"] = Path(file).read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise ValueError(f"The file of {KEY_FILE}, {file}, cannot be read: put the key there.") from error
    try:
        return Environment.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        value = re.sub("//[^/]*@", "//…@", str(first["input"]))  # an address may hold a password
        problem = first["msg"].removeprefix("Value error, ").replace("Input should", "it should", 1)
        raise ValueError(f"{VARIABLES[str(first['loc'][0])]} cannot be {value!r}: {problem}.") from None


def check_environment(variables: Mapping[str, str] = os.environ) -> None:
    """Look whether the variables can be, for a program that goes on for long; it may block.

    A name that is nearly that of a variable is refused. Others are left alone: DRAMATURG_ is the prefix of more than
    this package reads, such as what Kubernetes sets for a service of this name.

    Raises:
        ValueError: as of `environment`; or a name is misspelt, or a file stands where a folder is to be.
    """
    readable = {name.partition("_")[2]: name for name in (SETTINGS_FILE, KEYS_FILE, KEY_FILE, *VARIABLES.values())}
    for name in variables:
        prefix, _, rest = name.partition("_")
        unread = prefix == "DRAMATURG" and readable.get(rest) != name
        if unread and (near := get_close_matches(rest, readable, n=1, cutoff=0.65)):
            raise ValueError(f"{name} is not read: did you mean {readable[near[0]]}?")
    found = environment(variables)
    for field in ("library", "cache", "weights"):
        place = getattr(found, field)
        if isinstance(place, Path) and place.is_file():
            raise ValueError(f"{VARIABLES[field]} cannot be {str(place)!r}: it may be a folder, and this is a file.")
