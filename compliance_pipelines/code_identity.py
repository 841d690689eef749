"""Which code computed a figure: the version and a digest over the sources that can change a figure.

Printed in the report, part of the input digest and of every reuse key, so that an edit of the code is never hidden
behind an unchanged version number.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import compliance_guardrails

import compliance_pipelines

_PARTS = ("core", "adapters", "defs", "io_manager.py", "reporting.py")


@cache
def code_identity() -> str:
    """`<version>+<12 hex digits>` over the sources of assets, core, adapters, policy reader and detectors."""
    ours = Path(compliance_pipelines.__file__).parent
    theirs = Path(compliance_guardrails.__file__).parent
    files = [path for part in _PARTS for path in _sources(ours / part)]
    files += [path for part in ("detect", "policy") for path in _sources(theirs / part)]
    whole = hashlib.sha256()
    for path in files:
        whole.update(f"{path.name} ".encode() + hashlib.sha256(path.read_bytes()).digest())
    return f"{compliance_pipelines.__version__}+{whole.hexdigest()[:12]}"


def _sources(place: Path) -> list[Path]:
    return [place] if place.is_file() else sorted(place.rglob("*.py"))
