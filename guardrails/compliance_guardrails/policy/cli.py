"""`compliance-guardrails policy check | digest | schema | diff | revise`: what people do to a policy
folder by hand.

Results are French, for the experts who own the files; exit 0 in order, 1 the folder (or the change) is
not in order, 2 could not decide. Nothing is judged here: the lines come from the modules that know.
"""

from __future__ import annotations

import argparse
import sys
from datetime import date
from pathlib import Path

from .check import check_folder
from .diff import Kind, compare
from .errors import PolicyError
from .git_base import read_folder, read_revision
from .loader import load_policy
from .paths import policy_dir
from .revise import revise
from .schema import render, schemas

_ARGUMENT = "(argument)"

_FAULTS = (Kind.UNACKNOWLEDGED, Kind.LEDGER)


def main(argv: list[str]) -> int:
    """Run one of the policy subcommands; PolicyError is for the caller to print (exit 2)."""
    parser = argparse.ArgumentParser(prog="compliance-guardrails policy", description="The policy folder.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    # Its digest is not the one a report of a past month carries: the help says which is which.
    about = (
        "one line per file, then the digest of the newest files (a report carries that of its month: digest --at DAY)"
    )
    command = commands.add_parser("check", help=f"{about}; exit 1 when a file is not in order")
    _folder(command)
    command.set_defaults(run=_check)

    command = commands.add_parser("digest", help="the sha256 of the policy in force")
    _folder(command)
    command.add_argument("--at", metavar="DATE", help="the policy in force on that day (default: the newest)")
    command.add_argument("--files", action="store_true", help="also one line per file")
    command.set_defaults(run=_digest)

    command = commands.add_parser("schema", help="JSON Schema of one file, or of all")
    command.add_argument("name", nargs="?", metavar="NAME", help="departments, thresholds, …, prompt")
    command.add_argument("--out", type=Path, metavar="DIR", help="write <name>.schema.json files there instead")
    command.set_defaults(run=_schema)

    command = commands.add_parser("diff", help="what a change loosens or removes; exit 1 when retired.yaml is silent")
    command.add_argument("--base", required=True, metavar="REV", help="git revision to compare with")
    command.add_argument(
        "--strict", action="store_true", help="also refuse edits without a new date and a copy in history/"
    )
    _folder(command)
    command.set_defaults(run=_diff)

    command = commands.add_parser("revise", help="archive a file's version and open a new one")
    command.add_argument("name", metavar="NAME", help="departments, thresholds, rules/claims, prompts/legal, …")
    command.add_argument("--effective-from", required=True, metavar="DATE", help="first day of the new version")
    _folder(command)
    command.set_defaults(run=_revise)

    chosen = commands.choices.get(argv[0]) if argv else None
    # Intermixed, so that DIR may stand before or behind the options; subparsers alone cannot do that.
    arguments = chosen.parse_intermixed_args(argv[1:]) if chosen is not None else parser.parse_args(argv)
    return int(arguments.run(arguments))


def _folder(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "dir",
        nargs="?",
        type=Path,
        metavar="DIR",
        help="default: COMPLIANCE_POLICY_DIR, else the bundled files",
    )


def _check(arguments: argparse.Namespace) -> int:
    faults = 0
    for result in check_folder(policy_dir(arguments.dir)):
        if not result.problems:
            _say(f"OK      {result.name}{f' ({result.note})' if result.note else ''}")
        for problem in result.problems:
            faults += 1
            _say(f"erreur  {problem.line_fr}")
    _say(f"{faults} erreur{'s' if faults > 1 else ''}" if faults else f"empreinte {load_policy(arguments.dir).digest}")
    return 1 if faults else 0


def _digest(arguments: argparse.Namespace) -> int:
    policy = load_policy(arguments.dir, _day(arguments.at, "--at") if arguments.at else None)
    _say(policy.digest)
    if arguments.files:
        for name, digest in policy.file_digests.items():
            _say(f"{digest}  {name}")
    return 0


def _schema(arguments: argparse.Namespace) -> int:
    known = schemas()
    if arguments.name is not None and arguments.name not in known:
        raise PolicyError(arguments.name[:60], _ARGUMENT, f"l’un des noms {', '.join(known)}")
    chosen = known if arguments.name is None else {arguments.name: known[arguments.name]}
    if arguments.out is not None:
        try:
            arguments.out.mkdir(parents=True, exist_ok=True)
            for name, schema in chosen.items():
                (arguments.out / f"{name}.schema.json").write_text(render(schema), encoding="utf-8")
        except OSError:
            raise PolicyError(arguments.out.name, _ARGUMENT, "un dossier où l’on peut écrire") from None
        return 0
    sys.stdout.write(render(known if arguments.name is None else chosen[arguments.name]))
    return 0


def _diff(arguments: argparse.Namespace) -> int:
    folder = policy_dir(arguments.dir)
    load_policy(folder)  # a folder that does not load cannot be compared
    base = read_revision(folder, arguments.base)
    if not base:
        _say(f"aucune politique à la révision {arguments.base[:60]} : rien à comparer")
        return 0
    faults = (*_FAULTS, Kind.UNDATED) if arguments.strict else _FAULTS
    count = 0
    for finding in compare(base, read_folder(folder)):
        wrong = finding.kind in faults
        count += wrong
        label = "erreur " if wrong else "attention" if finding.kind is Kind.UNDATED else finding.kind.value
        _say(f"{label:<9} {finding.line_fr}")
    _say(f"{count} point{'s' if count > 1 else ''} à corriger" if count else "en ordre")
    return 1 if count else 0


def _revise(arguments: argparse.Namespace) -> int:
    kept, current = revise(
        policy_dir(arguments.dir), arguments.name, _day(arguments.effective_from, "--effective-from")
    )
    _say(f"{kept} : version précédente conservée")
    _say(f"{current} : nouvelle version au {arguments.effective_from}, à modifier maintenant")
    return 0


def _day(text: str, option: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise PolicyError(option, _ARGUMENT, "une date AAAA-MM-JJ") from None


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
