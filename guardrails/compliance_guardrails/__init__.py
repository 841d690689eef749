"""Guardrails of an insurer's LLM gateway: policy, detectors, decisions, hook, counterfactual gate."""
