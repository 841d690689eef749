"""The Dockerfiles as far as they can be checked without a daemon: context, pins, hashes, and who runs what.

No image is built here. What a build would meet first is checked as text: a source that .dockerignore keeps out, a
package without a hash, a lock that no longer satisfies what the distributions ask for.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from compliance_pipelines_tests.deploy.tools import ROOT

DOCKER = ROOT / "docker"
IMAGES = ("pipelines", "guardrails")
LOCKS = (
    "docker/requirements.txt",
    "docker/guardrails-requirements.txt",
    "requirements/app.txt",
    "requirements/tools.txt",
)


def instructions(name: str) -> list[tuple[str, str]]:
    """(instruction, argument), continuation lines joined."""
    text = (DOCKER / f"{name}.Dockerfile").read_text(encoding="utf-8")
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    return [
        (word, rest.strip()) for word, _, rest in (line.partition(" ") for line in text.splitlines() if line.strip())
    ]


def pins(lock: str) -> dict[str, str]:
    found = re.findall(r"^([A-Za-z0-9_.-]+)(?:\[[^\]]*\])?==([^\s\\;]+)", lock, re.MULTILINE)
    return {canonicalize_name(name): version for name, version in found}


def unsatisfied(asked: list[str], lock: dict[str, str]) -> list[str]:
    wrong = []
    for text in asked:
        one = Requirement(text)
        version = lock.get(canonicalize_name(one.name))
        if version is None or not one.specifier.contains(version, prereleases=True):
            wrong.append(f"{text}: {version}")
    return wrong


@pytest.mark.parametrize("name", IMAGES)
def test_what_is_copied_is_in_the_context(name: str) -> None:
    allowed = [
        line[1:]
        for line in (DOCKER / f"{name}.Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
        if line.startswith("!")
    ]
    copied = [
        source
        for word, rest in instructions(name)
        if word == "COPY" and not rest.startswith("--from")
        for source in rest.split()[:-1]
    ]
    assert copied
    for source in copied:
        assert (ROOT / source).exists(), source
        assert any(Path(source).match(pattern) for pattern in allowed), f"{source} is kept out by .dockerignore"


@pytest.mark.parametrize("name", IMAGES)
def test_every_install_is_by_hash_or_of_the_sources(name: str) -> None:
    runs = " && ".join(rest for word, rest in instructions(name) if word == "RUN")
    installs = [part.strip() for part in runs.split("&&") if "pip install" in part]
    assert installs
    for line in installs:
        assert "--no-deps" in line, line
        locked = "--require-hashes -r" in line or re.search(r"--require-hashes .*-r \S+\.txt", line)
        sources = [word for word in line.split("install", 1)[1].split() if word == "." or word.startswith("./")]
        assert locked or ("--no-build-isolation" in line and sources), line
        assert all((ROOT / source).joinpath("pyproject.toml").exists() for source in sources), line


@pytest.mark.parametrize("name", IMAGES)
def test_the_last_stage_runs_without_root_and_brings_no_tool(name: str) -> None:
    found = instructions(name)
    last = max(index for index, (word, _) in enumerate(found) if word == "FROM")
    stage = found[last:]
    assert [rest for word, rest in stage if word == "USER"] == ["10001:10001"]
    assert not any("pip install" in rest or "apt-get" in rest for word, rest in stage if word == "RUN")
    ((_, image),) = [one for one in found if one[0] == "ARG"]
    assert re.fullmatch(r"PYTHON_IMAGE=python:3\.1[1-3]-slim-bookworm", image)


def test_the_carrier_brings_nothing_that_shadows_the_gateway_s_packages() -> None:
    """Its folder stands first on the gateway's PYTHONPATH: what only builds the wheel is taken out again."""
    runs = " ".join(rest for word, rest in instructions("guardrails") if word == "RUN")
    brought = set(pins((DOCKER / "guardrails-requirements.txt").read_text(encoding="utf-8"))) - {"pyahocorasick"}
    assert brought == {"setuptools"}
    assert "rm -rf /wheels/unpacked/setuptools* /wheels/unpacked/_distutils_hack" in runs


@pytest.mark.parametrize("name", LOCKS)
def test_every_pin_has_its_hashes(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    blocks = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]
    assert len(blocks) == len(pins(text))
    assert [block.splitlines()[0] for block in blocks if "--hash=sha256:" not in block] == []
    assert not re.search(r"https?://", re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE))


@pytest.mark.parametrize(
    ("asked", "lock"),
    [
        ("docker/requirements.in", "docker/requirements.txt"),
        ("docker/guardrails-requirements.in", "docker/guardrails-requirements.txt"),
        ("requirements/tools.in", "requirements/tools.txt"),
    ],
)
def test_a_lock_satisfies_its_source(asked: str, lock: str) -> None:
    def lines(path: Path) -> list[str]:
        found = []
        for line in path.read_text(encoding="utf-8").splitlines():
            text = line.partition(" #")[0].strip()
            if text.startswith("-r "):
                found += lines((path.parent / text[3:]).resolve())
            elif text and not text.startswith("#"):
                found.append(text)
        return found

    assert unsatisfied(lines(ROOT / asked), pins((ROOT / lock).read_text(encoding="utf-8"))) == []


def test_the_image_s_lock_satisfies_the_distributions() -> None:
    """The image installs them with --no-deps: what they ask for must be in the lock."""
    lock = pins((DOCKER / "requirements.txt").read_text(encoding="utf-8"))
    line = next(rest for word, rest in instructions("pipelines") if word == "RUN" and "--no-build-isolation" in rest)
    sources = [word for word in line.split("&&")[0].split() if word == "." or word.startswith("./")]
    projects = [
        tomllib.loads((ROOT / source / "pyproject.toml").read_text(encoding="utf-8"))["project"] for source in sources
    ]
    ours = {canonicalize_name(project["name"]) for project in projects}
    asked = [
        text
        for project in projects
        for text in project["dependencies"]
        if canonicalize_name(Requirement(text).name) not in ours
    ]
    assert len(asked) > 15
    assert unsatisfied(asked, lock) == []


def test_the_lock_check_would_see_a_drift() -> None:
    assert unsatisfied(["alpha>=2", "beta"], {"alpha": "1.0"}) == ["alpha>=2: 1.0", "beta: None"]
