"""A text as it is read: its sentences apart from headings, items of lists and rows of tables.

Files wrap their lines, put headings directly above what they head, and break pages within a
sentence. What is made of them here has blanks for ends of lines, and is otherwise word for word
what stands there.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace

from labext.sandbox.nb.models import words

SENTENCE, ITEM, HEADING, ROW = "sentence", "item", "heading", "row"

POINTS_BACK = re.compile(
    r"(?i)(?:for|because of|in|by|at|with|after|before|due to|of) (?:this|these|that|its|their)\b|"
    r"(?:it|they|he|she|this|these|that|those|its|their|here|there|therefore|thus|hence|then|"
    r"the same|the other|the former|the latter|both|neither|such|so|and|but|or|also|otherwise|"
    r"however|moreover|instead|consequently|accordingly|furthermore|similarly|finally|second|"
    r"third|next|to one half)\b"
)
"""How a sentence begins that is not understood without the one before it."""

_FINDS = re.compile(
    r"(?i)\b(?:show(?:s|n|ed)?|found|conclu\w+|increas\w+|decreas\w+|reduc\w+|improv\w+|higher|"
    r"lower|significant\w*|therefore|because|reveal\w*|demonstrat\w+|confirm\w*|suggest\w*|"
    r"so that|lead(?:s)? to|depend\w*|need\w*|require\w*|important|cause\w*|prevent\w*)\b"
)
ABOUT_ITSELF = re.compile(
    r"(?i)\b(?:this (?:paper|primer|text|page|article|document|protocol|chapter|section)|"
    r"the (?:table|figure|following)|copyright|all rights reserved|click|cookies?|written for|"
    r"see (?:fig\w*|tab\w*|also|the)|notes? of)\b"
)
_LISTED = re.compile(r"^(?:[-*+•]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_MARKED = re.compile(r"^#{1,6}[ \t]+")
_ENDS = re.compile(r"[.!?…。！？](?:[\"'”’)\]]|\[\d{1,3}\])*$")
_CITED = re.compile(r"([.!?](?:\[\d{1,3}\])+) (?=[A-Z])")
"""An end of a sentence that is not seen for the citation behind it."""

_SMALL_NAME = re.compile(r"(?<=[\w)\]%][.!?])\s+(?=[a-z]{1,3}[A-Z0-9]\w*)")
"""A sentence may begin with pBAD30 or mRNA."""

_SHORT, _VERY_SHORT = 0.7, 0.4
"""Parts of a text's usual width; a line that is shorter was not wrapped."""

_FEWEST_TERMS = 4
_USUAL_TERMS = 9
_LONGEST_HEADING = 12
_LONGEST = 45
"""Words of a sentence that is still taken in at once."""


@dataclass(frozen=True)
class Statement:
    """A sentence, or what else stands in a text by itself.

    Attributes:
        text: one line, without the mark of a heading or a list's item.
        kind: `SENTENCE`, `ITEM`, `HEADING` or `ROW`.
        under: the heading that it stands under; empty for none.
        place: its number in the text, from 0.
    """

    text: str
    kind: str
    under: str
    place: int


def statements(text: str) -> list[Statement]:
    """What a text says, in its order."""
    found: list[Statement] = []
    under = ""
    for block in _blocks(text):
        for kind, piece in _pieces(block):
            if kind == HEADING:
                under = piece
            found.append(Statement(piece, kind, under, len(found)))
    return found


def telling(
    found: Sequence[Statement], most: int, about: frozenset[str] = frozenset()
) -> list[Statement]:
    """Those that say most and are understood by themselves, at most so many, in their order.

    Frequent words carry what a text is about; each that has been said counts half for the next one
    (after SumBasic: Nenkova and Vanderwende, 2005). Sentences that state what is so or why are
    worth more, those about the text itself less; and twice as much those that have a word of which
    the stem is in `about`.
    """
    terms = {each: frozenset(words.terms(each.text)) for each in found}
    counts = Counter(term for each in terms.values() for term in each)
    weights = {term: math.log(1 + count) for term, count in counts.items()}
    factors = {each: _factor(each, terms[each], about) for each in candidates(found) if terms[each]}

    def worth(each: Statement) -> float:
        return factors[each] * math.fsum(weights[term] for term in terms[each])

    # Worth only falls: whatever is still worth as much as when it was put in is the best of all.
    rest = [(-worth(each), each.place, each) for each in factors]
    heapify(rest)
    chosen: list[Statement] = []
    while rest and len(chosen) < most:
        was, place, best = rest[0]
        now = -worth(best)
        if now > was:
            heapreplace(rest, (now, place, best))
            continue
        heappop(rest)
        chosen.append(best)
        for term in terms[best]:
            weights[term] /= 2
    return sorted(chosen, key=lambda each: each.place)


def candidates(found: Sequence[Statement]) -> list[Statement]:
    """What may stand alone, each once: sentences that say something, or else whatever there is."""
    once = list({each.text: each for each in reversed(found)}.values())[::-1]
    whole = [each for each in once if each.kind == SENTENCE]
    full = [each for each in whole if len(set(words.terms(each.text))) >= _FEWEST_TERMS]
    return full or whole or [each for each in once if each.kind == ITEM] or once


def _factor(each: Statement, terms: frozenset[str], about: frozenset[str]) -> float:
    """By what its words' weights count: a short one as if it had more that say nothing."""
    factor = (2.0 if about & terms else 1.0) / max(len(terms), _USUAL_TERMS)
    factor *= 1.25 if _FINDS.search(each.text) else 1.0
    factor *= 0.5 if POINTS_BACK.match(each.text) else 1.0
    factor *= 0.4 if ABOUT_ITSELF.search(each.text) else 1.0
    factor *= 0.5 if each.text.endswith("?") else 1.0
    return factor * (0.6 if len(each.text.split()) > _LONGEST else 1.0)


def _pieces(block: str) -> Iterator[tuple[str, str]]:
    """The statements of a block with their kinds."""
    if _MARKED.match(block):
        yield HEADING, _MARKED.sub("", block).strip("# ")
    elif " | " in block or block.startswith("|") or "\t" in block:
        if any(letter.isalnum() for letter in block):
            yield ROW, " ".join(block.split())
    else:
        listed = _LISTED.match(block) is not None
        for sentence in words.sentences(_LISTED.sub("", block)):
            line = _CITED.sub(r"\1\n", " ".join(sentence.split()))
            for piece in (each for part in line.split("\n") for each in _SMALL_NAME.split(part)):
                whole = _ENDS.search(piece) is not None
                yield (SENTENCE if whole else ITEM if listed else _unended(piece)), piece


def _unended(piece: str) -> str:
    """What a line without a full stop is: a long one is a sentence that lacks it."""
    parts = piece.split()
    if sum(part[0].isdigit() for part in parts) > 1:
        return ROW
    return ITEM if len(parts) > _LONGEST_HEADING else HEADING


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs, headings, items and rows; one that a page's end has cut is whole again."""
    kept = ""
    for block in _cut(text):
        goes_on = kept and not _ENDS.search(kept) and _is_prose(kept) and block[:1].islower()
        if goes_on and len(kept.split()) > 6:
            kept = f"{kept} {block}"
            continue
        if kept:
            yield kept
        kept = block
    if kept:
        yield kept


def _is_prose(block: str) -> bool:
    return not (_MARKED.match(block) or " | " in block or "\t" in block)


def _cut(text: str) -> Iterator[str]:
    lines = [line.rstrip() for line in text.split("\n")]
    width = _width(lines)
    block: list[str] = []
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if block and (not line.strip() or _LISTED.match(line.strip()) or _MARKED.match(line)):
            yield " ".join(block)
            block = []
        if not line.strip():
            continue
        block.append(line.strip())
        if _is_over(line, after, width):
            yield " ".join(block)
            block = []
    if block:
        yield " ".join(block)


def _is_over(line: str, after: str, width: int) -> bool:
    """Whether a line is a block's last: a heading, a row, or what was not wrapped."""
    line = line.strip()
    if _MARKED.match(line) or " | " in line or line.startswith("|") or "\t" in line:
        return True
    if _ENDS.search(line):
        return len(line) < _SHORT * width and after[:1].isupper()
    if line.endswith((",", ";", ":", "-")):
        return False
    goes_on = after.strip()[:1].islower()
    return len(line) < (_VERY_SHORT if goes_on else _SHORT) * width


def _width(lines: Sequence[str]) -> int:
    """How long a text's full lines are: nine of ten characters stand in lines at most so long."""
    lengths = sorted(len(line) for line in lines if line.strip())
    total, seen = sum(lengths), 0
    for length in lengths:
        seen += length
        if seen * 10 >= total * 8:
            return length
    return 0
