"""The ports of the test servers: what one test process has chosen, no other one chooses while it lives."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from compliance_pipelines_tests.services.servers import free_ports

ROOT = Path(__file__).resolve().parents[2]
OTHER = "import os; os.getpid = lambda: {pid}; from {module} import free_ports; print(*free_ports(3))"


def test_a_port_is_chosen_once_by_whoever_looks_from_the_same_place_on() -> None:
    pid = os.getpid()
    ours = {*free_ports(3), *free_ports(1)}
    assert len(ours) == 4
    code = OTHER.format(pid=pid, module=free_ports.__module__)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    theirs = {int(port) for port in done.stdout.split()}
    assert len(theirs) == 3
    assert not ours & theirs
