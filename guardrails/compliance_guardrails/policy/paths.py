"""Where the policy folder is: an explicit path, else COMPLIANCE_POLICY_DIR, else the data shipped in the
package.

The environment is read at the call, never at import. A variable that is set but wrong is an error, not a
fall-back.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from .errors import PolicyError
from .yaml_reader import ROOT

VARIABLE: Final = "COMPLIANCE_POLICY_DIR"
BUNDLED: Final = Path(__file__).parent / "data"
MAX_FILES: Final = 2_000


def policy_dir(directory: Path | None = None) -> Path:
    """The policy folder in use. Raises PolicyError when it is not a folder."""
    if directory is None:
        configured = os.environ.get(VARIABLE, "")
        directory = Path(configured) if configured else BUNDLED
    try:
        found = directory.is_dir()
    except (OSError, ValueError):
        found = False
    if not found:
        raise PolicyError(directory.name or str(directory), ROOT, "un dossier de politique lisible")
    return directory
