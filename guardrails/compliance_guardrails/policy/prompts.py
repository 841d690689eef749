"""A prompt file: front matter between two `---` lines, then the text that is put first in the
conversation.

Checks what can be checked by a machine: the head against its model, a body that is not empty and not
huge, the exact refusal sentence word for word. Whether the rules are good is for the department to
judge.
"""

from __future__ import annotations

from typing import Final

from .errors import PolicyError
from .references import FrontMatter, Prompt
from .strict import parse_yaml
from .yaml_reader import ROOT

MAX_BODY: Final = 20_000


def parse_prompt(text: str, name: str, file: str) -> Prompt:
    """The prompt called `name`; `file` is the name used in messages. Raises PolicyError."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != "---" or "---" not in [line.rstrip() for line in lines[1:]]:
        raise PolicyError(file, ROOT, "un en-tête entre deux lignes « --- », puis le texte")
    end = [line.rstrip() for line in lines[1:]].index("---") + 1
    head = parse_yaml("\n".join(lines[1:end]), FrontMatter, file)
    body = "\n".join(lines[end + 1 :]).strip()
    if not body:
        raise PolicyError(file, "texte", "des consignes après l’en-tête")
    if len(body) > MAX_BODY:
        raise PolicyError(file, "texte", f"au plus {MAX_BODY} caractères")
    if head.refusal is not None and head.refusal not in body:
        raise PolicyError(file, "refusal", "une phrase qui figure telle quelle dans le texte")
    return Prompt(
        name=name,
        effective_from=head.effective_from,
        alias=head.alias,
        title=head.title,
        refusal=head.refusal,
        body=body,
    )
