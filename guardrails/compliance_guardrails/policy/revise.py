"""Open a new version of a policy file: the present one goes to history/ as it is, the new one gets its
date.

So that an expert edits the right file in the right order: `policy revise thresholds --effective-from
2026-09-01`, then the edit. Nothing is ever overwritten in history/.
"""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

from .errors import PolicyError
from .versions import LEDGERS, current_files, read_version, replace_date
from .yaml_reader import ROOT


def revise(directory: Path, name: str, effective_from: date) -> tuple[str, str]:
    """Archive the current version of `name` ("thresholds", "rules/claims"), date the new one.

    Returns the names of the archived and of the current file. PolicyError when the date is not later than
    the present one, when the file is unknown, or when the copy exists already.
    """
    files = current_files(directory)
    full = next((known for known in files if name in (known, known.rsplit(".", 1)[0])), None)
    if full is None or full in LEDGERS:
        choices = ", ".join(known.rsplit(".", 1)[0] for known in sorted(files) if known not in LEDGERS)
        raise PolicyError(name[:60], ROOT, f"l’un des noms {choices}")
    path = files[full]
    version = read_version(path, full, full)
    if effective_from <= version.effective_from:
        raise PolicyError(full, "effective_from", f"une date postérieure au {version.effective_from.isoformat()}")
    kept = f"history/{full.rsplit('.', 1)[0]}/{version.effective_from.isoformat()}{path.suffix}"
    target = directory / kept
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as handle:
            handle.write(version.raw)
        draft = path.with_name(f".{path.name}.tmp")
        draft.write_bytes(replace_date(version.raw, version.effective_from, effective_from))
        os.replace(draft, path)  # noqa: PTH105 - atomic, same folder
    except FileExistsError:
        raise PolicyError(kept, ROOT, "aucun fichier de ce nom (il ferait foi pour le passé)") from None
    except OSError:
        raise PolicyError(full, ROOT, "un dossier de politique où l’on peut écrire") from None
    return kept, full
