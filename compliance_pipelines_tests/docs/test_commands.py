"""Every command that a page prints can be typed: program, subcommands and options exist, where the page says.

Commands are taken from the text (code spans and fenced blocks), so a new one is checked as soon as it is written. They
are parsed by the programs' own parsers and not carried out; `kubectl exec deploy/X -- …` must name a Deployment of the
manifests, and a `dagster` command in its pod must find a workspace and be let through to the code location.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
import typer
from compliance_guardrails import cli as guardrails_cli

from compliance_pipelines_tests.deploy.tools import ROOT, documents, overlay, pod_specs

PAGES = sorted(
    [
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "guardrails/README.md")),
    ]
)
PROGRAMS = ("compliance", "compliance-guardrails", "dagster", "make", "python", "kubectl", "docker")
# the old way, which the runbook's table sets beside the new one
REPLACED = re.compile(r"kubectl (logs|get|describe|create) ")
WORKSPACE = "/opt/dagster/home/workspace.yaml"


def commands(text: str) -> list[str]:
    """Command lines of a page, without comments, pipes and what follows `&&`; optional parts in brackets included."""
    # a fence names its language, other languages are not for a shell
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line for language, block in blocks if language in {"", "sh", "bash"} for line in block.splitlines()]
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    lines += [re.sub(r"\s+", " ", span) for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", prose)]
    found = []
    for line in lines:
        for part in re.sub(r"\s#.*$", "", line).split("&&"):
            one = re.split(r"[|>]", part.strip().removeprefix("$ "))[0].strip()
            words = one.split()
            # a bare name speaks of the program, dots stand for any of its commands
            if len(words) > 1 and words[0].removeprefix(".venv/bin/") in PROGRAMS and words[1] != "…":
                found.append(one.removeprefix(".venv/bin/"))
    return found


PRINTED = [(page.relative_to(ROOT).as_posix(), one) for page in PAGES for one in commands(page.read_text("utf-8"))]


class ParsedError(Exception):
    """Raised in place of carrying a command out."""


def click_parses(command: Any, words: list[str], parent: Any = None) -> None:
    """Raise a usage error unless `words` are a command line of `command`, one of click's or of typer's own copy."""
    # in prose a command may be named without what it is to work on
    context = command.make_context(command.name, list(words), parent=parent, resilient_parsing=not words)
    if hasattr(command, "resolve_command"):
        rest = [*getattr(context, "_protected_args", []), *context.args]
        _, chosen, remaining = command.resolve_command(context, rest)
        assert chosen is not None
        click_parses(chosen, remaining, context)


def stopping(parse: Callable[..., object]) -> Callable[..., None]:
    """`parse`, and no further."""

    def parsed(self: argparse.ArgumentParser, *arguments: object) -> None:
        parse(self, *arguments)
        raise ParsedError

    return parsed


def check(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = shlex.split(line.replace("[", "").replace("]", ""))
    program, rest = words[0], words[1:]
    if program == "compliance":
        from compliance_pipelines.cli import app

        click_parses(typer.main.get_command(app), rest)
    elif program == "compliance-guardrails":
        for name in ("parse_args", "parse_intermixed_args"):
            monkeypatch.setattr(argparse.ArgumentParser, name, stopping(getattr(argparse.ArgumentParser, name)))
        if rest in (["--help"], ["-h"]):
            return
        chosen = next(one for one in guardrails_cli.COMMANDS if one.name == rest[0])
        with pytest.raises(ParsedError):
            chosen.run(rest[1:])
    elif program == "dagster":
        from dagster._cli import create_dagster_cli

        click_parses(create_dagster_cli(), rest)
    elif program == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        assert set(rest) <= set(targets)
    elif program == "python":
        assert rest[0].startswith("-") or (ROOT / rest[0]).exists()
    elif program == "docker":
        assert (ROOT / rest[rest.index("-f") + 1]).exists()
        names = set(re.findall(r"^ARG (\w+)", (ROOT / rest[rest.index("-f") + 1]).read_text("utf-8"), re.MULTILINE))
        assert {rest[k + 1].partition("=")[0] for k, word in enumerate(rest) if word == "--build-arg"} <= names
    elif program == "kubectl" and "exec" in rest:
        in_pod(rest, monkeypatch)


def in_pod(rest: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    name = next(word for word in rest if word.startswith("deploy/")).removeprefix("deploy/")
    inner = rest[rest.index("--") + 1 :] if "--" in rest else []
    found = documents(overlay("production"))
    spec = pod_specs(found)[f"Deployment/{name}"]
    assert rest[:2] == ["-n", "compliance"]
    if not inner or inner[0] == "…":
        return
    check(shlex.join(inner), monkeypatch)
    if inner[0] == "dagster" and inner[1] != "instance":
        container = spec["containers"][0]
        mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
        assert WORKSPACE in mounted
        assert WORKSPACE in inner or f"{container.get('workingDir')}/workspace.yaml" == WORKSPACE
        policy = next(d for d in found if (d["kind"], d["metadata"]["name"]) == ("NetworkPolicy", "to-code-location"))
        (allowed,) = policy["spec"]["podSelector"]["matchExpressions"]
        assert name in allowed["values"]


@pytest.mark.parametrize(("page", "line"), PRINTED, ids=[f"{page}: {line}" for page, line in PRINTED])
def test_a_printed_command_can_be_typed(page: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert page
    if not REPLACED.match(line):
        check(line, monkeypatch)


def test_the_pages_print_commands_of_every_program() -> None:
    assert {line.split()[0] for _, line in PRINTED} == set(PROGRAMS)
    assert len(PRINTED) > 60


CANNOT = (AssertionError, click.UsageError, SystemExit, StopIteration, KeyError, OSError)
# typer's copy of click has usage errors of its own
CANNOT += tuple(one for one in typer.BadParameter.__mro__ if one.__name__ == "UsageError")


@pytest.mark.parametrize(
    "line",
    [
        "compliance report bild 2026-06",
        "compliance status neutrality --all-of-it",
        "compliance-guardrails policy dif --base HEAD",
        "dagster schedule begin --start-all",
        "dagster job backfill --partition 2026-06-30",
        "make demos",
        "python tools/nothing.py",
        "docker build -f docker/nothing.Dockerfile .",
        "kubectl -n compliance exec deploy/webservers -- dagster instance migrate",
        # its pod has no workspace at hand, and no way to the code location
        "kubectl -n compliance exec deploy/code-location -- dagster schedule start --start-all",
    ],
)
def test_the_check_would_see_a_command_that_cannot(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CANNOT):
        check(line, monkeypatch)


@pytest.mark.parametrize("name", ["daemon", "code-location"])
def test_commands_of_the_runbook_run_in_pods_that_stand(name: str) -> None:
    assert f"kubectl -n compliance exec deploy/{name} --" in Path(ROOT / "docs" / "runbook.md").read_text("utf-8")
