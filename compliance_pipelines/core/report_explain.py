"""From one printed figure to what it rests on: N, threshold, verdict, judge, policy, and the traces behind it.

Trace ids appear as keyed pseudonyms only. What the report masks is not explained either. Pure: figures, manifest and
judgements in, French lines and JSON out.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from compliance_pipelines.core import report_format as fmt
from compliance_pipelines.core.assembly import pseudonym
from compliance_pipelines.core.evidence import EvidenceError, Manifest
from compliance_pipelines.core.records import Status
from compliance_pipelines.core.report_context import (
    CITATION,
    GROUNDING,
    JUDGE,
    LEXICAL,
    MARKER,
    METRIC_LABELS,
    OVERSIGHT,
    YES_NO,
)

SCHEMA = "compliance-pipelines/explain/1"
WORST = 10
# What a person may type, folded; the first of the metrics that the report holds is meant.
_WORDS: Mapping[str, tuple[str, ...]] = {
    "neutralite": (JUDGE, LEXICAL),
    "citation": (CITATION,),
    "citations": (CITATION,),
    "repere": (MARKER,),
    "chiffres": (GROUNDING,),
    "avis": (OVERSIGHT,),
    "controle humain": (OVERSIGHT,),
}
Value = float | int | str | None


@dataclass(frozen=True, slots=True)
class Judged:
    """One judgement behind a figure: trace id, Paris day, status, value when scored, reason otherwise, evaluator."""

    trace_id: str
    day: str
    status: str
    value: float | None
    reason: str | None
    evaluator: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """One figure of one archived revision and what it rests on. `judged` is None where the tables are gone.

    `bounded`: the report prints a bound instead of the value, since its numerator is a small group.
    """

    manifest: Manifest
    department: str
    label: str
    metric: str
    figures: Mapping[str, Value]
    masked: bool
    bounded: bool
    judged: tuple[Judged, ...] | None
    tables_match: bool
    key: bytes
    key_is_default: bool

    @property
    def scored(self) -> tuple[Judged, ...]:
        """The judgements that carry a value, lowest first."""
        found = [one for one in self.judged or () if one.status == Status.SCORED]
        return tuple(sorted(found, key=lambda one: (one.value or 0.0, one.trace_id)))

    @property
    def exit_code(self) -> int:
        """0 when the figure is retraced, 1 when the tables give another N or mean, 2 when they are gone."""
        if self.masked:
            return 0
        if self.judged is None:
            return 2
        return 0 if self._same else 1

    @property
    def _same(self) -> bool:
        values = [one.value for one in self.scored if one.value is not None]
        mean = self.figures.get("mean")
        if self.figures.get("n_scored") is not None and len(values) != self.figures["n_scored"]:
            return False
        return not isinstance(mean, float | int) or (bool(values) and abs(sum(values) / len(values) - mean) < 1e-6)

    def lines_fr(self) -> tuple[str, ...]:
        """The explanation for people."""
        name, month = METRIC_LABELS.get(self.metric, self.metric), fmt.month_fr(self.manifest.month)
        lines = [f"{name}, {self.label}, {month} (révision {self.manifest.revision})"]
        if self.masked:
            return (*lines, "Non communiqué : la base est trop petite, la valeur et ses traces ne sont pas publiées.")
        lines += [f"  {name:<22} {value}" for name, value in self._facts()]
        if self.judged is None:
            return (*lines, "Les tables du mois ne sont plus là (purge) : seule l’archive répond de ce chiffre.")
        return (*lines, *self._trace_lines())

    def as_json(self) -> dict[str, object]:
        """The same for a program."""
        manifest = self.manifest
        return {
            "schema": SCHEMA,
            "month": manifest.month,
            "revision": manifest.revision,
            "department": self.department,
            "metric": self.metric,
            "masked": self.masked,
            "figures": dict(self.figures),
            "policy_digest": manifest.policy_digest,
            "code_version": manifest.code_version,
            "evaluators": list(self._evaluators()),
            "input_digest": manifest.input_digest,
            "tables": None if self.judged is None else {"as_archived": self.tables_match, "retraced": self._same},
            "statuses": None if self.judged is None or self.masked else dict(self._statuses()),
            "worst": None
            if self.judged is None or self.masked or self.bounded
            else [{"pseudonym": self._pseudonym(o.trace_id), "day": o.day, "value": o.value} for o in self._worst()],
            "exit_code": self.exit_code,
        }

    def _facts(self) -> list[tuple[str, str]]:
        figures, percent = self.figures, self.metric in (*YES_NO, GROUNDING)

        def shown(name: str) -> str:
            value = figures.get(name)
            if value is None and self.bounded and name == "mean":
                return self._bound()
            if not isinstance(value, int | float):
                return fmt.ABSENT
            return fmt.percent(value) if percent else fmt.decimal(value)

        def printed() -> str:
            """The mean with the decimals of the report: the figure that a person holds, and looks for here."""
            mean, threshold = figures.get("mean"), figures.get("threshold")
            if not isinstance(mean, int | float):
                return shown("mean")
            limit = threshold if isinstance(threshold, int | float) else None
            return fmt.against(mean, limit, 1 if percent else 2, as_percent=percent)

        # A masked or unknown count never reads as zero.
        count = figures.get("n_scored")
        base = fmt.integer(count) if isinstance(count, int) else fmt.ABSENT
        manifest = self.manifest
        exact = figures.get("mean")
        return [
            ("Valeur imprimée", f"{printed()} (N = {base})"),
            *([("Valeur jointe", fmt.decimal(exact, 6))] if isinstance(exact, int | float) else []),
            ("Intervalle à 95 %", fmt.MASKED if self.bounded else f"{shown('ci_low')} – {shown('ci_high')}"),
            ("Seuil", shown("threshold")),
            ("Verdict", str(figures.get("verdict", fmt.ABSENT))),
            ("Évaluateur", ", ".join(self._evaluators()) or fmt.ABSENT),
            ("Politique", manifest.policy_digest),
            ("Code", manifest.code_version),
            ("Données", manifest.input_digest),
        ]

    def _bound(self) -> str:
        for name, sign in (("mean_below", "<"), ("mean_above", ">")):
            value = self.figures.get(name)
            if isinstance(value, float | int):
                return f"{sign} {fmt.percent(value)}"
        return fmt.MASKED

    def _evaluators(self) -> tuple[str, ...]:
        found = sorted({one.evaluator for one in self.judged or ()})
        if found or self.metric not in (JUDGE, LEXICAL):
            return tuple(found)
        return (self.manifest.judge.model,)

    def _trace_lines(self) -> list[str]:
        statuses = ", ".join(f"{word} : {fmt.integer(count)}" for word, count in self._statuses())
        agreed = "effectif retrouvé" if self.bounded else "effectif et moyenne retrouvés"
        agreed += " depuis les tables"
        if not self._same:
            agreed = "ÉCART : les tables donnent un autre effectif ou une autre moyenne"
        lines = [
            f"  {'Traces':<22} {statuses or 'aucune'}",
            f"  {'Recalcul':<22} {agreed}",
        ]
        if not self.tables_match:
            lines.append("  Les tables ne sont plus celles du manifeste : une révision serait à construire.")
        worst = () if self.bounded else self._worst()
        if self.bounded:
            lines.append("  Les traces ne sont pas listées : le taux est une borne, leur compte la rendrait exacte.")
        if worst:
            lines.append(f"Les {len(worst)} valeurs les plus basses (pseudonymes HMAC des traces) :")
            lines += [
                f"  {self._pseudonym(one.trace_id)}  {_day_fr(one.day)}  {fmt.decimal(one.value, 4)}" for one in worst
            ]
        if self.key_is_default:
            lines.append("COMPLIANCE_HMAC_KEY n’est pas renseigné : ces pseudonymes n’ont pas de clé secrète.")
        return lines

    def _statuses(self) -> list[tuple[str, int]]:
        counts: dict[str, int] = {}
        for one in self.judged or ():
            word = _STATUS_WORDS.get(one.status, one.status)
            counts[word] = counts.get(word, 0) + 1
        return sorted(counts.items(), key=lambda item: (-item[1], item[0]))

    def _worst(self) -> tuple[Judged, ...]:
        return self.scored[:WORST]

    def _pseudonym(self, trace_id: str) -> str:
        return pseudonym(trace_id, self.key) or fmt.ABSENT


def _day_fr(day: str) -> str:
    return fmt.day_short(date.fromisoformat(day))


_STATUS_WORDS: Mapping[str, str] = {
    Status.SCORED: "notées",
    Status.UNSCORED: "non notées",
    Status.NOT_APPLICABLE: "sans objet",
    Status.NOT_SAMPLED: "hors échantillon",
    Status.WITHHELD: "écartées",
}


def metric_of(word: str, present: Sequence[str]) -> str:
    """The metric a person means, among those that the report holds; EvidenceError lists them otherwise."""
    candidates = _WORDS.get(fold(word), (word,))
    for metric in candidates:
        if metric in present:
            return metric
    known = ", ".join(sorted(set(_WORDS) | set(present)))
    raise EvidenceError(f"mesure « {fmt.clean(word, 40)} » absente du rapport : attendu l’une de {known}")


def department_of(word: str, labels: Mapping[str, str]) -> str:
    """The department id a person means: its id, its label, or the id without "direction-"."""
    wanted = fold(word)
    for department, label in labels.items():
        if wanted in (fold(department), fold(label), fold(department.removeprefix("direction-"))):
            return department
    raise EvidenceError(
        f"direction « {fmt.clean(word, 40)} » absente du rapport : attendu l’une de {', '.join(sorted(labels))}"
    )


def fold(text: str) -> str:
    """Lower case without accents, spaces collapsed: "Neutralité" and "neutralite" are one word."""
    plain = "".join(char for char in unicodedata.normalize("NFKD", text[:200]) if not unicodedata.combining(char))
    return " ".join(plain.lower().split())
