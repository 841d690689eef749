"""The policy folder as one frozen object, with its digests: `load_policy` is what the rest of the
project calls.

Files are read strictly, each in the version that the date asks for, then checked against one another.
Rule files (rules/*.yaml) belong to the detectors, which read them themselves; here they count for the
digest and are found by `Policy.rule_text`. No clock: the caller says which day.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeVar, cast

from .crosscheck import crosscheck, lookup
from .errors import PolicyError
from .models import Alerts, Department, Departments, Sampling, Thresholds
from .paths import policy_dir
from .prompts import parse_prompt
from .references import CorrectiveAction, CorrectiveActions, Grounds, Legal, Prompt, Report, Retired
from .resolution import ResolutionIndex, build_index
from .runtime import Guardrails
from .strict import parse_yaml
from .types import UNATTRIBUTED, DatedFile
from .versions import LEDGERS, NOT_IN_DIGEST, Version, digest_over, earliest, in_force
from .yaml_reader import ROOT

MODELS: Final[Mapping[str, type[DatedFile]]] = MappingProxyType(
    {
        "departments.yaml": Departments,
        "thresholds.yaml": Thresholds,
        "sampling.yaml": Sampling,
        "alerts.yaml": Alerts,
        "guardrails.yaml": Guardrails,
        "legal.yaml": Legal,
        "report.yaml": Report,
        "grounds.yaml": Grounds,
        "retired.yaml": Retired,
        "corrective_actions.yaml": CorrectiveActions,
    }
)
OPTIONAL: Final = frozenset({"corrective_actions.yaml"})

F = TypeVar("F", bound=DatedFile)


@dataclass(frozen=True, slots=True)
class Policy:
    """Every policy file in force, and what they say together. Build it with `load_policy`."""

    digest: str
    file_digests: Mapping[str, str]
    at: date | None
    departments: tuple[Department, ...]
    unattributed: Department
    thresholds: Thresholds
    sampling: Sampling
    alerts: Alerts
    guardrails: Guardrails
    legal: Legal
    report: Report
    grounds: Grounds
    retired: Retired
    corrective_actions: tuple[CorrectiveAction, ...]
    prompts: tuple[Prompt, ...]
    _index: ResolutionIndex = field(repr=False)
    _rules: Mapping[str, str] = field(repr=False)

    def department(self, department_id: str) -> Department:
        """The department called `department_id` (also "non-attribue"). Raises KeyError for an unknown one."""
        if department_id == UNATTRIBUTED:
            return self.unattributed
        for department in self.departments:
            if department.id == department_id:
                return department
        raise KeyError(department_id)

    @property
    def intraday_departments(self) -> tuple[str, ...]:
        """The departments followed during the day: those of HIGH and CRITICAL risk, and what sampling.yaml adds."""
        risky = (d.id for d in self.departments if d.is_high_stakes)
        return tuple(dict.fromkeys((*risky, *self.sampling.intraday.departments)))

    def resolve_department(
        self,
        stamp: object = None,
        key_alias: object = None,
        team_alias: object = None,
        team_id: object = None,
        tags: object = None,
        declared: object = None,
    ) -> tuple[str, str]:
        """`(department id, source)` of the first hit, else ("non-attribue", "none"). Never raises."""
        return self._index.resolve(stamp, key_alias, team_alias, team_id, tags, declared)

    def prompt_for(self, alias: str) -> Prompt:
        """The system prompt of a model alias; every alias of departments.yaml has one. KeyError otherwise."""
        for prompt in self.prompts:
            if prompt.alias == alias:
                return prompt
        raise KeyError(alias)

    def rule_text(self, name: str) -> str:
        """The text of `rules/<name>.yaml` in force; PolicyError when there is none."""
        try:
            return self._rules[f"rules/{name}.yaml"]
        except KeyError:
            raise PolicyError(f"rules/{name}.yaml", ROOT, "un fichier présent dans le dossier de politique") from None

    @property
    def gate_digest(self) -> str:
        """The digest with the gate's own rules in it: what a gate result records."""
        return digest_over({name: digest for name, digest in self.file_digests.items() if name not in LEDGERS})

    def digest_of(self, *names: str) -> str:
        """One sha256 over the named files ("departments", "rules/claims"), for a code_version."""
        known = {name.rsplit(".", 1)[0]: name for name in self.file_digests}
        return digest_over({known[name]: self.file_digests[known[name]] for name in names})

    def limit_of(self, rule_key: str, department: Department | None = None) -> float:
        """The number that a `limit_from` or `for_minutes_from` of alerts.yaml refers to."""
        return float(lookup(rule_key, self.thresholds, department))


def load_policy(directory: Path | None = None, at: date | None = None) -> Policy:
    """The policy in force on `at` (None: the newest files of the folder).

    `directory` None means COMPLIANCE_POLICY_DIR, else the files shipped with the package. For a month,
    `at` is its last day. Raises PolicyError with every problem of the first file that has any.
    """
    folder = policy_dir(directory)
    versions = in_force(folder, at)
    files = {name: _parsed(folder, versions, name, at) for name in MODELS}
    for name in versions:
        if "/" not in name and name not in MODELS:
            raise PolicyError(name, ROOT, f"l’un des fichiers {', '.join(MODELS)}")
    prompts = tuple(
        parse_prompt(version.text, Path(name).stem, version.shown)
        for name, version in versions.items()
        if name.startswith("prompts/")
    )
    departments = _typed(files, "departments.yaml", Departments)
    ledger = cast("CorrectiveActions | None", files["corrective_actions.yaml"])
    digests = {name: version.sha256 for name, version in versions.items()}
    policy = Policy(
        digest=digest_over({name: digest for name, digest in digests.items() if name not in NOT_IN_DIGEST}),
        file_digests=MappingProxyType(digests),
        at=at,
        departments=departments.departments,
        unattributed=departments.unattributed,
        thresholds=_typed(files, "thresholds.yaml", Thresholds),
        sampling=_typed(files, "sampling.yaml", Sampling),
        alerts=_typed(files, "alerts.yaml", Alerts),
        guardrails=_typed(files, "guardrails.yaml", Guardrails),
        legal=_typed(files, "legal.yaml", Legal),
        report=_typed(files, "report.yaml", Report),
        grounds=_typed(files, "grounds.yaml", Grounds),
        retired=_typed(files, "retired.yaml", Retired),
        corrective_actions=_opened(ledger, at),
        prompts=prompts,
        _index=build_index(departments.departments, _shown(versions, "departments.yaml")),
        _rules=MappingProxyType({n: v.text for n, v in versions.items() if n.startswith("rules/")}),
    )
    problems = crosscheck(policy, {name: version.shown for name, version in versions.items()})
    if problems:
        raise PolicyError.of(problems)
    return policy


def _parsed(folder: Path, versions: Mapping[str, Version], name: str, at: date | None) -> DatedFile | None:
    """The file `name` against its model; None when it may be absent and is."""
    version = versions.get(name)
    if version is not None:
        return parse_yaml(version.text, MODELS[name], version.shown)
    first = earliest(folder, name)
    if first is not None and at is not None:
        raise PolicyError(
            name,
            "effective_from",
            f"une version en vigueur au {at.isoformat()} (la plus ancienne commence le {first.isoformat()})",
        )
    if name in OPTIONAL:
        return None
    raise PolicyError(name, ROOT, "un fichier présent dans le dossier de politique")


def _typed(files: Mapping[str, DatedFile | None], name: str, model: type[F]) -> F:
    value = files[name]
    if not isinstance(value, model):  # _parsed raised already; this line is for the type checker
        raise TypeError(name)
    return value


def _opened(ledger: CorrectiveActions | None, at: date | None) -> tuple[CorrectiveAction, ...]:
    """The actions as they stood on `at`: those not yet opened left out, those closed later still open."""
    if ledger is None:
        return ()
    if at is None:
        return ledger.actions
    return tuple(
        action if action.closed_on is None or action.closed_on <= at else action.model_copy(update={"closed_on": None})
        for action in ledger.actions
        if action.opened_on <= at
    )


def _shown(versions: Mapping[str, Version], name: str) -> str:
    return versions[name].shown
