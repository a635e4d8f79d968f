"""The package as it is shipped: every file in the wheel, nothing below a version with a known hole."""

import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from dramaturg.cli.setup import EXTRAS as LOOKED_AT

ROOT = Path(__file__).parents[2]
FOLDERS = (
    *("cli", "conversations", "evaluation", "examples", "models", "nodes"),
    *("prompts", "server", "stores", "testing", "workflows"),
)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FLOORS = {
    "langgraph": "1.2.11",
    "langgraph-checkpoint": "4.2",
    "langgraph-checkpoint-sqlite": "3.1.1",
    "langgraph-sdk": "0.3.15",
    "langchain-core": "1.3.3",
    "langchain-openai": "1.1.14",
    "langsmith": "0.8.18",
    "faiss-cpu": "1.15.1",
    "torch": "2.10",
}
REQUIRED = {Requirement(line).name: Requirement(line) for line in PROJECT["dependencies"]}
EXTRAS = {name: [Requirement(line) for line in lines] for name, lines in PROJECT["optional-dependencies"].items()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy: a build leaves files behind."""
    target = tmp_path_factory.mktemp("wheel")
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, tracked.decode().split("\0")):
        copy = target / "source" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((ROOT / name).read_bytes())
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(target),
        str(target / "source"),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return next(target.glob("*.whl"))


def test_every_source_prompt_and_example_is_in_the_wheel(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    tracked = subprocess.run(["git", "ls-files", *FOLDERS], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    expected = {f"dramaturg/{name}" for name in tracked.splitlines()}
    assert len(expected) > 50
    assert expected - inside == set()


def test_nothing_else_is_in_the_wheel(wheel: Path) -> None:
    outside = [
        name
        for name in zipfile.ZipFile(wheel).namelist()
        if not name.startswith("dramaturg-") and name.split("/")[1] not in FOLDERS
    ]
    assert outside == []


@pytest.mark.parametrize("name", FLOORS)
def test_no_package_is_below_its_first_safe_version(name: str) -> None:
    assert Version(version(name)) >= Version(FLOORS[name])


@pytest.mark.parametrize("name", FLOORS)
def test_no_unsafe_version_may_be_installed(name: str) -> None:
    declared = [REQUIRED.get(name), *(r for extra in EXTRAS.values() for r in extra if r.name == name)]
    for requirement in filter(None, declared):
        floor = Version(FLOORS[name])
        assert all(Version(s.version) >= floor for s in requirement.specifier if s.operator == ">="), requirement
        assert any(s.operator in {">=", "=="} for s in requirement.specifier)


NAMED = re.compile(r"(?:dramaturg|\.|\.whl)\[([a-z, ]+)\]")
"""Extras where something is to be installed: `dramaturg[plot]`, `.[local,plot]`, `dist/….whl[local]`."""


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """What people read or run: docs, messages, the Makefile."""
    command = ["git", "ls-files", "*.md", "*.txt", "*.py", "Makefile", "*.yml"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout.splitlines()
    return {name: (ROOT / name).read_text(encoding="utf-8") for name in names if not name.startswith("tests/")}


def test_every_extra_that_is_named_exists(texts: dict[str, str]) -> None:
    named = [(name, found) for name, text in texts.items() for found in NAMED.findall(text)]
    assert len(named) > 7
    assert [one for one in named if not {extra.strip() for extra in one[1].split(",")} <= set(EXTRAS)] == []


def test_the_readme_installs_from_a_clone_and_a_wheel_what_its_lines_need(texts: dict[str, str]) -> None:
    lines = [line.partition("#")[0] for line in texts["README.md"].splitlines() if line.startswith("pip install ")]
    assert any("'.[" in line for line in lines)
    assert any(".whl[" in line for line in lines)
    assert not [line for line in lines if "'dramaturg[" in line]  # no registry has it
    named = [found.split(",") for line in lines for found in NAMED.findall(line)]
    assert all("multilingual" in one for one in named)  # an embedding model, where no server has one
    assert all({"local", "plot"} <= {*one} for one in named if "serve" not in one)
    first = next(at for at, line in enumerate(lines) if "local" in line)
    assert "torch" in lines[first - 1]


def test_doctor_looks_at_every_extra_that_people_use_and_names_the_right_one() -> None:
    assert set(LOOKED_AT.values()) == set(EXTRAS) - {"dev", "docs"}
    for name, extra in LOOKED_AT.items():
        assert name in {one.name for one in EXTRAS[extra]}


@pytest.mark.slow
def test_the_wheel_runs_where_it_is_installed(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env")
    python = tmp_path / "env" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    command = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip())
    others = [path for path in sys.path if path.endswith("site-packages")]  # the package itself is only linked there
    (site / "others.pth").write_text("\n".join(others))
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)
    for arguments in (["--version"], ["roles"], ["index", "--help"]):
        command = [python, "-c", "from dramaturg.cli.app import main; main()", *arguments]
        said = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, text=True).stdout
        assert said.strip()


def test_the_server_is_an_extra() -> None:
    assert not {"langgraph-api", "langgraph-cli"} & set(REQUIRED)
    assert {"local", "server", "dev"} <= set(EXTRAS)


def test_what_is_pinned_can_be_installed_on_every_python_that_is_promised() -> None:
    promised = [
        one for one in ("3.11.0", "3.12.0", "3.13.0", "3.14.0") if one in SpecifierSet(PROJECT["requires-python"])
    ]
    pinned = [line.partition("==")[0] for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line]
    refused = {}
    for name in pinned:
        try:
            wanted = SpecifierSet(str(distribution(name).metadata.json.get("requires_python", "")))
        except PackageNotFoundError:  # of another system
            continue
        if lacking := [one for one in promised if one not in wanted]:
            refused[name] = lacking
    assert refused == {}
    assert "3.11.0" in promised
