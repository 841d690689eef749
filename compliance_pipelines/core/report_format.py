"""French numbers, dates and labels for the report, and cells that are safe in a spreadsheet.

Decimal comma, U+202F between thousands and before the percent sign, "1er juillet 2026", Paris time. Labels
come from people and machines that nobody controls: control and direction characters go, length is bounded.
Pure functions.
"""

from __future__ import annotations

import datetime as dt
import math
import unicodedata
from collections.abc import Iterable
from decimal import ROUND_HALF_EVEN, Decimal
from zoneinfo import ZoneInfo

NNBSP = "\u202f"
NBSP = "\u00a0"
ABSENT = "—"
MASKED = "n. c."
PARIS = ZoneInfo("Europe/Paris")
MONTHS = (
    "janvier",
    "février",
    "mars",
    "avril",
    "mai",
    "juin",
    "juillet",
    "août",
    "septembre",
    "octobre",
    "novembre",
    "décembre",
)
_DROPPED = {"Cc", "Cf", "Cs", "Co", "Cn"}


def clean(text: str, limit: int = 80) -> str:
    """Return one bounded line: no control, format (direction) or unassigned characters, spaces collapsed.

    Marks are bounded too: at most two combining marks a letter survive, so that a label cannot climb over
    its line.
    """
    out: list[str] = []
    marks = 0
    # Reading a little more than the limit is enough: the rest could never be printed.
    for char in unicodedata.normalize("NFC", text[: limit * 8]):
        category = unicodedata.category(char)
        marks = marks + 1 if category in {"Mn", "Me"} else 0
        if marks > 2:
            continue
        if char in "\t\r\n\v\f\x85\u2028\u2029":
            out.append(" ")
        elif category not in _DROPPED:
            out.append(char)
    line = " ".join(part for part in "".join(out).split(" ") if part).strip()
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def integer(value: int) -> str:
    """`12345` -> "12 345" with U+202F."""
    return f"{value:,}".replace(",", NNBSP)


def decimal(value: float | None, digits: int = 2) -> str:
    """`0.8134` -> "0,81"; None -> the absence sign."""
    if value is None:
        return ABSENT
    return _plain(value, digits).replace(".", ",")


def percent(share: float | None, digits: int = 1) -> str:
    """A share in 0..1 -> "81,3 %"; None -> the absence sign."""
    if share is None:
        return ABSENT
    return _plain(share, digits, scale=100).replace(".", ",") + NNBSP + "%"


def against(value: float | None, threshold: float | None, digits: int = 2, *, as_percent: bool = False) -> str:
    """Print `value` with as many decimals (6 at most) as it takes to stand on the right side of `threshold`.

    0.6996 against 0.70 prints "0,6996" -> never a "0,70" said to be below "0,70".
    """
    show = percent if as_percent else decimal
    if value is None or threshold is None:
        return show(value, digits)
    scale = 100 if as_percent else 1
    for places in range(digits, 7):
        rounded, limit = Decimal(_plain(value, places, scale=scale)), Decimal(repr(threshold)) * scale
        if (rounded < limit) == (value < threshold):
            return show(value, places)
    return show(value, 6)


def _plain(value: float, digits: int, *, scale: int = 1) -> str:
    if not math.isfinite(value):
        raise ValueError("nombre fini attendu")
    quantum = Decimal(1).scaleb(-digits)
    # Through the shortest decimal form of the float: 0.285 is 28,5 %, not 28,499…
    rounded = (Decimal(repr(value)) * scale).quantize(quantum, rounding=ROUND_HALF_EVEN)
    return f"{abs(rounded) if rounded == 0 else rounded:f}"


def date_fr(day: dt.date) -> str:
    """`2026-07-01` -> "1er juillet 2026"."""
    number = "1er" if day.day == 1 else str(day.day)
    return f"{number}{NBSP}{MONTHS[day.month - 1]} {day.year}"


def day_short(day: dt.date) -> str:
    """`2026-07-01` -> "01/07/2026"."""
    return f"{day.day:02d}/{day.month:02d}/{day.year}"


def paris(moment: dt.datetime) -> dt.date:
    """The Paris day of an aware time."""
    return moment.astimezone(PARIS).date()


def instant_fr(moment: dt.datetime) -> str:
    """An aware time -> "1er juillet 2026 à 06:00 (heure de Paris)"."""
    local = moment.astimezone(PARIS)
    return f"{date_fr(local.date())} à {local:%H:%M} (heure de Paris)"


def instant_short(moment: dt.datetime) -> str:
    """An aware time -> "01/07/2026 06:00", Paris."""
    local = moment.astimezone(PARIS)
    return f"{day_short(local.date())} {local:%H:%M}"


def month_fr(month: str) -> str:
    """`2026-06` -> "juin 2026"."""
    year, number = month.split("-")
    return f"{MONTHS[int(number) - 1]} {year}"


def plural(count: int, one: str, many: str) -> str:
    """French agreement (0 and 1 are singular): `plural(2, "alerte", "alertes")` -> "2 alertes"."""
    return f"{integer(count)}{NBSP}{one if abs(count) < 2 else many}"


def enumerate_fr(names: Iterable[str], limit: int = 12) -> str:
    """Join distinct names, at most `limit` of them: "Finance, Juridique et 3 autres"."""
    distinct = list(dict.fromkeys(names))
    more = len(distinct) - limit
    if more <= 0:
        return ", ".join(distinct)
    return f"{', '.join(distinct[:limit])} et {more}{NBSP}{'autre' if more == 1 else 'autres'}"


def csv_safe(text: str) -> str:
    """Neutralise a cell that a spreadsheet would run as a formula; other text is unchanged."""
    return "'" + text if text[:1] in {"=", "+", "-", "@", "\t", "\r", "\n", "|", "%"} else text


_TYPESET = (
    (" %", NNBSP + "%"),
    (" :", NBSP + ":"),
    (" ;", NNBSP + ";"),
    (" ?", NNBSP + "?"),
    (" !", NNBSP + "!"),
    ("« ", "«" + NBSP),
    (" »", NBSP + "»"),
    (" / ", NBSP + "/" + NBSP),
    ("N = ", f"N{NNBSP}={NNBSP}"),
    ("'", "’"),
)


def typeset(text: str) -> str:
    """Put no-break spaces before ":", ";", "?", "!", "%" and inside guillemets; typographic apostrophes."""
    for plain, fine in _TYPESET:
        text = text.replace(plain, fine)
    return text
