"""Bill of materials and licences of a lock: `python tools/supply_chain.py LOCK --sbom FILE --licences FILE`.

Reads the lock (names, versions, hashes) and the metadata of what is installed; asks no network. The SBOM is CycloneDX
1.5 JSON, the same bytes for the same lock. Exit 0 written · 1 a licence that the project does not accept, or a package
of the lock that is not installed · 2 unreadable lock.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import re
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9_.-]*)(?:\[[^\]]*\])?==([^\s;\\]+)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
# Strong copyleft and unclear terms: a person decides before such a package comes in. LGPL and MPL pass as libraries.
_REFUSED = re.compile(
    r"AGPL|SSPL|(?<![A-Za-z])GPL|(?<!Lesser )General Public License|Business Source|Commons Clause", re.IGNORECASE
)
# reason beside each exception
_ACCEPTED = {"psycopg2-binary": "LGPL with exceptions, used as a library"}


@dataclass(frozen=True, slots=True)
class Component:
    """One locked package. `licence` is None when it is not installed, "" when its metadata names none."""

    name: str
    version: str
    hashes: tuple[str, ...]
    licence: str | None

    @property
    def refused(self) -> bool:
        """Whether a person must look at its licence."""
        return bool(self.licence and _REFUSED.search(self.licence)) and self.name not in _ACCEPTED


def components(lock: str) -> list[Component]:
    """The packages of a pip lock text, by name."""
    starts = list(_PIN.finditer(lock))
    ends = [match.start() for match in starts[1:]] + [len(lock)]
    return sorted(
        (
            Component(m[1].lower(), m[2], tuple(_HASH.findall(lock[m.start() : end])), licence_of(m[1]))
            for m, end in zip(starts, ends, strict=True)
        ),
        key=lambda component: component.name,
    )


def licence_of(name: str) -> str | None:
    """The licence that the installed metadata names: expression, else classifiers, else the first line of the field."""
    try:
        found = metadata.metadata(name).json
    except metadata.PackageNotFoundError:
        return None
    classifiers = [str(c).rpartition(" :: ")[2] for c in found.get("classifier", []) if str(c).startswith("License ::")]
    field = str(found.get("license") or "").strip().partition("\n")[0][:80]
    return str(found.get("license_expression") or "") or "; ".join(classifiers) or field


def sbom(found: list[Component], lock: str) -> dict[str, Any]:
    """CycloneDX 1.5; the serial number comes from the lock, so that the same lock gives the same document."""
    digest = hashlib.sha256(lock.encode()).hexdigest()
    serial = f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "compliance-pipelines"}},
        "components": [
            {
                "type": "library",
                "name": one.name,
                "version": one.version,
                "purl": f"pkg:pypi/{one.name}@{one.version}",
                "hashes": [{"alg": "SHA-256", "content": value} for value in one.hashes],
                "licenses": [{"license": {"name": one.licence}}] if one.licence else [],
            }
            for one in found
        ],
    }


def licences_csv(found: list[Component]) -> str:
    """One line a package: name, version, licence."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("package", "version", "licence"))
    writer.writerows((one.name, one.version, one.licence or "non déclarée") for one in found)
    return text.getvalue()


def main(arguments: list[str]) -> int:
    """Read, write, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lock", type=Path)
    parser.add_argument("--sbom", type=Path)
    parser.add_argument("--licences", type=Path)
    options = parser.parse_args(arguments)
    try:
        lock = options.lock.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        sys.stderr.write(f"{options.lock} : illisible ({type(error).__name__})\n")
        return 2
    found = components(lock)
    if not found or not all(one.hashes for one in found):
        sys.stderr.write(f"{options.lock} : attendu un verrou « nom==version » avec ses empreintes sha256\n")
        return 2
    if options.sbom:
        options.sbom.write_text(json.dumps(sbom(found, lock), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    if options.licences:
        options.licences.write_text(licences_csv(found), encoding="utf-8")
    wrong = [f"{one.name} {one.version} : licence {one.licence}" for one in found if one.refused]
    wrong += [f"{one.name} {one.version} : non installé, licence inconnue" for one in found if one.licence is None]
    for line in wrong:
        sys.stderr.write(f"{line}\n")
    sys.stdout.write(f"{len(found)} paquets, {len(wrong)} à examiner\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
