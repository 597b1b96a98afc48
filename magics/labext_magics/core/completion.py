"""Complete subcommands, options and values for IPython."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labext_magics.core import candidates
from labext_magics.core.grammar import Command, Magic, Parameter
from labext_magics.core.line import QUOTES, Token, iter_tokens, quote

if TYPE_CHECKING:
    from IPython.core.completer import CompletionContext, SimpleMatcherResult
    from IPython.core.interactiveshell import InteractiveShell


@dataclass(frozen=True)
class Candidate:
    """Texts that may stand in place of what is being typed, and the one word they are."""

    texts: Sequence[str]
    type: str


@dataclass(frozen=True)
class CursorContext:
    """What is being typed: what may stand there, and what of it is there already.

    Attributes:
        fragment: what is there, as it stands in the line; it is replaced.
        bare: the same without its quotes.
        command, parameter: what it belongs to, as far as the line says.
        words: the words before it, where they may go on as a command's name.
        typed: names and texts of the arguments and options before it.
        options: those that may come next.
    """

    fragment: str
    bare: str
    command: Command | None = None
    parameter: Parameter | None = None
    words: tuple[str, ...] = ()
    typed: tuple[tuple[str, str], ...] = ()
    options: tuple[Parameter, ...] = ()


def match(ip: InteractiveShell, name: str, context: CompletionContext) -> SimpleMatcherResult:
    """Return the completions for one place in a cell, for IPython's matcher of version 2."""
    from IPython.core.completer import SimpleCompletion

    from labext_magics.core.dispatch import magic_named

    line = magic_line(name, context.full_text, context.cursor_line, context.cursor_position)
    if line is not None:
        candidates.fill_once(ip, name)
    place = None if line is None else completion_context(magic_named(name), line)
    if place is None:
        return {"completions": [], "suppress": False}
    found = [
        SimpleCompletion(text=_quoted(text, offer, place), type=offer.type)
        for offer in candidates_at(magic_named(name), place, candidates.Candidates(ip, place.typed))
        for text in offer.texts
        # a service's name that breaks the line, or steers the terminal, is no name to type
        if text.startswith(place.bare) and text.isprintable()
    ]
    # an empty answer would not suppress the others: the fragment itself stands for nothing
    found = found or [SimpleCompletion(text=place.fragment, type="text")]
    return {
        "completions": found,
        "matched_fragment": place.fragment,
        "suppress": True,
        "ordered": True,
    }


def magic_line(name: str, text: str, row: int, column: int) -> str | None:
    """Return what stands between the magic's name and the cursor, if the cursor is on its line.

    `%jobs …`, `df = %jobs …`, `a, b = %jobs …`, indented or not, `%%jobs …` on a cell's first line,
    and the lines that a backslash joins to one of them.
    """
    lines = text.split("\n")
    joined, first = lines[row][:column], row
    while first > 0 and lines[first - 1].endswith("\\"):
        first -= 1
        joined = lines[first][:-1] + " " + joined
    found = re.match(rf"\s*(?:(?P<to>[^%=#'\"]+)=\s*)?(?P<kind>%%?){name}\s(?P<line>.*)", joined)
    if found is None:
        return None
    if found["kind"] == "%%" and (found["to"] or any(before.strip() for before in lines[:first])):
        return None
    return found["line"]


def completion_context(magic: Magic, line: str) -> CursorContext | None:
    """Return what is being typed at the end of a line; None in a comment."""
    tokens = list(iter_tokens(line, partial=True))
    end = tokens[-1].end if tokens else 0
    if line[end:].lstrip().startswith("#"):
        return None
    typing = bool(tokens) and (end == len(line) or tokens[-1].unclosed != "")
    current = tokens.pop() if typing else Token("", len(line), len(line))
    raw = line[current.start :]
    if current.unclosed == "{":
        name = re.search(r"(?<![\w.\"'])[^\W\d]\w*$", raw)
        return name and CursorContext(name.group(), name.group(), parameter=candidates.EXPRESSION)
    words = tuple(t.text for t in tokens)
    command = magic.find(words)
    if command is None:
        return CursorContext(raw, current.text, words=words)
    rest = tokens[len(command.name.split()) :]
    place = _in_command(command, rest, current, raw)
    return place if rest else replace(place, words=words)


def _in_command(command: Command, tokens: list[Token], current: Token, raw: str) -> CursorContext:
    """Return the place behind a command's name: an option, its value, or an argument."""
    typed: list[tuple[str, str]] = []
    places = list(command.arguments)
    waiting: Parameter | None = None
    for token in tokens:
        if waiting is not None:
            typed.append((waiting.name, token.text))
            waiting = None
        elif token.is_option:
            name, equals, text = token.text.partition("=")
            option = command.option(name)
            if option is not None and (equals or option.kind is None):
                typed.append((option.name, text))
            elif option is not None:
                waiting = option
        elif places:
            typed.append((places[0].name, token.text))
            if not places[0].many:
                places.pop(0)
    parameter: Parameter | None = waiting or (places[0] if places else None)
    bare, naming = current.text, waiting is None and raw[:1] in ("-", "")
    if waiting is None and current.is_option and "=" in raw:
        name, _, raw = raw.partition("=")
        parameter, bare, naming = command.option(name), bare[len(name) + 1 :], False
    taken = {name for name, _ in typed}
    left = [o for o in command.options if o.many or o.name not in taken] if naming else []
    return CursorContext(raw, bare, command, parameter, (), tuple(typed), tuple(left))


def candidates_at(
    magic: Magic, place: CursorContext, known: candidates.Candidates
) -> Iterator[Candidate]:
    """Yield what may stand at a place, the likeliest first."""
    if place.parameter is not candidates.EXPRESSION and (place.command is None or place.words):
        yield Candidate(_next_words(magic, place.words), "command")
    if place.parameter is not None and not place.fragment.startswith("--"):
        yield from (Candidate(texts, word) for texts, word in known.of(place.parameter, place.bare))
    if place.options:
        options = [f"--{o.name}" for o in place.options]
        yield Candidate([*options, "--help"], "option")


def _quoted(text: str, offer: Candidate, place: CursorContext) -> str:
    """Return a text as it stands in a line: in quotes where it needs them, or has begun so."""
    if offer.type in ("command", "option") or place.parameter is candidates.EXPRESSION:
        return text
    mark = place.fragment[:1]
    return f"{mark}{text}{mark}" if mark and mark in QUOTES else quote(text)


def _next_words(magic: Magic, words: Sequence[str]) -> list[str]:
    """Return the words that may follow these in the name of a command."""
    names = [c.name.split() for c in magic.commands]
    after = [n[len(words)] for n in names if n[: len(words)] == list(words) and len(n) > len(words)]
    return list(dict.fromkeys(after))
