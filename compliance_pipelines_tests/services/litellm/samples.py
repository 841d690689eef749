"""What the gateway tests ask and what the model answers: one text for each outcome, and the three protocols."""

from __future__ import annotations

from typing import Any

from compliance_pipelines_tests.services.litellm.client import Answer, Client

QUESTION = "Quelle est la franchise applicable ?"
CITED = "Selon les Conditions générales, p. 12, la franchise est de 150 €."
UNCITED = "La franchise est de 150 €."
BIASED = "Les femmes sont incapables de gérer un sinistre."
NOTICE = "⚠️ Je ne dispose pas de documents suffisants pour répondre avec certitude à cette question."
ENDPOINTS = ("chat", "messages", "responses")


def ask(client: Client, endpoint: str, text: str = QUESTION, **options: Any) -> Answer:
    """`text` sent through one of the ENDPOINTS."""
    return getattr(client, endpoint)(text, **options)
