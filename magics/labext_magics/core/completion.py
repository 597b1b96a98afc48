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
    """A list of completions of one type."""

    texts: Sequence[str]
    type: str


@dataclass(frozen=True)
class CursorContext:
    """The token under the cursor and the parts of the line that determine its candidates.

    Attributes:
        fragment: the token as typed; a completion replaces it.
        bare: the token without its quotes.
        command, parameter: the command and the parameter that the token belongs to, if known.
        words: the words before it, if they may continue as a command's name.
        typed: names and texts of the arguments and options before it.
        options: the options that may come next.
    """

    fragment: str
    bare: str
    command: Command | None = None
    parameter: Parameter | None = None
    words: tuple[str, ...] = ()
    typed: tuple[tuple[str, str], ...] = ()
    options: tuple[Parameter, ...] = ()


def match(ip: InteractiveShell, name: str, context: CompletionContext) -> SimpleMatcherResult:
    """Return the completions at the cursor, in the form of IPython's matcher API version 2."""
    from IPython.core.completer import SimpleCompletion

    from labext_magics.core.dispatch import magic_named

    line = magic_line(name, context.full_text, context.cursor_line, context.cursor_position)
    if line is not None:
        candidates.fill_once(ip, name)
    place = None if line is None else completion_context(magic_named(name), line)
    if place is None:
        return {"completions": [], "suppress": False}
    completions = [
        SimpleCompletion(text=_quoted(text, offer, place), type=offer.type)
        for offer in candidates_at(magic_named(name), place, candidates.Candidates(ip, place.typed))
        for text in offer.texts
        # skip names with line breaks or control characters: they cannot be typed
        if text.startswith(place.bare) and text.isprintable()
    ]
    # an empty list would not suppress the other matchers, so the fragment completes to itself
    completions = completions or [SimpleCompletion(text=place.fragment, type="text")]
    return {
        "completions": completions,
        "matched_fragment": place.fragment,
        "suppress": True,
        "ordered": True,
    }


def magic_line(name: str, text: str, row: int, column: int) -> str | None:
    """Return the text between the magic's name and the cursor, if the cursor is on its line.

    Recognizes `%jobs …`, `df = %jobs …` and `a, b = %jobs …`, indented or not, `%%jobs …` on the
    first line of a cell, and lines continued with a backslash.
    """
    lines = text.split("\n")
    joined, first = lines[row][:column], row
    while first > 0 and lines[first - 1].endswith("\\"):
        first -= 1
        joined = lines[first][:-1] + " " + joined
    match = re.match(rf"\s*(?:(?P<to>[^%=#'\"]+)=\s*)?(?P<kind>%%?){name}\s(?P<line>.*)", joined)
    if match is None:
        return None
    if match["kind"] == "%%" and (match["to"] or any(before.strip() for before in lines[:first])):
        return None
    return match["line"]


def completion_context(magic: Magic, line: str) -> CursorContext | None:
    """Return the completion context at the end of a line, or None inside a comment."""
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
    """Return the context after a command's name: an option, its value, or an argument."""
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
    used = {name for name, _ in typed}
    left = [o for o in command.options if o.many or o.name not in used] if naming else []
    return CursorContext(raw, bare, command, parameter, (), tuple(typed), tuple(left))


def candidates_at(
    magic: Magic, place: CursorContext, source: candidates.Candidates
) -> Iterator[Candidate]:
    """Yield the candidates for a context, the most likely first."""
    if place.parameter is not candidates.EXPRESSION and (place.command is None or place.words):
        yield Candidate(_next_words(magic, place.words), "command")
    if place.parameter is not None and not place.fragment.startswith("--"):
        yield from (
            Candidate(texts, word) for texts, word in source.of(place.parameter, place.bare)
        )
    if place.options:
        options = [f"--{o.name}" for o in place.options]
        yield Candidate([*options, "--help"], "option")


def _quoted(text: str, offer: Candidate, place: CursorContext) -> str:
    """Return a completion as typed in a line, quoted if necessary or if a quote is open."""
    if offer.type in ("command", "option") or place.parameter is candidates.EXPRESSION:
        return text
    mark = place.fragment[:1]
    return f"{mark}{text}{mark}" if mark and mark in QUOTES else quote(text)


def _next_words(magic: Magic, words: Sequence[str]) -> list[str]:
    """Return the words that may follow these in a command's name."""
    names = [c.name.split() for c in magic.commands]
    after = [n[len(words)] for n in names if n[: len(words)] == list(words) and len(n) > len(words)]
    return list(dict.fromkeys(after))
