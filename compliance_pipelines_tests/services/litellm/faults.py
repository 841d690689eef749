"""The real hook with switches for tests: a text that holds one of the marks makes a rule of the guardrails raise.

Copied beside the gateway's configuration. The error quotes the conversation on purpose: no log may show it.
"""

from __future__ import annotations

from typing import Any

from compliance_guardrails import litellm_hook

BEFORE, AFTER, CITING = "panne-avant", "panne-après", "panne-citations"
_before, _after = litellm_hook.before, litellm_hook.after


def failing_before(policy: Any, rules: Any, origin: Any, model: Any, places: Any, question: str) -> Any:
    """The pre-call decision, which fails on its mark."""
    if BEFORE in question:
        raise RuntimeError(question)
    return _before(policy, rules, origin, model, places, question)


def failing_after(policy: Any, rules: Any, origin: Any, choices: Any, **options: Any) -> Any:
    """The judgement of an answer, which fails on its mark, or on the other as long as citations are looked at."""
    if any(AFTER in text or (CITING in text and options.get("citing", True)) for text in choices):
        raise RuntimeError(*choices)
    return _after(policy, rules, origin, choices, **options)


litellm_hook.before = failing_before
litellm_hook.after = failing_after
hook = litellm_hook.hook
