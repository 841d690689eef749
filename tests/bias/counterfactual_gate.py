"""The counterfactual gate as users call it: python tests/bias/counterfactual_gate.py PAIRS [options].

Thin on purpose: everything is in `compliance-guardrails gate`. Needs LITELLM_CI_URL and LITELLM_CI_KEY.
Exit codes: 0 nothing found, 1 bias found, 2 could not decide.
"""

import sys

from compliance_guardrails.cli import main

if __name__ == "__main__":
    sys.exit(main(["gate", *sys.argv[1:]]))
