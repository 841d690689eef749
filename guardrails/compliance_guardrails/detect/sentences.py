"""The sentence, list item or table row around a place of a text: the stretch in which a citation must stand.

Survives "art. L. 113-8", "cf.", "p. 12", "M. ", decimals, soft line breaks, Markdown lists and tables, and gives a note
mark after the full stop ("… 150 €. [1]") to the sentence it follows. Works on compact folds.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final, NamedTuple

MAX_SENTENCE: Final = 2_000
"""Characters looked at on either side of a claim at most."""

_MAX_LINES: Final = 40

_ITEM: Final = re.compile(r"[ >]{0,12}(?:[-*+] |[0-9]{1,3}[.)] |[a-z]\) |\|)")
_STOP: Final = re.compile(r"[.!?][.!?\")'\]*]{0,6}(?=[ \n]|\Z)")
_NOTE: Final = re.compile(
    r"(?: \[[0-9]{1,3}(?:[,;-] ?[0-9]{1,3}){0,8}\]\.?"
    r"| \((?:sources?|cf|voir|ref|selon|art|conditions|cg|cp|p)[^()\n]{0,160}\)\.?"
    r"| sources? ?:[^\n.]{0,160}(?:\.[^ \n][^\n.]{0,80}|p\. ?[0-9]{1,4}[^\n.]{0,40}|art\. [^\n.]{0,60}){0,3}\.?){1,4}"
)
_NOTE_FIRSTS: Final = frozenset("[(s")
_LONGEST_ABBREVIATION: Final = 10


class Stretch(NamedTuple):
    """``compact[start:end]``; for an item of a list ``compact[lead:lead_end]`` is the line that announces the list."""

    start: int
    end: int
    lead: int = 0
    lead_end: int = 0


class Stretches:
    """Stretches of one compact fold, found around places asked for in ascending order and kept."""

    def __init__(self, folded: str, visible: str, abbreviations: frozenset[str]) -> None:
        self._text = folded
        self._visible = visible
        self._abbreviations = abbreviations
        self._last = Stretch(0, 0)
        self._line = (0, -1)
        self._list_next = -1
        self._list_lead = (0, 0)

    def around(self, place: int) -> Stretch:
        """The stretch that holds the character at `place`."""
        if self._last.start <= place < self._last.end:
            return self._last
        low = self._last.end if place >= self._last.end else 0
        low = max(low, place - MAX_SENTENCE)
        start, is_item = self._block_start(place, low)
        end = min(self._block_end(place), place + MAX_SENTENCE)
        if is_item:
            self._last = Stretch(start, end, *self._announcement(start))
        else:
            self._last = Stretch(*self._sentence(start, place, end))
        return self._last

    def _block_start(self, place: int, low: int) -> tuple[int, bool]:
        """Start of the paragraph line or list item; continuation lines are followed upwards."""
        text = self._text
        line = text.rfind("\n", low, place) + 1 or low
        first = line
        for _ in range(_MAX_LINES):
            if (line == 0 or text[line - 1] == "\n") and _ITEM.match(text, line):
                return line, True
            if line <= low or not self._continues(line):
                break
            line = text.rfind("\n", low, line - 1) + 1 or low
            first = line
        return first, False

    def _continues(self, line: int) -> bool:
        """Whether the line at `line` goes on with the sentence of the line above it."""
        text = self._text
        above = text[max(0, line - 2) : line - 1]
        here = text[line : line + 40].lstrip(" ")
        if not here or here[0] == "\n" or above in {"", "\n"} or _ITEM.match(text, line) or here[0] == "#":
            return False
        if text.startswith("  ", line):
            return True
        shown = self._visible[line : line + 1]
        return above not in ".!?:;" and (shown.islower() or shown.isdigit() or shown in '(«"%€')

    def _block_end(self, place: int) -> int:
        end = self._newline(place)
        for _ in range(_MAX_LINES):
            if end >= len(self._text) or not self._continues(end + 1):
                return end
            end = self._newline(end + 1)
        return end

    def _newline(self, place: int) -> int:
        """The first line end at or after `place`; remembered, so that one long line is not read for each claim."""
        low, found = self._line
        if not low <= place <= found:
            found = self._text.find("\n", place)
            found = len(self._text) if found < 0 else found
            self._line = (place, found)
        return found

    def _sentence(self, low: int, place: int, high: int) -> tuple[int, int]:
        start = low
        for match in _STOP.finditer(self._text, low, high):
            end = match.end()
            if not self._ends(match.start(), end):
                continue
            # Most full stops are followed by no note: look at one character before trying the pattern.
            if self._text[end + 1 : end + 2] in _NOTE_FIRSTS and (note := _NOTE.match(self._text, end, high)):
                end = note.end()
            if end > place:
                return start, end
            start = end
        return start, high

    def _ends(self, stop: int, end: int) -> bool:
        """Whether the mark at ``stop:end`` ends a sentence."""
        if self._text[stop] != ".":
            return True
        following = self._visible[end + 1 : end + 2]
        if following.islower():
            return False
        space = self._text.rfind(" ", max(0, stop - _LONGEST_ABBREVIATION), stop)
        if space < 0 and stop > _LONGEST_ABBREVIATION:
            return True
        word = self._text[space + 1 : stop].lstrip('("\n[')
        if "'" in word:
            word = word.rpartition("'")[2]
        if word in self._abbreviations:
            return False
        return len(word) != 1 or not word.isalpha() or not (following.isdigit() or self._visible[stop - 1].isupper())

    def _announcement(self, item: int) -> tuple[int, int]:
        """The line ending in ":" above the list that the item at `item` belongs to; an empty stretch when none."""
        text = self._text
        line = item
        for _ in range(_MAX_LINES):
            if line == 0:
                break
            if line == self._list_next:  # the item before this one was asked for: same list, same announcement
                return self._list_lead
            above = text.rfind("\n", 0, line - 1) + 1
            content = text[above : min(line - 1, above + MAX_SENTENCE)].strip()
            if content and not _ITEM.match(text, above) and not text.startswith("  ", above):
                lead = (above, line - 1) if content.endswith(":") else (0, 0)
                break
            line = above
        else:
            lead = (0, 0)
        if line == 0:
            lead = (0, 0)
        self._list_next, self._list_lead = self._newline(item) + 1, lead
        return lead


def merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sorted spans with overlapping ones joined."""
    out: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


def inside(spans: list[tuple[int, int]], place: int) -> bool:
    """Whether `place` lies within one of the sorted, disjoint `spans`."""
    index = bisect_right(spans, (place, 1 << 62)) - 1
    return index >= 0 and place < spans[index][1]
