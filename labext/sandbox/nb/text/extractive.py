"""Extractive summaries: select the key sentences of a text."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from labext.sandbox.nb.text import passages, segmentation
from labext.sandbox.nb.text.segmentation import split_sentences, stem_words

MAX_CHARACTERS = 1_000_000
"""Characters of a text that are considered."""

_LIST_MARK = re.compile(r"^(?:[-*+•]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_HEADING = re.compile(r"^#{1,6}[ \t]+")
_RULER = re.compile(r"[-=_*]{3,}")
_SENTENCE_END = re.compile(r"[.!?…。！？](?:[\"'”’)\]]|\[\d{1,3}\])*$")
_LINK_LISTS = (
    "references|bibliography|literature(?: cited)?|works cited|footnotes|see also|external links|"
    "contents|further reading"
)
_STATEMENTS = "acknowledge?ments?|funding|author contributions|competing interests"
_LINK_LIST = re.compile(rf"(?i)^(?:\d+\.?\s*)?(?:{_LINK_LISTS})[ :]*$")
_BACK_MATTER = re.compile(rf"(?i)^(?:\d+\.?\s*)?(?:{_LINK_LISTS}|{_STATEMENTS})[ :]*$")
_REFERENCE = re.compile(
    r"(?m)^\s*(?:\[|[-*+•]\s|\d+[.)]\s)|\b(?:1[5-9]|20)\d\d\b|https?://|\bdoi\b|\b[A-Z]\.(?!\w)"
    r"|^\s*\S+ : |:\w+:`"
)
"""A part of an entry of a list of references: a mark, a year, an address, an initial or a name."""

_MIN_PROSE_WORDS = 8

_NAME = re.compile(
    r"(?:[A-Z]\.[ -]?)+[^\W\d_][\w'’-]+|[^\W\d_][\w'’-]+,? ?(?:[A-Z]\.[ -]?)+(?: and\b)?"
)
"""A person's name with initials: `A. B. Smith`, `Smith, A.`."""

_MIN_STEMS = 4
_TYPICAL_STEMS = 9
_MAX_HEADING_WORDS = 12


def is_link_list(heading: str) -> bool:
    """Return whether a section, judging by its heading, such as `References`, has only links."""
    return _LINK_LIST.match(heading) is not None


def is_prose(text: str) -> bool:
    """Return whether most of a text, such as that below “References”, is sentences, not entries."""
    paragraphs = [item.strip() for item in re.split(r"\n[ \t]*\n", text)]
    prose = [
        item
        for item in paragraphs
        if len(item.split()) >= _MIN_PROSE_WORDS
        and _SENTENCE_END.search(item)
        and not _REFERENCE.search(item)
    ]
    return 2 * sum(map(len, prose)) > len(text)


@dataclass(frozen=True)
class Sentence:
    """A sentence, list item or table row on one line, with the heading above it.

    It is complete if it ends with punctuation.
    """

    text: str
    heading: str
    complete: bool


def parse_sentences(text: str) -> list[Sentence]:
    """Return the sentences of a text, without lists of names and back matter.

    Headings, rulers and the borders of tables are left out, too.

    Lines that a page layout has wrapped are joined; a short line without punctuation directly
    above a paragraph is a heading.
    """
    sentences: list[Sentence] = []
    heading = ""
    for block in re.split(r"\n[ \t]*\n", text[:MAX_CHARACTERS]):
        for title, paragraph in _paragraphs(block):
            heading = heading if title is None else title
            if _BACK_MATTER.match(heading):
                continue
            for sentence in split_sentences(paragraph):
                line = _LIST_MARK.sub("", " ".join(sentence.split()))
                if line and not _is_name_list(line):
                    sentences.append(
                        Sentence(line, heading, _SENTENCE_END.search(line) is not None)
                    )
    return sentences


def _is_name_list(line: str) -> bool:
    """Return whether a line is mostly names of persons with initials, such as the authors' list."""
    names = _NAME.findall(line)
    return len(names) > 1 and 2 * sum(map(len, names)) > len(line)


def select_sentences(sentences: list[Sentence], count: int, topic: str = "") -> list[Sentence]:
    """Return the `count` most informative sentences in their order, each once.

    A sentence is informative if its words are frequent in the text (Luhn 1958). Sentences with
    words of `topic` come first.
    """
    unique = list({sentence.text: sentence for sentence in reversed(sentences)}.values())[::-1]
    stems = {sentence.text: frozenset(stem_words(sentence.text)) for sentence in unique}
    counts = Counter(stem for sentence in sentences for stem in stems[sentence.text])
    about = frozenset(stem_words(topic))
    complete = [sentence for sentence in unique if sentence.complete]
    informative = [sentence for sentence in complete if len(stems[sentence.text]) >= _MIN_STEMS]

    def rank(sentence: Sentence) -> tuple[bool, float]:
        words = stems[sentence.text]
        total = math.fsum(math.log(1 + counts[stem]) for stem in words)
        return bool(about & words), total / max(len(words), _TYPICAL_STEMS)

    selected = sorted(informative or complete or unique, key=rank, reverse=True)[:count]
    return [sentence for sentence in unique if sentence in selected]


def key_sentences(text: str, count: int, topic: str = "") -> list[str]:
    """Return the `count` most informative sentences of a text, as `select_sentences`."""
    return [sentence.text for sentence in select_sentences(parse_sentences(text), count, topic)]


def _paragraphs(block: str) -> Iterator[tuple[str | None, str]]:
    """Yield the paragraphs of a block with the heading above each, if there is one."""
    title: str | None = None
    lines: list[str] = []
    all_lines = [line.strip() for line in block.split("\n") if line.strip()]
    for number, line in enumerate(all_lines):
        after = all_lines[number + 1] if number + 1 < len(all_lines) else ""
        is_row = " | " in f"{line} " or line.startswith("|") or "\t" in line
        mark = _HEADING.match(line)
        before = all_lines[number - 1] if number else ""
        if mark and mark[0].split() in (before.split()[:1], after.split()[:1]):
            line, mark = line[mark.end() :], None  # a comment of several lines
        is_heading = not is_row and (bool(mark) or (not lines and _is_title(line, after)))
        is_ruler = _RULER.fullmatch(line) is not None
        if lines and (is_heading or is_row or is_ruler or _LIST_MARK.match(line)):
            yield title, "\n".join(lines)
            title, lines = None, []
        if is_heading:
            title = _HEADING.sub("", line).strip("# :")
            if not after:
                yield title, ""
        elif is_row and any(char.isalnum() for char in line):
            yield title, line
            title = None
        elif not is_row and not is_ruler:
            lines.append(line)
    if lines:
        yield title, "\n".join(lines)


def _is_title(line: str, after: str) -> bool:
    """Return whether a line without a mark is a heading: short, unpunctuated, above a capital."""
    if _SENTENCE_END.search(line) or _LIST_MARK.match(line) or line.endswith((",", ";", "-")):
        return False
    return len(line.split()) <= _MAX_HEADING_WORDS and (not after or after[0].isupper())


MODEL_NAME = "extractive"

SUMMARY_SENTENCES = 5
"""Default number of sentences in a summary."""

_INSTRUCTION_WORDS = """
    above add answer article brief bullet concise condition content describe document exactly
    extract fact find finding five four give idea important key line list main name note number one
    open order paragraph piece point question section sentence seven short six source state step
    summarise summarize summary ten text three title topic two unclear unknown word write
"""
_INSTRUCTION_STEMS = frozenset(segmentation.stem_words(_INSTRUCTION_WORDS))
"""Stems of a prompt that describe the form of the answer, not its topic."""

NO_SENTENCES = "The text has no sentence that can be quoted."


def summarize(text: str, count: int = SUMMARY_SENTENCES) -> str:
    """Return the key sentences of a text, at most `count`, in the text's order."""
    return " ".join(key_sentences(text, count))


def quote_key_sentences(text: str, prompt: str) -> str:
    """Return key sentences as a Markdown list of quotations; those with words of a prompt first.

    Of a text that has only tables and headings, rows are tables with their headers.
    """
    topic = " ".join(
        word
        for word in segmentation.split_words(prompt)
        if not _INSTRUCTION_STEMS.issuperset(stem_words(word))
    )
    sentences = key_sentences(text, SUMMARY_SENTENCES, topic)
    headers = _table_headers(text)
    rows = [sentence for sentence in sentences if sentence != headers.get(sentence)]
    if rows and headers.keys() >= set(rows):
        tables = groupby(rows, headers.__getitem__)
        return "\n\n".join(passages.markdown_table([header, *group]) for header, group in tables)
    return "\n".join(f"- “{sentence}”" for sentence in sentences) or NO_SENTENCES


def _table_headers(text: str) -> dict[str, str]:
    """Return the header of each row of a text; empty if it has more than rows and headings."""
    headers: dict[str, str] = {}
    header = None
    for line in text.splitlines():
        row = " ".join(line.split())
        if not row or _HEADING.match(row):
            header = None
        elif passages.CELL_SEPARATOR not in f" {row} " and any(map(str.isalnum, row)):
            return {}
        else:
            header = header or row
            headers[row] = header
    return headers
