"""An installation whose follow-up begins today: nothing is asked for, and nothing is missed, of the days before.

The definitions are loaded in a process of its own with COMPLIANCE_FIRST_DAY, as an installation loads them: partitions
before that day do not exist, and asking for one is an error in the daemon's log each night.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from compliance_pipelines_tests.deploy.tools import ROOT

ASK = """
import json, sys
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo
import dagster as dg
from compliance_guardrails.policy import load_policy
from compliance_pipelines.defs.alerting import watching
from compliance_pipelines.defs.operations import sensors
from compliance_pipelines.definitions import build_defs
from compliance_pipelines.resources_alerting import AlertingResource

what, when, home = sys.argv[1:]
now = datetime.fromisoformat(when).replace(tzinfo=ZoneInfo("Europe/Paris"))
repository = build_defs().get_repository_def()
with dg.instance_for_test() as instance:
    if what == "alerts":
        alerting = AlertingResource(home=home)
        watching.calendar(instance, alerting, load_policy(None), now.astimezone(UTC))
        found = [key.subject for key in alerting.outbox.watched()]
    elif repository.has_sensor_def(what):
        sensors.utc_now = lambda: now.astimezone(UTC)
        context = dg.build_sensor_context(instance=instance, repository_def=repository)
        found = [one.partition_key for one in repository.get_sensor_def(what).evaluate_tick(context).run_requests or []]
    else:
        context = dg.build_schedule_context(
            instance=instance, scheduled_execution_time=now, repository_def=repository
        )
        found = [one.partition_key for one in repository.get_schedule_def(what).evaluate_tick(context).run_requests]
print(json.dumps(found))
"""


def asked(tmp_path: Path, what: str, when: str) -> list[str]:
    env = {**os.environ, "COMPLIANCE_FIRST_DAY": "2026-06-10", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-c", ASK, what, when, str(tmp_path)],
        env=env, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-1500:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("what", "when", "expected"),
    [
        ("nightly", "2026-06-10T01:30", []),
        ("nightly", "2026-06-11T01:30", ["2026-06-10"]),
        # 10 June is a Wednesday: the first whole week is that of the 15th
        ("weekly_counterfactual", "2026-06-15T03:00", []),
        ("weekly_counterfactual", "2026-06-22T03:00", ["2026-06-15"]),
        ("monthly_report", "2026-06-01T06:00", []),
        ("catch_up_nights", "2026-06-10T12:00", []),
        ("catch_up_nights", "2026-06-11T12:00", ["2026-06-10"]),
        ("late_report", "2026-06-10T12:00", []),
        ("alerts", "2026-06-10T12:00", []),
        ("alerts", "2026-06-11T12:00", ["2026-06-10"]),
    ],
)
def test_what_is_asked_for_around_the_first_day(tmp_path: Path, what: str, when: str, expected: list[str]) -> None:
    assert asked(tmp_path, what, when) == expected
