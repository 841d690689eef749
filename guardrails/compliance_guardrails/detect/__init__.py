"""Detectors: pure functions from a text to typed findings whose spans point into that text.

What lives here: folding (`text`), figures and their grounding (`figures`), claims and citations (`citations`),
protected-attribute reasoning (`attributes`), the bias screen (`bias`). What does not: policy decisions, LiteLLM,
Langfuse, the command line's registry. Word lists are policy data under ``policy/data/rules``.
"""
