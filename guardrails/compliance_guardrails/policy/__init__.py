"""Policy as data: the YAML and Markdown files that experts edit, read strictly into frozen objects.

`load_policy` gives the policy in force on a day; `PolicyError` says in French what is wrong with a file.
Thresholds live in the files, never in code. Reading any other YAML of the project goes through
`strict.load_yaml`.
"""

from .errors import PolicyError
from .loader import Policy, load_policy
from .models import Department, Thresholds
from .paths import policy_dir
from .strict import StrictModel, load_yaml
from .types import UNATTRIBUTED

__all__ = [
    "UNATTRIBUTED",
    "Department",
    "Policy",
    "PolicyError",
    "StrictModel",
    "Thresholds",
    "load_policy",
    "load_yaml",
    "policy_dir",
]
