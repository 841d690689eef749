"""How the outcome of a judgement is written for the client: response headers, the body's findings, error details.

Headers and errors carry codes, figures and totals only. The body's findings add the evidence with its span, since the
client holds that very text. Which of them is sent is the hook's business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from .decisions import After
from .detect.evidence import BiasScreen

MAX_CODES: Final = 20
"""Codes in one header at most."""

NOT_GUARDED: Final = (
    "This endpoint is outside the compliance guardrails. Use /v1/chat/completions, /v1/completions, /v1/messages or "
    "/v1/responses over HTTP."
)
"""The refusal of a way round the guardrails; for who programs a client, hence in English."""


def headers_of(verdict: After, action: str) -> dict[str, str]:
    """The headers of a judged answer; empty when its screen does not act."""
    acting = [verdict.block] if verdict.block is not None else [screen for _, screen in verdict.warn]
    if not acting:
        return {}
    worst = max(acting, key=lambda screen: screen.total)
    return {
        "x-compliance-bias-action": action,
        "x-compliance-bias-domain": worst.domain,
        "x-compliance-bias-total": str(worst.total),
        "x-compliance-bias-threshold": str(worst.threshold),
        "x-compliance-bias-findings": ",".join(_codes(acting)),
    }


def findings_of(acting: Sequence[tuple[int, BiasScreen]]) -> dict[str, Any]:
    """The findings for the body of an answer: `(choice, screen)` pairs as plain JSON values, decimals as text."""
    return {
        "bias": [
            {
                "choice": choice,
                "domain": screen.domain,
                "total": str(screen.total),
                "threshold": str(screen.threshold),
                "acts": screen.acts,
                "findings": [
                    {
                        "characteristic": str(finding.characteristic),
                        "severity": finding.severity.value,
                        "evidence": finding.evidence,
                        "score": str(finding.score),
                        "start": finding.start,
                        "end": finding.end,
                    }
                    for finding in screen.findings
                ],
            }
            for choice, screen in acting
        ]
    }


def blocked_codes(screen: BiasScreen) -> dict[str, Any]:
    """What an error says of a blocked answer: codes and totals, no evidence."""
    return {
        "domain": screen.domain,
        "total": str(screen.total),
        "threshold": str(screen.threshold),
        "findings": _codes([screen]),
    }


def error_detail(message: str, reason: str, codes: Mapping[str, Any]) -> dict[str, Any]:
    """An OpenAI-shaped error body: `message` for people, `reason` and `codes` for programs."""
    return {
        "error": {
            "message": message,
            "type": "invalid_request_error",
            "param": None,
            "code": reason,
            "compliance": {"reason": reason, **codes},
        }
    }


def _codes(screens: Sequence[BiasScreen]) -> list[str]:
    """`characteristic:SEVERITY` of every finding, once each, sorted."""
    found = {f"{finding.characteristic}:{finding.severity}" for screen in screens for finding in screen.findings}
    return sorted(found)[:MAX_CODES]
