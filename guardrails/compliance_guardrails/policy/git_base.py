"""The policy folder as it was at a git revision: name → text. The only module here that runs another program.

Read-only: `rev-parse`, `ls-tree`, `show`. What cannot be read (no git, no repository, unknown revision) is a
PolicyError, so that the command answers "could not decide".
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

from .errors import PolicyError
from .paths import MAX_FILES
from .yaml_reader import MAX_BYTES, ROOT, decode, read_bytes

_TIMEOUT: Final = 30
_SUFFIXES: Final = (".yaml", ".md")


def read_revision(directory: Path, revision: str) -> dict[str, str]:
    """Every policy file of `directory` at `revision`; empty when the folder did not exist then."""
    wanted = f"{revision}^{{commit}}"
    commit = _git(directory, revision, "rev-parse", "--verify", "--quiet", "--end-of-options", wanted)
    sha = commit.decode("ascii", "replace").strip()
    listed = _git(directory, revision, "ls-tree", "-r", "-z", "--name-only", sha)
    names = [name for name in listed.decode("utf-8", "surrogateescape").split("\0") if is_policy_file(name)]
    if len(names) > MAX_FILES:
        raise PolicyError(revision[:60], ROOT, f"au plus {MAX_FILES} fichiers de politique")
    return {name: _text(directory, revision, sha, name) for name in names}


def read_folder(directory: Path) -> dict[str, str]:
    """Every policy file of `directory` as it is now, history included."""
    found: dict[str, str] = {}
    for path in sorted(directory.rglob("*")):
        name = path.relative_to(directory).as_posix()
        if path.is_file() and is_policy_file(name):
            found[name] = _unix(decode(read_bytes(path, name), name))
    return found


def is_policy_file(name: str) -> bool:
    """True for the names that are compared: YAML, prompts and their history; no README, nothing hidden."""
    parts = name.split("/")
    hidden = any(part.startswith(".") for part in parts)
    return name.endswith(_SUFFIXES) and not hidden and parts[-1] not in {"README.md", "LISEZMOI.md"}


def _unix(text: str) -> str:
    """Line ends as git stores them: a checkout that converts them has not edited the policy."""
    return text.replace("\r\n", "\n")


def _text(directory: Path, revision: str, sha: str, name: str) -> str:
    raw = _git(directory, revision, "show", f"{sha}:./{name}")
    if len(raw) > MAX_BYTES:
        raise PolicyError(f"{revision}:{name}", ROOT, f"un fichier d’au plus {MAX_BYTES // 1000} Ko")
    return _unix(decode(raw, f"{revision}:{name}"))


def _git(directory: Path, revision: str, *arguments: str) -> bytes:
    program = shutil.which("git")
    if program is None:
        raise PolicyError(revision[:60], ROOT, "le programme git, introuvable sur cette machine")
    try:
        # A list, no shell; the revision stands behind --end-of-options, later calls use the commit id.
        done = subprocess.run(  # noqa: S603
            [program, "-C", str(directory), *arguments],
            capture_output=True,
            check=False,
            timeout=_TIMEOUT,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        raise PolicyError(revision[:60], ROOT, "une révision git lisible") from None
    if done.returncode != 0:
        raise PolicyError(revision[:60], ROOT, "une révision connue du dépôt git qui contient le dossier de politique")
    return done.stdout
