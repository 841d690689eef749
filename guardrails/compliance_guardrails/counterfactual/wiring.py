"""From files and settings to a `Plan`: policy, rules, pairs, documents, floors, stages. The gate's own wiring.

Used by the command line and by the weekly asset alike, so that both judge by the same rules. Opens files; calls no
endpoint. Errors are PolicyError (French, one line) or GateUnavailableError.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from compliance_guardrails.policy import load_policy

from .context import read_document
from .extract import Extractor
from .pairs import Pair, load_pairs
from .plan import Plan
from .ports import Encoder, SecondReader
from .result import EmbeddingIdentity, GateResult, PairResult
from .rules import FloorSource, GateRules, Stage, load_rules

if TYPE_CHECKING:
    from compliance_guardrails.policy import Policy


@dataclass(frozen=True)
class Files:
    """What was read: pairs, documents by name, rules and policy."""

    pairs: tuple[Pair, ...]
    documents: Mapping[str, str]
    rules: GateRules
    policy: Policy


def read_files(pairs_path: Path, policy_dir: Path | None = None, *, documents: bool = True) -> Files:
    """Read and check everything on disk. Raises PolicyError."""
    policy = load_policy(policy_dir)
    rules = load_rules(policy_dir)
    departments = frozenset(department.id for department in policy.departments)
    grounds = frozenset(ground.id for ground in policy.grounds.grounds)
    found = load_pairs(pairs_path, rules, departments, grounds)
    texts: dict[str, str] = {}
    if documents:
        for pair in found:
            if pair.context_doc not in texts:
                texts[pair.context_doc] = read_document(pair.context_doc, pairs_path, pair.id)
    return Files(found, texts, rules, policy)


def stages_of(rules: GateRules, samples: int | None) -> tuple[Stage, ...]:
    """The stages of the rules, or one stage of `samples` that may spend all the error."""
    return rules.stages if samples is None else (Stage(samples=samples, spend=rules.alpha),)


def make_plan(
    files: Files,
    *,
    today: dt.date,
    encoder: Encoder | None,
    samples: int | None = None,
    max_calls: int | None = None,
    model: str | None = None,
    second_reader: SecondReader | None = None,
) -> Plan:
    """The plan of a run. `model` None: each department's own alias."""
    rule = files.rules.encoder(encoder.name) if encoder is not None else None
    limits = files.policy.thresholds
    floors: dict[str, float | None] = {}
    for pair in files.pairs:
        if rule is None:
            floors[pair.id] = None
        elif rule.source is FloorSource.POLICY:
            floors[pair.id] = limits.cosine_floor(pair.protected_attr)
        else:
            # an attribute whose floor the policy raises is raised above the calibrated one by as much
            raised = limits.cosine_floor(pair.protected_attr) - limits.counterfactual_cosine_floor
            floors[pair.id] = min(1.0, (rule.floor or 0.0) + raised)
    return Plan(
        pairs=files.pairs,
        documents=files.documents,
        models={d.id: model or d.alias for d in files.policy.departments},
        rules=files.rules,
        extractor=Extractor(files.rules),
        encoder=encoder,
        floors=floors,
        today=today,
        stages=stages_of(files.rules, samples),
        max_calls=max_calls,
        second_reader=second_reader,
    )


def plan_digest(plan: Plan, endpoint: str, *extra: object) -> str:
    """What the answers of a run depend on, as one sha256."""
    parts = [
        endpoint,
        [pair.model_dump(mode="json") for pair in plan.pairs],
        dict(plan.documents),
        dict(plan.models),
        list(plan.rules.frames),
        {name: list(names) for name, names in plan.rules.names.items()},
        [str(item) for item in extra],
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def make_result(
    plan: Plan, found: tuple[PairResult, ...], *, started_at: dt.datetime, endpoint: str, policy_digest: str
) -> GateResult:
    """The result of a run; `run_id` follows from its start and its plan."""
    encoder = plan.encoder
    rule = plan.rules.encoder(encoder.name) if encoder is not None else None
    floors = {floor for floor in plan.floors.values() if floor is not None}
    identity = EmbeddingIdentity(
        name=encoder.name if encoder else None,
        digest=encoder.digest if encoder else None,
        dim=_dimension(encoder),
        floor=min(floors) if floors else None,
        prefix=rule.prefix if rule else None,
    )
    digest = plan_digest(plan, endpoint)
    return GateResult(
        run_id=f"{started_at:%Y%m%dT%H%M%SZ}-{digest[:8]}",
        started_at=started_at,
        model=", ".join(sorted({plan.models[pair.department] for pair in plan.pairs})),
        endpoint=endpoint,
        samples=tuple(stage.samples for stage in plan.stages),
        embedding=identity,
        extractor="règles françaises" + (f" et {plan.second_reader.name}" if plan.second_reader else ""),
        policy_digest=policy_digest,
        alpha=plan.alpha,
        pairs=found,
        calls=sum(pair.calls for pair in found),
    )


def _dimension(encoder: Encoder | None) -> int | None:
    return int(encoder.encode(["a"]).shape[1]) if encoder is not None else None
