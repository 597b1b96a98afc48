"""Answer writer without a language model: quote the passages that match best."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import dropwhile, groupby, pairwise

from labext import messages
from labext.cjk import UNSPACED
from labext.sandbox.nb.ask import matching
from labext.sandbox.nb.ask.answers import (
    NO_MATCH,
    Answer,
    ChatTurn,
    Citation,
    Search,
    Strategy,
    citation_mark,
    cite,
    resolve_query,
    transcript_note,
)
from labext.sandbox.nb.ask.table_rows import (
    MAX_ROWS,
    Selection,
    find_extremes,
    find_named_rows,
    names_cells,
    parse_superlatives,
    remove_comparisons,
)
from labext.sandbox.nb.search.ranking import Hit
from labext.sandbox.nb.text import extractive, passages, segmentation

MAX_PASSAGES = 3
"""Maximum number of passages quoted in an answer."""

MAX_LENGTH = 1_500
"""Maximum characters of a quotation; passages with more blanks, such as tables, are cut."""

INTRODUCTION = "### Passages that match best"

_WORD = re.compile(r"\w[\w'’\-]*")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_COMMENT = re.compile(r"^\s*#{1,6}(?=\s)")
_ENDS = re.compile(r"(?<=[.!?])\s+|\n")
_NEGLIGIBLE = re.compile(r"[\s=\-_*~^#+|:.`\"'>]*")


class PassageQuoter:
    """The answer writer of the built-in model.

    Args:
        uses_similarity: whether passages have similarities of the built-in embedding model, for
            which its threshold is calibrated; without them, words decide.
        read_source: returns all passages of a hit's source or note, in order.
    """

    name = extractive.MODEL_NAME
    depth = 30

    def __init__(
        self, uses_similarity: bool, read_source: Callable[[Hit], Sequence[Hit]] = lambda hit: [hit]
    ) -> None:
        self._uses_similarity = uses_similarity
        self._read_source = read_source

    def strategy(self, question: str) -> Strategy:
        """Return a strategy that searches for the question itself."""
        return Strategy(
            "Without a language model, the question itself is searched for.",
            (Search(question, "Quote the passages that match best."),),
        )

    def rerank(self, term: str, hits: Sequence[Hit]) -> Sequence[Hit]:  # noqa: ARG002
        """Return the passages as they are."""
        return hits

    def answer(self, question: str, search: Search, hits: Sequence[Hit]) -> Answer:  # noqa: ARG002
        """Quote the passages that match the search best."""
        return self._quote(search.term, hits)

    def final(self, question: str, answers: Sequence[Answer], hits: Sequence[Hit]) -> Answer:  # noqa: ARG002
        """Merge the quotations of several searches."""
        citations = (citation for answer in answers for citation in answer.citations)
        return _compose(question, dict.fromkeys(citations))

    def talk(self, history: Sequence[ChatTurn], message: str, hits: Sequence[Hit]) -> Answer:
        """Quote the passages that match a message best, in the context of the previous one."""
        return self._quote(resolve_query(history, message), hits)

    def _quote(self, text: str, hits: Sequence[Hit]) -> Answer:
        """Quote the rows that meet the comparisons of a question, or the passages that match.

        The table of the rows has to match the question without the comparisons, `more than 2`.
        """
        plain = remove_comparisons(text)
        if plain == text:
            return self._quote_passages(text, hits)
        question = matching.Question.parse(plain)
        scores = matching.match_scores(question, hits, uses_similarity=self._uses_similarity)
        found = (self._select_rows(text, hit) for hit, _ in scores[:MAX_PASSAGES])
        selections = next(filter(None, found), ())
        if any(selection.rows for selection in selections):
            return _compose(plain, selections)
        answer = self._quote_passages(text, hits)
        notes = [f"{item.table.header.hit.title}, {item.description}." for item in selections]
        return replace(answer, text="\n\n".join([answer.text, *notes]))

    def _quote_passages(self, text: str, hits: Sequence[Hit]) -> Answer:
        question = matching.Question.parse(text)
        scores = matching.match_scores(question, hits, uses_similarity=self._uses_similarity)
        quotes: dict[str, tuple[Hit, str, float]] = {}
        for hit, score in scores:
            if quote := _shortened(_best_part(hit, question.stems), question.stems):
                quotes.setdefault(" ".join(quote.split()), (hit, quote, score))
        best = matching.select(question, [*quotes.values()], MAX_PASSAGES)
        citations = [_cite_rows(hit, quote, question.stems) for hit, quote, _ in best]
        answer = _compose(text, self._with_rows(text, citations, [hit for hit, _, _ in best]))
        absent = question.absent_terms(hits) if best else question.absent_words(hits)
        if not absent or not hits:
            return answer
        note = f"None of the passages found mentions {messages.join_all(absent, 'or')}."
        return replace(answer, text=f"{answer.text}\n\n{note}")

    def _with_rows(
        self, question: str, citations: Sequence[Citation], hits: Sequence[Hit]
    ) -> Sequence[Citation | Selection]:
        """Return citations with the rows of a table that a question asks for.

        These replace the other citations of their table.
        """
        for place, hit in enumerate(hits):
            selections = [item for item in self._select_rows(question, hit) if item.rows]
            if selections:
                in_table = {number for item in selections for number in item.table.passage_ids}
                others = [item for item in citations if item.passage_id not in in_table]
                before = sum(hit.passage_id not in in_table for hit in hits[:place])
                both: list[Citation | Selection] = [*others[:before], *selections, *others[before:]]
                return both[:MAX_PASSAGES]
        return citations

    def _select_rows(self, question: str, hit: Hit) -> Sequence[Selection]:
        if parse_superlatives(question):
            return find_extremes(question, self._read_source(hit), hit)
        if not names_cells(question, hit):
            return ()
        named = find_named_rows(question, self._read_source(hit), hit)
        return () if named is None else (named,)


def _best_part(hit: Hit, stems: frozenset[str]) -> str:
    """Return the part of a passage with most of the stems, of any length; empty if there is none.

    Reference lists are dropped, and headings and rulers at its beginning and its end.
    """
    return max(
        _trimmed_sections(hit),
        key=lambda part: len(stems.intersection(segmentation.stem_words(part))),
        default="",
    )


def _trimmed_sections(hit: Hit) -> Iterator[str]:
    """Yield the parts of a passage without reference lists."""
    text = hit.text
    headings = passages.find_headings(text)
    start = 0
    dropped = extractive.is_link_list(hit.heading.rpartition(passages.PATH_SEPARATOR)[2])
    for begin, _, title in [*headings, (len(text), len(text), "")]:
        drops = begin < len(text) and extractive.is_link_list(title)
        if begin == len(text) or drops != dropped:
            part = _trim(text[start:begin])
            if part and (not dropped or extractive.is_prose(part)):
                yield part
            start, dropped = begin, drops


def _trim(part: str) -> str:
    """Return a part without headings, rulers and blank lines at its beginning and its end."""
    headings = passages.find_headings(part)
    start, end = 0, len(part.rstrip())
    for begin, stop, _ in headings:
        if _NEGLIGIBLE.fullmatch(part[start:begin]):
            start = stop
    for begin, stop, _ in reversed(headings):
        if begin >= start and _NEGLIGIBLE.fullmatch(part[stop:end]):
            end = begin
    lines = part[start:end].split("\n")
    while lines and _NEGLIGIBLE.fullmatch(lines[0]):
        del lines[0]
    while lines and _NEGLIGIBLE.fullmatch(lines[-1]):
        del lines[-1]
    return "\n".join(lines).strip()


def _shortened(text: str, stems: frozenset[str]) -> str:
    """Return a text; of a long one the part around the line or sentence with most of the stems."""
    if len(text) <= MAX_LENGTH:
        return text
    starts = [0, *(match.end() for match in _ENDS.finditer(text)), len(text)]
    pieces = list(pairwise(starts))
    number = max(
        range(len(pieces)),
        key=lambda n: len(stems.intersection(segmentation.stem_words(text[slice(*pieces[n])]))),
    )
    start = max(0, min(pieces[number][0] - MAX_LENGTH // 2, len(text) - MAX_LENGTH))
    start = min((piece[0] for piece in pieces if piece[0] >= start), default=start)
    start = min(start, pieces[number][0])
    ends = [piece[1] for piece in pieces if start < piece[1] <= start + MAX_LENGTH]
    return text[start : max(ends, default=start + MAX_LENGTH)].strip()


def _cite_rows(hit: Hit, quote: str, stems: frozenset[str]) -> Citation:
    """Return the citation of a quotation; of a long table, it quotes the rows asked for.

    These have most of the question's words that are in few rows.
    """
    citation = cite(hit, quote)
    part = _best_part(hit, stems)
    table = _best_table(part, stems)
    if not part.startswith(table):  # the header is that of the first one
        citation = replace(citation, quote=_shortened(table, stems), table_header=None)
    rows = table.split("\n")
    header = citation.table_header
    if header is None:
        header = passages.row_text(rows.pop(0))
        rows = [*dropwhile(_NEGLIGIBLE.fullmatch, rows)]
        if rows and (joined := passages.join_headers(header, rows[0])):
            header, rows = joined, rows[1:]
    cells = [row for row in [header, *rows] if not _NEGLIGIBLE.fullmatch(row)]
    if len(rows) <= MAX_ROWS or not all(passages.CELL_SEPARATOR in f" {row} " for row in cells):
        return citation
    found = [stems.intersection(segmentation.stem_words(row)) for row in rows]
    counts = Counter(stem for in_row in found for stem in in_row)
    shares = [sum(counts[stem] <= MAX_ROWS for stem in in_row) for in_row in found]
    places = [place for place, share in enumerate(shares) if share == max(shares) > 0]
    if not places or places[-1] - places[0] >= MAX_ROWS:
        return citation
    quote = "\n".join(rows[places[0] : places[-1] + 1]).strip()
    return replace(citation, quote=quote, table_header=header)


def _best_table(part: str, stems: frozenset[str]) -> str:
    """Return the table with most of the stems, without its heading, if a part has only tables."""
    starts, ends = [0], []
    for start, end, _ in passages.find_headings(part):
        ends.append(start)
        starts.append(end)
    tables = [
        part[start:end].strip() for start, end in zip(starts, [*ends, len(part)], strict=True)
    ]
    lines = [line for table in tables for line in table.split("\n")]
    if not all(
        passages.CELL_SEPARATOR in f" {line} " or _NEGLIGIBLE.fullmatch(line) for line in lines
    ):
        return part
    return max(tables, key=lambda table: len(stems.intersection(segmentation.stem_words(table))))


def _compose(question: str, quotations: Iterable[Citation | Selection]) -> Answer:
    """Return an answer of quotations with their marks, or `NO_MATCH`."""
    stems = frozenset(segmentation.stem_words(question))
    blocks, citations = [INTRODUCTION], []
    for item in quotations:
        if isinstance(item, Selection):
            cited = item.citations()
            description, quotation = f", {item.description}", _row_quote(cited, stems)
        else:
            cited, description, quotation = [item], "", _block_quote(item, stems)
        first = cited[0]
        page = "" if first.page is None else f", page {first.page}"
        title = " ".join(first.title.split()) or "Untitled"
        blocks += [f"{title}{page}{transcript_note(first)}{description}:", quotation]
        citations += cited
    return Answer("\n\n".join(blocks), tuple(citations)) if citations else NO_MATCH


def _row_quote(citations: Sequence[Citation], stems: frozenset[str]) -> str:
    """Return the rows of one table in Markdown, with a mark after those of each citation."""
    rows = [citations[0].table_header or ""]
    for citation in citations:
        lines = citation.quote.split("\n")
        rows += [mark_words(" ".join(line.split()), stems) for line in lines]
        rows[-1] = f"{rows[-1].removesuffix(' |')} {citation_mark(citation.id)}"
        if lines[-1].startswith("|"):
            rows[-1] += " |"
    return "> " + passages.markdown_table(rows).replace("\n", "\n> ")


def _block_quote(citation: Citation, stems: frozenset[str]) -> str:
    """Return a quotation as Markdown with its matching words in bold, and its mark.

    Headings, such as the names of the sheets of a table, and items keep their lines; comments have
    no `#`, which would be a heading; rows are tables.
    """
    lines = [
        " ".join(_COMMENT.sub("", line).split())
        for line in passages.display_lines(passages.separate_tabs(citation.quote), headings=True)
    ]
    blocks: list[str] = []
    for is_row, group in groupby(lines, lambda line: passages.CELL_SEPARATOR in f" {line} "):
        rows = [*filter(None, group)]
        if not rows:
            continue
        if is_row and not blocks and citation.table_header is not None:
            rows.insert(0, citation.table_header)
        marked = [mark_words(row, stems) for row in rows]
        is_table = is_row and len(rows) > 1
        block = passages.markdown_table(marked) if is_table else "  \n".join(marked)
        blocks.append(block.replace("\n", "\n> "))
    quotation = "\n>\n> ".join(blocks)
    end = " |" if quotation.endswith(" |") else ""
    return f"> {quotation.removesuffix(end)} {citation_mark(citation.id)}{end}"


def mark_words(line: str, stems: frozenset[str]) -> str:
    """Return a line with the words in bold that have one of the stems.

    Of Chinese, Japanese and Korean, the pairs of adjacent characters among the stems are bold.
    """

    def mark(match: re.Match[str]) -> str:
        word = match.group()
        around = line[max(0, match.start() - 1) : match.start()] + line[match.end() :][:1]
        if set(around) & set("*_`\\") or not stems.intersection(segmentation.stem_words(word)):
            return word
        return _mark_pairs(word, stems) if _UNSPACED.search(word) else f"**{word}**"

    return _WORD.sub(mark, line)


def _mark_pairs(word: str, stems: frozenset[str]) -> str:
    """Return a word with the pairs of adjacent characters and the parts in bold that are stems."""
    parts = "|".join(
        map(re.escape, sorted(stems.intersection(segmentation.stem_words(word)), key=len))
    )
    places = {
        place
        for match in re.finditer(rf"(?i)(?=({parts}))", word)
        for place in range(match.start(1), match.end(1))
    }
    groups = groupby(enumerate(word), lambda item: item[0] in places)
    texts = ((bold, "".join(character for _, character in group)) for bold, group in groups)
    return "".join(f"**{text}**" if bold else text for bold, text in texts)
