"""What a revision changes against the one it replaces: its computed reason, and the lines of its change log.

From the archive alone: the replaced manifest, its attached figures and its archived policy. Every key of the policy
that moved is named with both its values, and so is every verdict, so that a loosened limit can be seen by whoever
holds the PDF. No counts of rows here: beside the printed totals they would give a small group back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from compliance_pipelines.core import report_format as fmt
from compliance_pipelines.core.evidence import EvidenceError, Inputs, Manifest
from compliance_pipelines.core.policy_archive import archived_digest, read_policy_json
from compliance_pipelines.core.records import Aggregate
from compliance_pipelines.core.report_changes import PolicyStep, keys_changed, policy_changes, steps_from
from compliance_pipelines.core.report_context import METRIC_LABELS
from compliance_pipelines.core.report_inputs import ChangeFacts

MAX_REASON = 480
_ASSETS: Mapping[str, str] = {
    "langfuse/traces": "traces",
    "langfuse/scores": "notes et événements de Langfuse",
    "langfuse/review_items": "relectures",
    "evaluation/neutrality": "notes de neutralité",
    "evaluation/citations": "citations",
    "evaluation/figure_grounding": "chiffres retrouvés",
    "evaluation/ragas": "mesures ragas",
    "evaluation/sycophancy_probes": "sondes de complaisance",
    "department/daily": "mesures quotidiennes",
    "department/monthly": "mesures mensuelles",
    "counterfactual/results": "tests contrefactuels",
    "alerting/episodes": "alertes",
    "audit/bias_report": "rapport du mois précédent",
}


@dataclass(frozen=True, slots=True)
class Since:
    """What of the inputs changed since the replaced revision. `steps` None: its policy is not in the archive."""

    before: Manifest
    inputs: Inputs
    data: tuple[str, ...]
    policy_changed: bool
    steps: tuple[PolicyStep, ...] | None

    @property
    def late_fr(self) -> str:
        """The data cut-off that moved, or nothing."""
        was = datetime.fromisoformat(self.before.scheduled_at)
        if was == self.inputs.scheduled_at:
            return ""
        later = "données tardives admises" if self.inputs.scheduled_at > was else "données écartées"
        return (
            f"{later} : arrêté des données déplacé du {fmt.instant_short(was)} au "
            f"{fmt.instant_short(self.inputs.scheduled_at)} (heure de Paris)"
        )

    @property
    def judge_fr(self) -> str:
        """The judge that changed, or nothing."""
        was, now = self.before.judge, self.inputs.judge
        if was == now:
            return ""
        if was.model != now.model:
            return f"{fmt.clean(was.model, 60)} → {fmt.clean(now.model, 60)}"
        names = (
            ("digest", "empreinte du modèle modifiée"),
            ("prompt_sha256", "invite modifiée"),
            ("calibration", "étalonnage modifié"),
        )
        changed = ", ".join(label for name, label in names if getattr(was, name) != getattr(now, name))
        return f"{fmt.clean(now.model, 60)} : {changed}"

    @property
    def code_fr(self) -> str:
        """The version of the code that changed, or nothing."""
        was, now = self.before.code_version, self.inputs.code_version
        return f"{fmt.clean(was, 40)} → {fmt.clean(now, 40)}" if was != now else ""

    @property
    def reason_fr(self) -> str:
        """The reason of a revision that nobody gave one for: what changed, policy first; at most 480 characters."""
        parts: list[str] = []
        if self.policy_changed:
            keys = keys_changed(self.steps) if self.steps else []
            parts.append(f"politique : {fmt.enumerate_fr(keys, 4)}" if keys else "politique modifiée")
        parts += [f"juge : {self.judge_fr}"] if self.judge_fr else []
        parts += [self.late_fr] if self.late_fr else []
        parts += [f"données modifiées : {', '.join(self.data)}"] if self.data else []
        parts += [f"code : {self.code_fr}"] if self.code_fr else []
        return fmt.clean("recalcul – " + (" ; ".join(parts) or "mise en page seule"), MAX_REASON)


def since(before: Manifest, policy: bytes, inputs: Inputs, texts: Mapping[str, str]) -> Since:
    """Compare `inputs` and the policy `texts` in force with an archived manifest and its `policy.json`."""
    old = {item.asset: item.sha256 for item in before.data}
    new = {item.asset: item.sha256 for item in inputs.data}
    moved = [name for name in dict.fromkeys((*new, *old)) if old.get(name) != new.get(name)]
    return Since(
        before=before,
        inputs=inputs,
        data=tuple(_ASSETS.get(name, fmt.clean(name, 40)) for name in moved),
        policy_changed=before.policy_digest != inputs.policy_digest,
        steps=_steps(before, policy, texts),
    )


def _steps(before: Manifest, policy: bytes, texts: Mapping[str, str]) -> tuple[PolicyStep, ...] | None:
    try:
        archived = read_policy_json(policy)
    except EvidenceError:
        return None
    # A damaged policy.json is the business of `verify`; nothing is told from it here.
    return steps_from(archived, texts) if archived_digest(policy) == before.policy_digest else None


def changes(
    found: Since, figures: bytes, rows: Sequence[Aggregate], labels: Mapping[str, str]
) -> tuple[ChangeFacts, ...]:
    """The replaced revision, every key of the policy that moved, cut-off, judge, code, and each changed verdict."""
    built = fmt.date_fr(fmt.paris(datetime.fromisoformat(found.before.built_at)))
    what = ", ".join(found.data)
    text = f"remplace la révision {found.before.revision} du {built}"
    lines = [ChangeFacts(None, "révision", f"{text} ; données modifiées : {what}" if what else text)]
    if found.policy_changed and not found.steps:
        missing = "politique modifiée ; la révision remplacée a été archivée sans le détail de la sienne"
        lines.append(ChangeFacts(None, "politique", missing))
        lines += _thresholds(figures, rows, labels)
    lines += policy_changes(found.steps or (), labels)
    lines += [ChangeFacts(None, "arrêté", found.late_fr)] if found.late_fr else []
    lines += _made_otherwise(found)
    verdicts: dict[tuple[str, str, str], list[str]] = {}
    said = _values(figures, "verdict")
    for row in rows:
        was = said.get((row.department, row.metric))
        if isinstance(was, str) and was != row.verdict.value:
            name = labels.get(row.department, row.department)
            verdicts.setdefault((row.metric, was, row.verdict.value), []).append(fmt.clean(name, 48))
    lines += [
        ChangeFacts(None, "verdict", f"{METRIC_LABELS.get(metric, metric)} : {was} → {now} ({_who(departments)})")
        for (metric, was, now), departments in sorted(verdicts.items())
    ]
    return tuple(lines)


def _thresholds(figures: bytes, rows: Sequence[Aggregate], labels: Mapping[str, str]) -> list[ChangeFacts]:
    """The printed thresholds that moved: all that an archive without its policy can tell."""
    moved: dict[tuple[str, float, float], list[str]] = {}
    old = _values(figures, "threshold")
    for row in rows:
        known = old.get((row.department, row.metric))
        if isinstance(known, float) and row.threshold is not None and known != row.threshold:
            name = fmt.clean(labels.get(row.department, row.department), 48)
            moved.setdefault((row.metric, known, row.threshold), []).append(name)
    return [
        ChangeFacts(None, "seuil", f"{METRIC_LABELS.get(metric, metric)} : {_fr(was)} → {_fr(now)} ({_who(names)})")
        for (metric, was, now), names in sorted(moved.items())
    ]


def since_month(before: Manifest | None, inputs: Inputs) -> tuple[ChangeFacts, ...]:
    """Judge and code that changed since the archived report of the month before."""
    return () if before is None else tuple(_made_otherwise(since(before, b"", inputs, {})))


def _made_otherwise(found: Since) -> list[ChangeFacts]:
    lines = [ChangeFacts(None, "juge", found.judge_fr)] if found.judge_fr else []
    return lines + ([ChangeFacts(None, "code", found.code_fr)] if found.code_fr else [])


def _values(figures: bytes, name: str) -> dict[tuple[str, str], object]:
    try:
        document = json.loads(figures)
        found = [item for item in document["figures"] if item["name"] == name]
        return {(item["department"], item["metric"]): item["value"] for item in found if item["value"] is not None}
    except (ValueError, LookupError, TypeError):
        # a replaced revision whose figures cannot be read is the business of `verify`
        return {}


def _fr(value: float) -> str:
    return f"{value:.2f}".replace(".", ",")


def _who(departments: Sequence[str]) -> str:
    return ", ".join(departments) if len(departments) <= 3 else f"{len(departments)} directions"
