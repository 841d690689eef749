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
_STOP: Final = re.compile(r"[.!?][.!?\")'\]*¹²³]{0,6}(?=[ \n]|\Z)")
_LABEL: Final = re.compile(r"[ >*¬(]{0,8}(?:sources?|references?|ref\.?) ?: ?(?=[^ \n])")
# Below a paragraph, list or table: "Source : …", or after a quotation the dash before who says so ("— CG, p. 31").
_CAPTION: Final = re.compile(rf"\n\n{{0,3}}{_LABEL.pattern}|(?<=\")\n[ >]{{0,6}}(-) ?(?=[^ \n])")
_MORE: Final = re.compile(rf"\n{{1,4}}(?:{_ITEM.pattern}|  )|(?<![.!?])\n(?=[^\n])")
_OF_CAPTIONS: Final = ("source", "ref", '"\n')  # a text without any of them has no caption
_LONGEST_CAPTION: Final = 300
_DASHES: Final = "—–"
_NONE: Final = (0, 0)
_NOTE: Final = re.compile(
    r"(?: \[[0-9]{1,3}(?:[,;-] ?[0-9]{1,3}){0,8}\]\.?"
    r"| \((?:sources?|cf|voir|ref|selon|art|conditions|cg|cp|p)[^()\n]{0,160}\)\.?"
    r"| sources? ?:[^\n.]{0,160}(?:\.[^ \n][^\n.]{0,80}|p\. ?[0-9]{1,4}[^\n.]{0,40}|art\. [^\n.]{0,60}){0,3}\.?){1,4}"
)
_NOTE_FIRSTS: Final = frozenset("[(s")
_LONGEST_ABBREVIATION: Final = 10


class Stretch(NamedTuple):
    """``compact[start:end]``; for an item of a list, `lead` is the line that announces the list and `foot` the source
    line below it, each as a start and an end (0, 0 when there is none)."""

    start: int
    end: int
    lead: tuple[int, int] = _NONE
    foot: tuple[int, int] = _NONE


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
        self._captioned: bool | None = None
        self._list = self._list_foot = _NONE

    @property
    def _captions(self) -> bool:
        if self._captioned is None:
            self._captioned = any(map(self._text.__contains__, _OF_CAPTIONS))
        return self._captioned

    def around(self, place: int) -> Stretch:
        """The stretch that holds the character at `place`."""
        if self._last.start <= place < self._last.end:
            return self._last
        low = self._last.end if place >= self._last.end else 0
        low = max(low, place - MAX_SENTENCE)
        start, is_item = self._block_start(place, low)
        end = min(self._block_end(place), place + MAX_SENTENCE)
        if is_item:
            foot = self._foot(start) if self._captions else _NONE
            self._last = Stretch(start, end, self._announcement(start), foot)
        else:
            start, stop = self._sentence(start, place, end)
            below = self._caption if self._text[end - 1 : end] in ".!?" else self._foot
            self._last = Stretch(start, stop, foot=below(end) if end - stop <= 2 and self._captions else _NONE)
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

    def _caption(self, end: int) -> tuple[int, int]:
        """The line below the one that ends at `end` when it names a source and says nothing else."""
        match = _CAPTION.match(self._text, end)
        if match is None or (match[1] and self._visible[match.start(1)] not in _DASHES):
            return _NONE
        high = min(len(self._text), match.end() + _LONGEST_CAPTION)
        line = self._text.find("\n", match.end(), high)
        high = high if line < 0 else line
        stop = self._stop(match.end(), high)
        return (end, stop) if high - stop <= 1 else _NONE

    def _stop(self, low: int, high: int) -> int:
        """Where the sentence at `low` ends: at its full stop or at `high`."""
        while match := _STOP.search(self._text, low, high):
            stop, low = match.span()
            if self._ends(stop, low):
                return low
        return high

    def _foot(self, item: int) -> tuple[int, int]:
        """The source line below the list, table or lines without a full stop that `item` lies in."""
        if not self._list[0] <= item < self._list[1]:
            end = self._newline(item)
            for _ in range(_MAX_LINES):
                if _CAPTION.match(self._text, end) or not _MORE.match(self._text, end):
                    break
                following = self._text.find("\n", end + 1)
                end = following if following >= 0 else len(self._text)
            self._list, self._list_foot = (item, end), self._caption(end)
        return self._list_foot

    def _newline(self, place: int) -> int:
        """The first line end at or after `place`; remembered, so that one long line is not read for each claim."""
        low, found = self._line
        if not low <= place <= found:
            found = self._text.find("\n", place)
            found = len(self._text) if found < 0 else found
            self._line = (place, found)
        return found

    def _sentence(self, low: int, place: int, high: int) -> tuple[int, int]:
        start = end = low
        if (not low or self._text[low - 1] == "\n") and _LABEL.match(self._text, low):
            end = self._stop(low, high)  # "Source : CG, p. 3. La franchise…": a label, not a sentence
        while True:
            end = self._stop(end, high)
            # Most full stops are followed by no note: look at one character before trying the pattern.
            if self._text[end + 1 : end + 2] in _NOTE_FIRSTS and (note := _NOTE.match(self._text, end, high)):
                end = note.end()
            if end > place or end == high:
                return start, end
            start = end

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
