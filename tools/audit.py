"""Known vulnerabilities of the locks: `python tools/audit.py LOCK...` asks pip-audit and judges what it could look up.

A service that does not answer, and a package that the service does not know, are no clean bill of health: both end
with exit code 2. Exit 0 every package was looked up and none is known to be vulnerable · 1 a vulnerability is known · 2
could not decide. Needs pip-audit (`make audit` brings it) and its vulnerability service; installs nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Audit:
    """What one lock gave. `known`: one line a vulnerability; `unasked`: names without an answer; `failed`: why."""

    lock: str
    asked: int
    known: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()
    failed: str = ""

    @property
    def code(self) -> int:
        """The exit code that this lock deserves."""
        return 1 if self.known else 2 if self.failed or self.unasked or not self.asked else 0


def audited(lock: Path, command: Sequence[str]) -> Audit:
    """Ask `command` (pip-audit) about one hash-pinned lock; never raises for what the service does."""
    words = [*command, "--require-hashes", "--disable-pip", "--progress-spinner", "off", "-f", "json", "-r", str(lock)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=_SECONDS)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        return Audit(lock.name, 0, failed=type(error).__name__)
    return read(lock.name, done.stdout, done.returncode)


def read(lock: str, answer: str, code: int) -> Audit:
    """The judgement of pip-audit's JSON answer; anything else is a failure."""
    try:
        rows = json.loads(answer)["dependencies"]
        unasked = tuple(sorted(str(row["name"]) for row in rows if "skip_reason" in row))
        known = tuple(
            f"{row['name']} {row['version']} : {found['id']} (corrigé en {', '.join(found['fix_versions']) or '—'})"
            for row in rows
            for found in (() if "skip_reason" in row else row["vulns"])
        )
    except (ValueError, KeyError, TypeError):
        return Audit(lock, 0, failed=f"pas de réponse lisible, code {code}")
    return Audit(lock, len(rows) - len(unasked), known, unasked)


def main(arguments: Sequence[str]) -> int:
    """One French line a lock, then what is known; the worst code, where a known vulnerability is the worst."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("locks", type=Path, nargs="+")
    parser.add_argument("--pip-audit", default=f"{sys.executable} -m pip_audit", help="the command that is asked")
    options = parser.parse_args(arguments)
    results = [audited(lock, options.pip_audit.split()) for lock in options.locks]
    for one in results:
        sys.stdout.write(f"{one.lock} : {one.asked} paquets consultés, {len(one.known)} vulnérabilités connues\n")
        for line in one.known:
            sys.stdout.write(f"  {line}\n")
        if one.unasked:
            sys.stderr.write(
                f"{one.lock} : {len(one.unasked)} paquets inconnus du service ({', '.join(one.unasked)})\n"
            )
        if one.failed:
            sys.stderr.write(f"{one.lock} : service de vulnérabilités non consulté ({one.failed})\n")
    codes = {one.code for one in results}
    return 1 if 1 in codes else max(codes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
