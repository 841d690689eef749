"""Every file of a policy folder looked at on its own, then together: what `policy check` prints, one
result a file.

Unlike `load_policy`, which stops at the first file that is wrong, this goes on, history included. Rule
files are read by the detectors that own them, through RULE_READERS.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from .errors import PolicyError, Problem
from .loader import MODELS, OPTIONAL, load_policy
from .prompts import parse_prompt
from .strict import parse_yaml
from .versions import Version, current_files, history_of, pick, read_version
from .yaml_reader import ROOT, read_yaml

# "module:function", called with the folder: each reads its rule files as the detectors do at start, examples
# included, and raises PolicyError. Named, not imported: the policy package does not depend on the detectors.
RULE_READERS: Final = (
    "compliance_guardrails.detect.in_use:load",
    "compliance_guardrails.detect.rulebook:load_book",
)


@dataclass(frozen=True, slots=True)
class Result:
    """One file: no problem, or the problems found. `note` says since when it is in force."""

    name: str
    problems: tuple[Problem, ...] = ()
    note: str = ""


def check_folder(directory: Path) -> tuple[Result, ...]:
    """One result per file of the folder, then one for what they say of one another if each is right."""
    try:
        files = current_files(directory)
    except PolicyError as error:
        return (Result(error.file, error.problems),)
    results = [_result(name, partial(_current, directory, name, path)) for name, path in sorted(files.items())]
    results += [
        Result(name, (Problem(name, ROOT, "un fichier présent dans le dossier de politique"),))
        for name in MODELS
        if name not in files and name not in OPTIONAL
    ]
    for name in sorted(files):
        results += _history(directory, name)
    results = _with_rules(results, directory)
    if not any(result.problems for result in results):
        try:
            load_policy(directory)
        except PolicyError as error:
            results.append(Result("ensemble", error.problems))
    return tuple(results)


def _current(directory: Path, name: str, path: Path) -> str:
    version = pick(directory, name, path, None)
    if version is None:
        raise PolicyError(name, "effective_from", "une version en vigueur")
    _read(version)
    return f"depuis le {version.effective_from.isoformat()}"


def _with_rules(results: list[Result], directory: Path) -> list[Result]:
    """`results` with what the detectors say of their rule files, at the file concerned."""
    found: dict[str, list[Problem]] = {}
    for reader in RULE_READERS:
        module, _, function = reader.partition(":")
        try:
            getattr(importlib.import_module(module), function)(directory)
        except PolicyError as error:
            for problem in error.problems:
                name = f"rules/{problem.file.removeprefix('rules/')}"
                found.setdefault(name, []).append(Problem(name, problem.key, problem.expected))
    amended = [
        Result(result.name, tuple(found.pop(result.name)), result.note)
        if not result.problems and result.name in found
        else result
        for result in results
    ]
    known = {result.name for result in results}
    return amended + [Result(name, tuple(problems)) for name, problems in found.items() if name not in known]


def _history(directory: Path, name: str) -> Iterator[Result]:
    try:
        past = history_of(directory, name)
    except PolicyError as error:
        yield Result(error.file, error.problems)
        return
    for day, path in sorted(past.items()):
        shown = f"history/{name.rsplit('.', 1)[0]}/{path.name}"

        def read(path: Path = path, shown: str = shown, day: object = day) -> str:
            version = read_version(path, name, shown)
            if version.effective_from != day:
                raise PolicyError(shown, "effective_from", f"la date de son nom de fichier, {path.stem}")
            _read(version)
            return ""

        yield _result(shown, read)


def _read(version: Version) -> None:
    name = version.name
    if name.startswith("prompts/"):
        parse_prompt(version.text, Path(name).stem, version.shown)
    elif name.startswith("rules/"):
        read_yaml(version.text, version.shown)
    elif name in MODELS:
        parse_yaml(version.text, MODELS[name], version.shown)
    else:
        raise PolicyError(name, ROOT, f"l’un des fichiers {', '.join(MODELS)}")


def _result(name: str, read: Callable[[], str]) -> Result:
    try:
        return Result(name, note=read())
    except PolicyError as error:
        return Result(name, error.problems)
