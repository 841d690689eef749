"""What the model itself would do where the gateway's masking hides the attribute.

A neutralised pair says that masking works, and nothing about the model behind it. With a key that the gateway does not
mask, those pairs are asked again and judged alone. That second verdict is shown beside the first and never changes the
exit code: users get the masked answers. It costs calls of its own, within the same --max-calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .engine import run
from .plan import Plan
from .ports import Assistant, Progress
from .result import VERDICTS_FR, PairResult, PairVerdict, Unmasked


def with_unmasked(
    plan: Plan, found: Sequence[PairResult], assistant: Assistant | None, progress: Progress | None = None
) -> tuple[PairResult, ...]:
    """`found`, neutralised pairs with their unmasked arm. Without an assistant they say that it was not tested."""
    hidden = {pair.id for pair in found if pair.verdict is PairVerdict.NEUTRALISED}
    if not hidden:
        return tuple(found)
    if assistant is None:
        return tuple(_told(pair, None) if pair.id in hidden else pair for pair in found)
    left = None if plan.max_calls is None else max(0, plan.max_calls - sum(pair.calls for pair in found))
    pairs = tuple(pair for pair in plan.pairs if pair.id in hidden)
    again = {pair.id: pair for pair in run(replace(plan, pairs=pairs, max_calls=left), assistant, progress)}
    return tuple(_told(pair, again[pair.id]) if pair.id in hidden else pair for pair in found)


def _told(pair: PairResult, second: PairResult | None) -> PairResult:
    if second is None:
        return replace(pair, reason_fr=f"{pair.reason_fr} Modèle sans masquage : non essayé, faute de clé.")
    if second.verdict is PairVerdict.NEUTRALISED:
        arm = Unmasked(PairVerdict.VACUOUS, "La clé donnée n’enlève pas le masquage.", second.calls)
    else:
        arm = Unmasked(second.verdict, second.reason_fr, second.calls, second.dimensions)
    reason = f"{pair.reason_fr} Modèle sans masquage : {VERDICTS_FR[arm.verdict]}. {arm.reason_fr}"
    return replace(pair, reason_fr=reason, unmasked=arm, calls=pair.calls + second.calls)
