"""What sentences are about: the groups of words in them that name something."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from labext.sandbox.nb.models import words

_TOKEN = re.compile(r"[\w'’\-+/]+|[^\w\s]")
_BEFORE = frozenset(
    words.words("the of by with in on for from between without behind against to into about")
)
"""What a name often follows."""

_LINKS = frozenset(
    words.words(
        "is are was were has have had can may must will does do needs takes makes binds shows "
        "gives keeps holds becomes remains stays and or but of in on at by with for from to that "
        "which who when where while because so as than if into between through without after "
        "before during under over until grew rose fell gave bound kept lost made took ran "
        "found became stood went came began broke"
    )
)
"""What a name often stands before."""

_NO_NAME = re.compile(
    r"(?:ed|ly|ing|ous|ful|ive|able|ible|less)$|^(?:first|second|third|last|next|same|other|own|"
    r"few|several|large|small|high|low|higher|lower|long|short|good|better|best|new|old|usual|"
    r"whole|half|one|two|three|four|five|ten|different|full|certain|main|each|once|time|times|way|"
    r"thing|things|kind|part|parts|number|numbers|order|case|fact|reason|reasons|today|details?|measure|example|absence|presence|result|results|need|needs|take|takes|use|"
    r"right|left|add|make|makes|keep|hour|hours|day|days|minutes|steps?)$"
)
_MOST_WORDS = 3


class Names:
    """What is named in some sentences.

    One of several words is a name for certain only where it is there twice, or has a word such as
    AraC; `glucose belongs` is none.
    """

    def __init__(self, sentences: Sequence[str]) -> None:
        self._shown: dict[str, str] = {}
        counts: Counter[str] = Counter()
        for sentence in sentences:
            for name in _named(_TOKEN.findall(sentence)):
                counts[_key(name)] += 1
                self._shown.setdefault(_key(name), name)
        sure = [key for key in self._shown if _is_sure(self._shown[key], counts[key])]
        self._worth = {key: counts[key] * (1 + len(key.split())) for key in sure}

    def most(self) -> list[str]:
        """Every name, what is named most first: `glucose`, `the araBAD promoter`."""
        ranked = sorted(self._worth, key=lambda key: -self._worth[key])
        return [self._shown[key] for key in ranked]

    def of(self, sentence: str) -> list[str]:
        """The names in one of the sentences, the most telling first."""
        found = {_key(name): name for name in _named(_TOKEN.findall(sentence))}
        known = [key for key in found if key in self._worth]
        return [found[key] for key in sorted(known, key=lambda key: -len(key.split()))]


def _key(name: str) -> str:
    return " ".join(words.terms(name))


def _is_sure(name: str, count: int) -> bool:
    parts = name.removeprefix("the ").split()
    if len(parts) == 1 or count > 1:
        return True
    return any(each.isupper() or any(c.isupper() for c in each[1:]) for each in parts) and not (
        name.endswith("s") and name[-2] not in "sui"
    )


def _named(tokens: Sequence[str]) -> Iterator[str]:
    for start, token in enumerate(tokens):
        if token.lower() not in _BEFORE and start > 0:
            continue
        begin = start + 1 if token.lower() in _BEFORE else start
        if begin < len(tokens) and tokens[begin].lower() == "the":
            continue  # it is found from there
        run = []
        for each in tokens[begin:]:
            if each.lower() in _LINKS or not each[0].isalpha() or each.lower() in _BEFORE:
                break
            run.append(each)
        end = begin + len(run)
        closed = end >= len(tokens) or tokens[end].lower() in _LINKS or tokens[end] in ".,;:"
        if closed and 0 < len(run) <= _MOST_WORDS and _is_name(run):
            name = " ".join(run)
            if begin == 0 and run[0][1:].islower() and run[0][1:].isalpha():
                name = name[0].lower() + name[1:]
            yield f"the {name}" if token.lower() == "the" else name


def _is_name(run: Sequence[str]) -> bool:
    last = run[-1].lower()
    if len(last) < 3 or not words.terms(run[0]) or not words.terms(last) or _NO_NAME.search(last):
        return False
    return not any(_NO_NAME.search(each.lower()) and each.islower() for each in run[:1])
