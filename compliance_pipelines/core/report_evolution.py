"""Month over month: each mean beside that of the month before, and where the two may not be compared.

An arrow is drawn only where policy, evaluator and code are the same in both months and the two 95 % intervals do not
overlap; anything else is said in words. What was masked in either month stays masked. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compliance_pipelines.core import report_format as fmt
from compliance_pipelines.core.records import Aggregate
from compliance_pipelines.core.report_context import CITATION, METRIC_LABELS, Context, masked_cell
from compliance_pipelines.core.report_inputs import PreviousMonth
from compliance_pipelines.core.report_suppress import Mask, build_mask
from compliance_pipelines.core.report_tree import (
    Block,
    Callout,
    Cell,
    Column,
    Figure,
    Heading,
    Mark,
    Table,
    Text,
)

_UP, _DOWN, _FLAT = "↗", "↘", "→"
MINUS = "−"


@dataclass(frozen=True, slots=True)
class _Pair:
    """The rows of one department in both months; `before` is None where there is nothing to compare with."""

    current: Aggregate
    before: Aggregate | None
    masked_before: bool


def evolution_blocks(context: Context, section: int, metric: str) -> tuple[tuple[Block, ...], tuple[Figure, ...]]:
    """The evolution of one metric since the month before, with the figures printed in it."""
    facts = context.inputs.previous
    if facts is None:
        return (), ()
    name = fmt.month_fr(facts.month)
    heading = Heading(f"Évolution depuis {name}")
    mask = build_mask(facts.aggregates, (), (), context.mask.limit)
    before = {row.department: row for row in facts.aggregates if row.metric == metric and row.mean is not None}
    if not before:
        missing = f"Aucune valeur de cette mesure en {name} : {_why_absent(facts, metric)}."
        return (heading, Text(missing)), ()
    pairs = [
        _Pair(row, before.get(row.department), _masked(context, mask, before.get(row.department), row))
        for row in context.rows(metric)
        if row.mean is not None or row.department in before
    ]
    if not pairs:
        return (heading, Text("Cette mesure n’a aucune valeur ce mois-ci : rien à comparer.")), ()
    breaks = facts.breaks_of(metric)
    blocks: list[Block] = [heading]
    if breaks:
        listed = " ; ".join(fmt.clean(reason, 160) for reason in breaks)
        blocks.append(Callout("Rupture de comparabilité", f"{_capital(listed)}.", Mark.HALF))
    blocks.append(_table(context, metric, name, pairs, broken=bool(breaks)))
    figures = tuple(
        figure
        for pair in pairs
        if not context.hides(pair.current)
        for figure in _figures(section, metric, pair, broken=bool(breaks))
    )
    return tuple(blocks), figures


def _masked(context: Context, mask: Mask, before: Aggregate | None, row: Aggregate) -> bool:
    """Tell whether the month before may not be told: a small base, or a small numerator in either month."""
    shares = [context.share(one) for one in (before, row) if one is not None]
    return mask.hides(row.department, row.metric) or any(share.hidden is not None for share in shares)


def _why_absent(facts: PreviousMonth, metric: str) -> str:
    others = {row.metric for row in facts.aggregates if row.mean is not None and row.metric.endswith("_neutrality")}
    if metric.endswith("_neutrality") and others - {metric}:
        return "l’évaluateur de neutralité n’est pas le même, les deux mois ne se comparent pas"
    return "rien n’était noté"


def _table(context: Context, metric: str, name: str, pairs: Sequence[_Pair], *, broken: bool) -> Table:
    current = fmt.month_fr(context.inputs.month)
    note = "N : traces notées le mois précédent, puis ce mois-ci. "
    if broken:
        note += "Les valeurs sont imprimées l’une à côté de l’autre ; leur écart n’est pas interprété."
    else:
        note += (
            f"{_UP} hausse ou {_DOWN} baisse : les intervalles à 95 % des deux mois ne se recouvrent pas ; "
            f"{_FLAT} : écart non établi."
        )
    return Table(
        caption=f"{METRIC_LABELS.get(metric, fmt.clean(metric, 40))} : {name} et {current}",
        columns=(
            Column("Direction", 36),
            Column("N", 22, "right"),
            Column(_capital(name), 20, "right"),
            Column(_capital(current), 20, "right"),
            Column("Écart", 18, "right"),
            Column("Évolution", 40),
        ),
        rows=tuple(_row(context, metric, pair, broken=broken) for pair in pairs),
        note=note,
    )


def _row(context: Context, metric: str, pair: _Pair, *, broken: bool) -> tuple[Cell, ...]:
    head = Cell(context.label(pair.current.department), strong=True)
    if context.hides(pair.current) or pair.masked_before:
        blank = masked_cell()
        return (head, blank, blank, blank, blank, Cell("non communiquée", muted=True))
    now, before = pair.current, pair.before
    bases = f"{fmt.integer(before.n_scored) if before else fmt.ABSENT} / {fmt.integer(now.n_scored)}"
    return (
        head,
        Cell(bases),
        Cell(_value(metric, before)),
        Cell(_value(metric, now), strong=True),
        Cell(_gap(metric, pair) if not broken else fmt.ABSENT),
        Cell(_word(pair, broken=broken)),
    )


def _value(metric: str, row: Aggregate | None) -> str:
    if row is None:
        return fmt.ABSENT
    share = metric == CITATION
    return fmt.against(row.mean, row.threshold, 1 if share else 2, as_percent=share)


def _gap(metric: str, pair: _Pair) -> str:
    difference = _difference(pair)
    if difference is None:
        return fmt.ABSENT
    size = fmt.decimal(abs(difference) * 100, 1) + " pt" if metric == CITATION else fmt.decimal(abs(difference))
    zero = not any(char in "123456789" for char in size)
    return size if zero else f"{'+' if difference > 0 else MINUS}{size}"


def _difference(pair: _Pair) -> float | None:
    if pair.before is None or pair.before.mean is None or pair.current.mean is None:
        return None
    return pair.current.mean - pair.before.mean


def _state(pair: _Pair, *, broken: bool) -> str:
    if broken:
        return "non comparable"
    if _difference(pair) is None:
        return "sans point de comparaison"
    now, before = pair.current, pair.before
    if before is None or None in (now.ci_low, now.ci_high, before.ci_low, before.ci_high):
        return "écart non établi"
    if (now.ci_low or 0.0) > (before.ci_high or 0.0):
        return "hausse"
    if (now.ci_high or 0.0) < (before.ci_low or 0.0):
        return "baisse"
    return "écart non établi"


def _word(pair: _Pair, *, broken: bool) -> str:
    state = _state(pair, broken=broken)
    arrow = {"hausse": _UP, "baisse": _DOWN, "écart non établi": _FLAT}.get(state)
    return f"{arrow} {state}" if arrow else state


def _figures(section: int, metric: str, pair: _Pair, *, broken: bool) -> tuple[Figure, ...]:
    department = fmt.clean(pair.current.department, 64)
    if pair.masked_before:
        return (Figure(section, department, metric, "previous_mean", None, "non communiqué"),)
    before = pair.before
    if before is None or before.mean is None:
        return (Figure(section, department, metric, "previous_mean", None, "non mesuré"),)
    return (
        Figure(section, department, metric, "previous_mean", round(before.mean, 6)),
        Figure(section, department, metric, "previous_n_scored", before.n_scored),
        Figure(section, department, metric, "evolution", _state(pair, broken=broken)),
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
