"""Mistakes in the command line itself, in French and on one line: unknown option, missing argument, wrong value.

The parser raises English exceptions whose classes belong to whichever click serves typer; they are recognised by the
names of their classes and read by their public attributes, so that no private module is imported.
"""

from __future__ import annotations

import re

_QUOTED = re.compile(r"'([^']*)'|\(([^()]*)\)")
_MAX_SHOWN = 80
_MESSAGES = {
    "No such command": "commande inconnue : ",
    "unexpected extra argument": "argument en trop : ",
    "Missing command": "attendu une commande",
}
# The beginnings of pydantic's error types, which typer reads values with.
_KINDS = {
    "int": "attendu un nombre entier",
    "float": "attendu un nombre",
    "bool": "attendu oui ou non",
    "path": "attendu un chemin",
    "date": "attendu une date",
    "greater": "attendu plus",
    "less": "attendu moins",
}


def usage_fr(error: BaseException) -> str | None:
    """The French line for a mistake in the command line, None for any other exception."""
    classes = [one.__name__ for one in type(error).__mro__]
    if "ClickException" not in classes or "NoArgsIsHelpError" in classes:
        return None
    context = getattr(error, "ctx", None)
    path = getattr(context, "command_path", "") or "compliance"
    return f"{_what(error, classes)} ({_clean(path)} --help)"


def help_text(error: BaseException) -> str | None:
    """The help that a command without any argument shows, None for any other exception."""
    if "NoArgsIsHelpError" in [one.__name__ for one in type(error).__mro__]:
        return str(getattr(error, "message", ""))
    return None


def _what(error: BaseException, classes: list[str]) -> str:
    message = str(getattr(error, "message", ""))
    option = _clean(getattr(error, "option_name", ""))
    if "NoSuchOption" in classes:
        near = [_clean(one) for one in getattr(error, "possibilities", None) or ()]
        return f"option inconnue : {option}" + (f", attendu {' ou '.join(near[:3])} ?" if near else "")
    if "BadOptionUsage" in classes:
        return f"{option} : attendu {'sans valeur' if 'does not take' in message else 'une valeur'}"
    if "BadParameter" in classes:
        missing = "MissingParameter" in classes
        return f"{_parameter(error)} : {'attendu, et absent de la commande' if missing else _expected(error)}"
    for words, said in _MESSAGES.items():
        if words in message:
            return said + _quoted(message.partition(words)[2])
    return "commande mal écrite"


def _parameter(error: BaseException) -> str:
    """How the person types it: the option's long name, or the argument's metavar."""
    found = getattr(error, "param", None)
    names = [str(name) for name in getattr(found, "opts", None) or ()]
    if getattr(found, "param_type_name", "") == "option" and names:
        return _clean(max(names, key=len))
    shown = getattr(found, "metavar", None) or getattr(error, "param_hint", None) or (names[0] if names else "argument")
    return _clean(shown if isinstance(shown, str) else " ".join(map(str, shown)))


def _expected(error: BaseException) -> str:
    reasons = getattr(error.__cause__, "errors", None)
    first = reasons()[0] if callable(reasons) else {}
    if "expected" in first.get("ctx", {}):
        return f"attendu {_clean(first['ctx']['expected'])}"
    return _KINDS.get(str(first.get("type", "")).partition("_")[0], "valeur refusée")


def _quoted(message: str) -> str:
    """What the parser quotes of the command line; nothing where it quotes nothing."""
    found = _QUOTED.search(message.replace("argument(s)", "").replace("(s)", ""))
    return _clean(found[1] or found[2]) if found else ""


def _clean(text: object) -> str:
    """What was typed, on one line and short."""
    shown = "".join(char if char.isprintable() else "?" for char in str(text))
    return shown if len(shown) <= _MAX_SHOWN else shown[: _MAX_SHOWN - 1] + "…"
