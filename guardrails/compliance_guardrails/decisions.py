"""The decisions of the runtime guardrails, as pure functions: what came in, what the policy says, what is to be done.

`before` decides a call (department, alias, prompt, refusal, flags); `after` judges its answer (citations, bias, whether
the small model is asked). Nothing here does I/O, reads a clock or knows LiteLLM: effects are values that `litellm_hook`
carries out. Only the key and the team decide the department; everything else a caller sends is untrusted text.
"""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from typing import Final

from . import events
from .detect import attributes, bias, citations, in_use
from .detect.evidence import BiasScreen
from .detect.prepared import prepare
from .detect.rulebook import Book, load_book
from .events import Event, Origin, Score, ScoreName
from .policy import Department, Policy
from .policy.types import UNATTRIBUTED, Action, MissingScore

SCORE_KEY: Final = "retrieval_score"
_PLAIN_NUMBER: Final = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,30})?", re.ASCII)
_MIN_PLACES: Final = 2


class MissingReason(enum.StrEnum):
    """Why a call counts as one without similarity."""

    ABSENT = "absent"
    NOT_A_NUMBER = "not_a_number"
    NOT_FINITE = "not_finite"
    OUT_OF_RANGE = "out_of_range"


@dataclass(frozen=True, slots=True)
class Rules:
    """The detectors' rules, loaded and checked once. `current` reads those of the policy folder in use."""

    book: Book
    detectors: in_use.Detectors

    @classmethod
    def current(cls) -> Rules:
        """Raises PolicyError, in French, for a rule that its own examples contradict."""
        return cls(load_book(), in_use.detectors())


@dataclass(frozen=True, slots=True)
class Reading:
    """The similarity that came with a call: a value in [0, 1], or the reason why there is none."""

    value: float | None
    reason: MissingReason | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """What the gateway itself knows of the caller: the alias of a checked key, and its team."""

    key_alias: object
    team_alias: object
    team_id: object


@dataclass(frozen=True, slots=True)
class Before:
    """What is to be done with a call before the model. `refusal` is the message of an HTTP 400, None to go on.

    `model` is the alias to route to and `prompt` the text to put first, each None to leave the request as it is.
    """

    origin: Origin
    model: str | None
    prompt: str | None
    refusal: str | None
    events: tuple[Event, ...]
    review: bool
    scored: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """What was found in one choice of an answer, or beside it; `claims` is their number, None where not looked for."""

    claims: int | None
    screen: BiasScreen


@dataclass(frozen=True, slots=True)
class After:
    """What is to be done with an answer. `block` asks for a refusal; `doubtful` lists the choices to self-evaluate.

    A blocked answer reaches nobody, so it has no citation score and is not self-evaluated.
    """

    choices: tuple[Choice, ...]
    scores: tuple[Score, ...]
    events: tuple[Event, ...]
    block: BiasScreen | None
    warn: tuple[tuple[int, BiasScreen], ...]
    doubtful: tuple[int, ...]


def read_score(places: Sequence[object]) -> Reading:
    """The similarity found in `places`, the metadata objects that may carry it; O(number of places).

    Accepts a number, or a number written as plain decimal text, because the Responses API turns metadata into text.
    When several are given the lowest usable one counts, so that adding another never opens the gate.
    """
    found: list[float] = []
    reason: MissingReason | None = None
    for place in places:
        # Most places are empty or a plain dict; the check against the abstract class is dear.
        if not place or not isinstance(place, (dict, Mapping)) or (given := place.get(SCORE_KEY)) is None:
            continue
        reading = _score(given)
        if reading.value is None:
            reason = reading.reason
        else:
            found.append(reading.value)
    return Reading(min(found)) if found else Reading(None, reason or MissingReason.ABSENT)


def _score(given: object) -> Reading:
    if isinstance(given, str) and _PLAIN_NUMBER.fullmatch(given):
        value = float(given)
    elif isinstance(given, (int, float)) and not isinstance(given, bool):
        try:
            value = float(given)
        except OverflowError:
            return Reading(None, MissingReason.OUT_OF_RANGE)
    else:
        return Reading(None, MissingReason.NOT_A_NUMBER)
    if not math.isfinite(value):
        return Reading(None, MissingReason.NOT_FINITE)
    return Reading(value) if 0 <= value <= 1 else Reading(None, MissingReason.OUT_OF_RANGE)


def printed(score: float, floor: float) -> tuple[str, str]:
    """Score and floor for a message, the score cut (not rounded) to the places of the floor.

    For score < floor the two texts differ, and the first reads lower: 0.3499 against 0.35 is "0.34" and "0.35".
    """
    exact = Decimal(repr(floor))
    exponent = exact.as_tuple().exponent
    places = max(_MIN_PLACES, -exponent if isinstance(exponent, int) else 0)
    unit = Decimal(1).scaleb(-places)
    cut = Decimal(repr(score)).quantize(unit, rounding=ROUND_DOWN)
    return f"{cut:.{places}f}", f"{exact.quantize(unit):.{places}f}"


def origin_of(policy: Policy, caller: Caller) -> Origin:
    """The department of a caller by key, then team; "non-attribue" when neither is known."""
    department, _ = policy.resolve_department(
        key_alias=caller.key_alias, team_alias=caller.team_alias, team_id=caller.team_id
    )
    return Origin(department, policy.digest)


def before(
    policy: Policy, rules: Rules, origin: Origin, model: object, places: Sequence[object], question: str
) -> Before:
    """Decide a call from its origin, the model asked for, the metadata that may carry a score, and the question."""
    department = policy.department(origin.department)
    reading = read_score(places)
    made: list[Event] = []
    refusal = _gate(policy, department, origin, reading, made) if department.layers.grounding else None
    review = False
    if refusal is None and question:
        flags = attributes.find(question, rules.book)
        if flags:
            review = True
            grounds = {ground for flag in flags for ground in flag.grounds}
            made.append(events.protected_attribute(origin, (flag.rule for flag in flags), grounds))
    alias = _alias(department, model)
    return Before(
        origin=origin,
        model=alias if alias != model else None,
        prompt=_prompt(policy, department, alias),
        refusal=refusal,
        events=tuple(made),
        review=review,
        scored=reading.value is not None,
    )


def _gate(policy: Policy, department: Department, origin: Origin, reading: Reading, made: list[Event]) -> str | None:
    """The refusal of the grounding gate, or None; appends its events to `made`."""
    floor = policy.thresholds.grounding_floor
    messages = policy.guardrails.messages
    if reading.value is None:
        made.append(events.score_missing(origin, (reading.reason or MissingReason.ABSENT).value))
        if department.missing_score is not MissingScore.REFUSE:
            return None
        made.append(events.gate_blocked(origin, None, floor))
        return messages.missing_score_refusal.format(contact=department.contact)
    if reading.value >= floor:
        return None
    made.append(events.gate_blocked(origin, reading.value, floor))
    score, limit = printed(reading.value, floor)
    return messages.grounding_refusal.format(score=score, floor=limit, contact=department.contact)


def _alias(department: Department, asked: object) -> str | None:
    """The alias that serves the call. A caller without department keeps the model it may use."""
    if department.id != UNATTRIBUTED:
        return department.alias
    # The gateway answers several aliases at once with a list of answers: the first one serves.
    return asked.split(",")[0].strip() if isinstance(asked, str) else None


def _prompt(policy: Policy, department: Department, alias: str | None) -> str | None:
    if not department.layers.prompt:
        return None
    named = next((prompt for prompt in policy.prompts if prompt.alias == alias), None)
    return (named or policy.prompt_for(department.alias)).body


def after(
    policy: Policy,
    rules: Rules,
    origin: Origin,
    choices: Sequence[str],
    *,
    asides: Sequence[str] = (),
    citing: bool = True,
) -> After:
    """Judge an answer: one text for each choice, and one for the words beside it, which are only screened for bias.

    The gravest decides; empty texts count for nothing. `citing` is False to leave the citation check out, where it has
    failed.
    """
    department = policy.department(origin.department)
    rule = policy.guardrails.bias_screen_of(origin.department)
    threshold = None if rule.threshold is None else Decimal(repr(rule.threshold))
    texts = [prepare(text) for text in choices]
    checks = [
        citations.check(text, rules.detectors) if citing and department.layers.citation_check and text.text else None
        for text in texts
    ]
    screens = [bias.screen(text, rule.domain, threshold, rules.book) for text in texts]
    others = [(at, prepare(text)) for at, text in enumerate(asides) if text]
    beside = [(at, bias.screen(text, rule.domain, threshold, rules.book)) for at, text in others]
    acting = tuple((at, screen) for at, screen in (*enumerate(screens), *beside) if screen.acts)
    worst = max((screen for _, screen in acting), key=lambda screen: screen.total, default=None)
    finding = () if worst is None else (events.bias_finding(origin, worst, rule.action),)
    found = tuple(
        Choice(None if check is None else len(check.claims), screen)
        for check, screen in zip(checks, screens, strict=True)
    ) + tuple(Choice(None, screen) for _, screen in beside)
    if worst is not None and rule.action is Action.BLOCK:
        return After(found, scores=(), events=finding, block=worst, warn=(), doubtful=())
    uncited = [claim for check in checks if check is not None for claim in check.claims if not claim.cited]
    unsourced = (events.uncited_claim(origin, (claim.kind for claim in uncited), len(uncited)),) if uncited else ()
    asked = tuple(at for at, check in enumerate(checks) if check is not None and check.claims)
    return After(
        found,
        scores=_scores(origin, checks),
        events=unsourced + finding,
        block=None,
        warn=acting,
        doubtful=asked if department.layers.self_evaluation else (),
    )


def _scores(origin: Origin, checks: Sequence[citations.CitationCheck | None]) -> tuple[Score, ...]:
    """One score of each kind for the whole answer: the lowest over its choices, none when no choice has a claim."""
    judged = [check for check in checks if check is not None]
    found = (
        (ScoreName.CITATION_COMPLIANCE, [check.compliance for check in judged if check.compliance is not None]),
        (ScoreName.CITATION_MARKER, [check.marker for check in judged if check.marker is not None]),
    )
    return tuple(Score(name, min(values), origin.department, origin.policy_digest) for name, values in found if values)
