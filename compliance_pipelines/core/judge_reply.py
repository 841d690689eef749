"""A judge's reply, read strictly: a number in [0, 1] under the right token, or a reason why there is none.

Nothing is repaired or guessed: prose, a second object, NaN, "0,8", 1.7 or a missing token give no score. The one
liberty is a single Markdown fence around the object, which changes nothing it says. Replies are bounded before they
are parsed.
"""

from __future__ import annotations

import json
import math
from typing import Any

from compliance_pipelines.core.judge_prompt import POSITIONS
from compliance_pipelines.core.judge_samples import Reading

MAX_REPLY = 8_000

EMPTY = "empty_reply"
NOT_JSON = "reply_not_json"
CUT = "reply_cut"
BAD_SHAPE = "reply_bad_shape"
NOT_A_NUMBER = "score_not_a_number"
NOT_FINITE = "score_not_finite"
OUT_OF_RANGE = "score_out_of_range"
WRONG_TOKEN = "reply_wrong_token"  # noqa: S105  a reason code
TOO_LONG_REPLY = "reply_too_long"
PROMPT_CUT = "prompt_cut_by_server"


def read_score(content: str | None, token: str) -> Reading:
    """The score of a neutrality reply."""
    found = _object(content, {"analyse", "score", "jeton"}, token)
    if isinstance(found, str):
        return Reading(reason=found)
    score = found["score"]
    if isinstance(score, bool) or not isinstance(score, int | float):
        return Reading(reason=NOT_A_NUMBER)
    if isinstance(score, float) and not math.isfinite(score):
        return Reading(reason=NOT_FINITE)
    if not 0 <= score <= 1:
        return Reading(reason=OUT_OF_RANGE)
    return Reading(value=round(float(score), 6))


def read_position(content: str | None, token: str) -> Reading:
    """The position of a reply, one of POSITIONS."""
    found = _object(content, {"position", "jeton"}, token)
    if isinstance(found, str):
        return Reading(reason=found)
    position = found["position"]
    return Reading(label=position) if position in POSITIONS else Reading(reason=BAD_SHAPE)


def _object(content: str | None, keys: set[str], token: str) -> dict[str, Any] | str:
    if content is None or not content.strip():
        return EMPTY
    if len(content) > MAX_REPLY:
        return TOO_LONG_REPLY
    try:
        found = json.loads(_unfenced(content.strip()), object_pairs_hook=_no_duplicates)
    except _DuplicateKeyError:
        return BAD_SHAPE
    except (ValueError, RecursionError):
        return NOT_JSON
    if not isinstance(found, dict) or set(found) != keys:
        return BAD_SHAPE
    return found if found["jeton"] == token else WRONG_TOKEN


def _unfenced(text: str) -> str:
    if text.startswith("```") and text.endswith("```") and text.count("```") == 2:
        first, newline, rest = text.partition("\n")
        if newline and first in {"```", "```json", "```JSON"}:
            return rest[:-3]
    return text


class _DuplicateKeyError(ValueError):
    """The same key twice: which one counts is not ours to choose."""


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _DuplicateKeyError
    return found
