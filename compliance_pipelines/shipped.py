"""Files of the repository that lie beside the package: Dagster's settings, counterfactual pairs and their documents.

In a checkout they are in its root, where people look for them; an installed wheel carries them as data files, under
`share/compliance-pipelines` of its environment (pyproject.toml, `data-files`). Code asks here and knows neither place.
"""

from __future__ import annotations

import sysconfig
from pathlib import Path

_CHECKOUT = Path(__file__).parents[1]
_SHARE = Path("share") / "compliance-pipelines"


def shipped(name: str | Path) -> Path:
    """The file called `name` relative to the repository's root, absolute; it may be absent. An absolute one is kept."""
    installed = Path(sysconfig.get_path("data")) / _SHARE / name
    beside = _CHECKOUT / name
    return installed if not beside.exists() and installed.exists() else beside
