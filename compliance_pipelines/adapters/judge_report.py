"""What a month's report says of its judges: who scored, with which calibration, nights withheld, probes that flipped.

Identities are kept under `state/judges/` when a judge is opened, because a fingerprint is too short to print a digest
from. Figures come from the stored tables alone. No Dagster.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from compliance_guardrails.policy import PolicyError

from compliance_pipelines.adapters.judge_calibration import Measured, calibrations
from compliance_pipelines.adapters.table_store import TableStore
from compliance_pipelines.adapters.whole_file import replace_file
from compliance_pipelines.core import judge_samples
from compliance_pipelines.core.evidence_manifest import Judge
from compliance_pipelines.core.judge_metrics import evaluators, judged_by
from compliance_pipelines.core.judge_samples import Identity
from compliance_pipelines.core.records import Judgement, Status
from compliance_pipelines.core.report_inputs import JudgeIdentity, SycophancyFacts
from compliance_pipelines.core.sycophancy import flip_rates
from compliance_pipelines.core.tables import records

NEUTRALITY = ("evaluation", "neutrality")
PROBES = ("evaluation", "sycophancy_probes")
_MAX_NAME = 200


def keep_identity(home: Path, identity: Identity) -> Path:
    """Write who a fingerprint stands for; the same judge writes the same file."""
    name = hashlib.sha256(identity.fingerprint.encode()).hexdigest()[:16]
    path = home / "state" / "judges" / f"{name}.json"
    content = {
        "evaluator": identity.fingerprint,
        "model": identity.model,
        "digest": identity.digest,
        "prompt_sha256": identity.prompt_sha256,
        "parameters": dict(identity.parameters),
    }
    replace_file(path, (json.dumps(content, ensure_ascii=False, sort_keys=True) + "\n").encode())
    return path


def identities(home: Path) -> dict[str, Identity]:
    """Every judge met, by fingerprint; PolicyError when a file is not what `keep_identity` wrote."""
    found = {}
    for path in sorted((home / "state" / "judges").glob("*.json")):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            identity = Identity(
                content["model"], content["digest"], content["prompt_sha256"], dict(content["parameters"])
            )
            found[str(content["evaluator"])] = identity
        except (OSError, ValueError, KeyError, TypeError):
            raise PolicyError(f"judges/{path.name}", "fichier", "un fichier écrit par la nuit d’un juge") from None
    return found


@dataclass(frozen=True, slots=True)
class MonthJudge:
    """The judge as the report prints it and as the manifest records it."""

    shown: JudgeIdentity
    recorded: Judge


def month_judge(store: TableStore, home: Path, days: Sequence[str], lexical: str) -> MonthJudge:
    """The judge of the stored nights of `days`; `lexical` is the fingerprint used where no judge scored.

    Several judges in one month are named together and are calibrated only when each is.
    """
    names: set[str] = set()
    named: set[str] = set()
    withheld = 0
    for _, table in store.read_many(NEUTRALITY, days):
        names |= judged_by(table, judge_samples.METRIC)
        named |= evaluators(table, judge_samples.METRIC)
        withheld += bool((table["status"] == Status.WITHHELD.value).any())
    names = names or named
    if not names:
        recorded = Judge(model=lexical, digest=None, prompt_sha256=None, calibration=None)
        return MonthJudge(JudgeIdentity(name=lexical, llm=False), recorded)
    known, measured = identities(home), calibrations(home)
    ordered = sorted(names)
    calibration = _calibration([measured.get(name) for name in ordered])
    who = [known[name] for name in ordered if name in known]
    model = ", ".join(dict.fromkeys(i.model for i in who)) or None
    digest = ", ".join(dict.fromkeys(i.digest for i in who if i.digest)) or None
    prompts = sorted({i.prompt_sha256 for i in who})
    # one digest has its place in the manifest: over the prompts, where there are several
    prompt = prompts[0] if len(prompts) == 1 else hashlib.sha256("\n".join(prompts).encode()).hexdigest()
    prompt = prompt if prompts else None
    # the manifest's field is short; what does not fit is still told apart
    name = " + ".join(ordered)
    short = name if len(name) <= _MAX_NAME else f"{len(ordered)} juges {hashlib.sha256(name.encode()).hexdigest()}"
    shown = JudgeIdentity(
        name=name,
        llm=True,
        model=model,
        model_digest=digest,
        prompt_sha256=prompt,
        calibration_fr=calibration,
        withheld_nights=withheld,
    )
    recorded = Judge(model=short, digest=digest, prompt_sha256=prompt, calibration=calibration)
    return MonthJudge(shown, recorded)


def _calibration(found: Sequence[Measured | None]) -> str | None:
    lines = [measured.line_fr() for measured in found if measured is not None]
    return " ; ".join(lines) if lines and len(lines) == len(found) else None


def sycophancy_facts(store: TableStore, days: Sequence[str]) -> tuple[SycophancyFacts, ...] | None:
    """The probes of the month by department; None when none was asked."""
    rows: list[Judgement] = [row for _, table in store.read_many(PROBES, days) for row in records(table, Judgement)]
    if not rows:
        return None
    return tuple(
        SycophancyFacts(r.department, r.probes, r.flips, *(r.interval or (None, None))) for r in flip_rates(rows)
    )
