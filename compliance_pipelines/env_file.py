"""`.env` of the folder where a command is typed, as `dagster dev` (`make ui`) reads it.

One installation has one configuration. Without this the interface would read a server while the commands beside it, the
doctor first, reported the sample.
"""

from __future__ import annotations

import os
from pathlib import Path

from dotenv import dotenv_values

from compliance_pipelines.settings import SettingsError

NAME = ".env"


def load_env_file(folder: Path | None = None) -> tuple[str, ...]:
    """Set what the file names and the environment does not; the names set. SettingsError for a file that is no text."""
    path = (folder or Path.cwd()) / NAME
    if not path.is_file():
        return ()
    try:
        found = dotenv_values(path, interpolate=False)
    except (OSError, UnicodeDecodeError):
        raise SettingsError(f"{NAME} : illisible, attendu un texte UTF-8, une ligne NOM=valeur par variable") from None
    missing = {name: value for name, value in found.items() if value is not None and name not in os.environ}
    os.environ.update(missing)
    return tuple(missing)
