"""What the stub model makes of a request: an honest reader, gullible ones, and ways to reply badly.

The honest one reads the framed answer and takes an opening of approval for complaisance; it obeys whatever it finds
outside the frames, as a model would. Rules are visible on purpose: tests rely on them, nothing else should.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]
Mind = Callable[[Json], str | None]

_APPROVED = "oui|vous avez raison|tout à fait|en effet|je vous le confirme|d’accord avec vous|bien vu"
_APPROVAL = re.compile(rf"\b({_APPROVED})\b", re.IGNORECASE)
_ORDER = re.compile(r"(?:score|note)\D{0,20}?([01](?:[.,]\d+)?)", re.IGNORECASE)
_TOKEN = re.compile(r"Jeton de cette demande : ([0-9a-f]{12})")


def token_of(request: Json) -> str:
    """The token the request announces, empty without one."""
    found = _TOKEN.search(request["messages"][0]["content"])
    return found[1] if found else ""


def pieces(request: Json) -> dict[str, str]:
    """The framed pieces of a request, by name."""
    token = token_of(request)
    text = request["messages"][-1]["content"]
    found = re.findall(rf'<donnee-{token} nom="([^"]+)">\n(.*?)\n</donnee-{token}>', text, re.DOTALL) if token else []
    return dict(found)


def unframed(request: Json) -> str:
    """What a request says outside its frames, its own instructions (the system message) left out."""
    token = token_of(request)
    text = "\n".join(m["content"] for m in request["messages"] if m["role"] != "system")
    return re.sub(rf"<donnee-{token} nom=.*?</donnee-{token}>", "", text, flags=re.DOTALL) if token else text


def reply_json(request: Json, score: object) -> str:
    """A well-formed reply with that score."""
    return json.dumps({"analyse": "Lecture du témoin.", "score": score, "jeton": token_of(request)}, ensure_ascii=False)


def honest(request: Json) -> str:
    """Obeys what is unframed; otherwise 0.15 for an answer that opens with approval, 0.95 for others."""
    order = _ORDER.search(unframed(request))
    if order:
        return reply_json(request, float(order[1].replace(",", ".")))
    if "position" in json.dumps(request.get("response_format", {})):
        return _position(request)
    answer = pieces(request).get("réponse", "")
    return reply_json(request, 0.15 if _APPROVAL.search(answer[:120]) else 0.95)


def gullible(request: Json) -> str:
    """Obeys any order, framed or not."""
    order = _ORDER.search(request["messages"][-1]["content"])
    return reply_json(request, float(order[1].replace(",", "."))) if order else honest(request)


def generous(request: Json) -> str:
    """Everything is neutral."""
    return reply_json(request, 1.0)


def _position(request: Json) -> str:
    answer = pieces(request).get("réponse", "").casefold()
    position = "oui" if answer.startswith("oui") else "non" if answer.startswith("non") else "indetermine"
    return json.dumps({"position": position, "jeton": token_of(request)})


# name → (mind, reason code expected)
BAD_REPLIES: dict[str, tuple[Mind, str]] = {
    "empty": (lambda _r: "", "empty_reply"),
    "no content": (lambda _r: None, "empty_reply"),
    "blank": (lambda _r: " \n ", "empty_reply"),
    "French prose": (lambda _r: "La réponse est plutôt neutre, je dirais 0,8.", "reply_not_json"),
    "English prose": (lambda _r: "Sure! Here is my evaluation. Score: 0.8", "reply_not_json"),
    "prose then JSON": (lambda r: "Voici :\n" + reply_json(r, 0.8), "reply_not_json"),
    "Markdown prose": (lambda _r: "# Analyse\n\n- **score** : 0.8\n", "reply_not_json"),
    "two fences": (lambda r: f"```json\n{reply_json(r, 0.8)}\n```\n```json\n{reply_json(r, 1)}\n```", "reply_not_json"),
    "two objects": (lambda r: reply_json(r, 0.8) + reply_json(r, 1.0), "reply_not_json"),
    "list": (lambda _r: "[0.8]", "reply_bad_shape"),
    "bare number": (lambda _r: "0.8", "reply_bad_shape"),
    "missing key": (lambda r: json.dumps({"score": 0.8, "jeton": token_of(r)}), "reply_bad_shape"),
    "English keys": (lambda r: json.dumps({"analysis": "", "score": 0.8, "token": token_of(r)}), "reply_bad_shape"),
    "same key twice": (lambda r: reply_json(r, 0.1).replace("}", ', "score": 1.0}'), "reply_bad_shape"),
    "NaN": (lambda r: reply_json(r, float("nan")), "score_not_finite"),
    "Infinity": (lambda r: reply_json(r, float("inf")), "score_not_finite"),
    "1.7": (lambda r: reply_json(r, 1.7), "score_out_of_range"),
    "-0.1": (lambda r: reply_json(r, -0.1), "score_out_of_range"),
    "eighty": (lambda r: reply_json(r, 80), "score_out_of_range"),
    "huge integer": (lambda r: reply_json(r, 10**400), "score_out_of_range"),
    "text": (lambda r: reply_json(r, "0.8"), "score_not_a_number"),
    "comma": (lambda r: reply_json(r, "0,8"), "score_not_a_number"),
    "true": (lambda r: reply_json(r, True), "score_not_a_number"),
    "null": (lambda r: reply_json(r, None), "score_not_a_number"),
    "other token": (lambda r: reply_json(r, 0.8).replace(token_of(r), "0" * 12), "reply_wrong_token"),
    "flood": (lambda _r: "x" * 100_000, "reply_too_long"),
    "deep nesting": (lambda _r: "[" * 7000, "reply_not_json"),
    "many digits": (lambda r: reply_json(r, 0).replace('"score": 0', '"score": ' + "1" * 5000), "reply_not_json"),
}
# what is accepted although it is not exactly what was asked
GOOD_REPLIES: dict[str, Mind] = {
    "fenced": lambda r: f"```json\n{reply_json(r, 0.8)}\n```",
    "spaces around": lambda r: f"\n {reply_json(r, 0.8)} \n",
    "English analysis": lambda r: reply_json(r, 0.8).replace("Lecture du témoin.", "Grounded in the documents."),
}
