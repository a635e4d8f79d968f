"""What lies in deploy/: the graphs of the root, versions that the package allows, services that wait for each other."""

import inspect
import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import Requirement

from dramaturg.cli.serve import serve
from dramaturg.models.environment import KEY_FILE, VARIABLES

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]


def test_the_graphs_are_those_of_the_root() -> None:
    here, there = [json.loads((folder / "langgraph.json").read_bytes()) for folder in (ROOT, DEPLOY)]
    assert "app" in here["http"]
    del here["http"]["app"]  # langhost 0.11.1 does not start with one
    assert there == here


def test_the_lock_is_allowed_by_the_package() -> None:
    lines = (DEPLOY / "graphs.lock").read_text(encoding="utf-8").splitlines()[1:]
    pinned = {canonical(name): version for name, version in (line.split("==") for line in lines)}
    assert "langhost" in pinned
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = [Requirement(line) for line in (*PROJECT["project"]["dependencies"], *extras["postgres"])]
    assert [str(one) for one in wanted if pinned[canonical(one.name)] not in one.specifier] == []


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_an_image_is_made_of_the_package_and_nothing_else() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    given = {line[1:] for line in lines if line.startswith("!")}
    folders = {folder.split("/")[0] for folder in PROJECT["tool"]["setuptools"]["package-dir"].values()}
    files = {"pyproject.toml", "README.md", "LICENSE", "NOTICE", "constraints.txt"}
    assert given == folders | files | {f"deploy/{name}" for name in ("entrypoint.sh", "graphs.lock", "langgraph.json")}
    assert lines[1] == "*"


def test_copied_files_are_there() -> None:
    dockerfile = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    copied = re.findall(r"^COPY (deploy/\S+)", dockerfile, re.MULTILINE)
    assert copied
    assert all((ROOT / name).is_file() for name in copied)
    assert dockerfile.count("USER dramaturg") == 2
    subprocess.run(["sh", "-n", str(DEPLOY / "entrypoint.sh")], check=True)


def test_replicas_start_one_after_the_other_with_a_read_only_root_and_a_volume_each() -> None:
    ours = [SERVICES[name] for name in ("replica-1", "replica-2", "tools")]
    assert all(one["read_only"] for one in ours)
    assert len({volume for one in ours for volume in one["volumes"]}) == len(ours)
    healthy = {"condition": "service_healthy"}
    assert SERVICES["replica-1"]["depends_on"] == {"postgres": healthy, "redis": healthy}
    assert SERVICES["replica-2"]["depends_on"] == {"replica-1": healthy}
    upstreams = re.search(r"reverse_proxy (.+) \{", (DEPLOY / "Caddyfile").read_text(encoding="utf-8"))
    assert upstreams
    assert upstreams[1].split() == ["replica-1:8000", "replica-2:8000"]


def test_a_proxy_closes_idle_connections_before_the_server_and_lets_pass_what_it_takes() -> None:
    nginx, caddy = [(DEPLOY / name).read_text(encoding="utf-8") for name in ("nginx.conf", "Caddyfile")]
    own = {name: one.default for name, one in inspect.signature(serve).parameters.items()}
    assert {*re.findall(r"keepalive_timeout (\d+)s", nginx)} == {str(own["keep_alive"] - 15)}
    assert re.findall(r"client_max_body_size (\d+)m", nginx) == [str(own["most_upload_bytes"] // 2**20)]
    assert re.findall(r"\bkeepalive (\d+)s", caddy) == ["4"]  # langhost's is uvicorn's own: 5 s
    page = (ROOT / "docs" / "how-to" / "serve.md").read_text(encoding="utf-8")
    assert nginx.partition("\n")[2] in page


def test_keys_come_from_files() -> None:
    for one in (SERVICES["replica-1"], SERVICES["tools"]):
        said = one["environment"]
        assert {name for name in said if name.startswith(("DRAMATURG_", "OPENAI_"))} <= {*VARIABLES.values(), KEY_FILE}
        assert {name for name in said if re.search("KEY|PASSWORD", name)} == {KEY_FILE, "PGPASSWORD_FILE"}
        assert "OPENAI_API_KEY" not in said
        assert not any("password" in str(value) for name, value in said.items() if name != "PGPASSWORD_FILE")
