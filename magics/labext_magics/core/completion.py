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
        candidates.prefetch_once(ip, name)
    cursor = None if line is None else completion_context(magic_named(name), line)
    if cursor is None:
        return {"completions": [], "suppress": False}
    source = candidates.Candidates(ip, cursor.typed)
    completions = [
        SimpleCompletion(text=_quoted(text, type_, cursor), type=type_)
        for texts, type_ in candidates_at(magic_named(name), cursor, source)
        for text in texts
        # names with line breaks or control characters can't be typed
        if text.startswith(cursor.bare) and text.isprintable()
    ]
    # An empty list would not suppress other matchers, so the fragment completes to itself.
    completions = completions or [SimpleCompletion(text=cursor.fragment, type="text")]
    return {
        "completions": completions,
        "matched_fragment": cursor.fragment,
        "suppress": True,
        "ordered": True,
    }


def magic_line(name: str, text: str, row: int, column: int) -> str | None:
    """Return the text between the magic's name and the cursor; None outside the magic's line.

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
    """Return the completion context at the end of a line; None inside a comment."""
    tokens = list(iter_tokens(line, partial=True))
    end = tokens[-1].end if tokens else 0
    if line[end:].lstrip().startswith("#"):
        return None
    in_token = bool(tokens) and (end == len(line) or tokens[-1].unclosed != "")
    current = tokens.pop() if in_token else Token("", len(line), len(line))
    raw = line[current.start :]
    if current.unclosed == "{":
        name = re.search(r"(?<![\w.\"'])[^\W\d]\w*$", raw)
        return name and CursorContext(name.group(), name.group(), parameter=candidates.EXPRESSION)
    if current.template:
        return CursorContext(raw, raw)
    words = tuple(t.text for t in tokens)
    command = magic.find(words)
    if command is None:
        return CursorContext(raw, current.text, words=words)
    rest = tokens[len(command.name.split()) :]
    cursor = _in_command(command, rest, current, raw)
    return cursor if rest else replace(cursor, words=words)


def _in_command(command: Command, tokens: list[Token], current: Token, raw: str) -> CursorContext:
    """Return the context after a command's name: an option, its value, or an argument."""
    typed: list[tuple[str, str]] = []
    arguments = list(command.arguments)
    open_option: Parameter | None = None  # the option that the next token is the value of
    for token in tokens:
        if open_option is not None:
            typed.append((open_option.name, token.text))
            open_option = None
        elif token.is_option:
            name, equals, text = token.text.partition("=")
            option = command.option(name)
            if option is not None and (equals or option.kind is None):
                typed.append((option.name, text))
            elif option is not None:
                open_option = option
        elif arguments:
            typed.append((arguments[0].name, token.text))
            if not arguments[0].many:
                arguments.pop(0)
    parameter: Parameter | None = open_option or (arguments[0] if arguments else None)
    bare, is_option_name = current.text, open_option is None and raw[:1] in ("-", "")
    if open_option is None and current.is_option and "=" in raw:
        name, _, raw = raw.partition("=")
        parameter, bare, is_option_name = command.option(name), bare[len(name) + 1 :], False
    used = {name for name, _ in typed}
    options = [o for o in command.options if is_option_name and (o.many or o.name not in used)]
    return CursorContext(raw, bare, command, parameter, (), tuple(typed), tuple(options))


def candidates_at(
    magic: Magic, cursor: CursorContext, source: candidates.Candidates
) -> Iterator[candidates.ValueSource]:
    """Yield the candidates for a context, the most likely ones first."""
    if cursor.parameter is not candidates.EXPRESSION and (cursor.command is None or cursor.words):
        yield _next_words(magic, cursor.words), "command"
    if cursor.parameter is not None and not cursor.fragment.startswith("--"):
        yield from source.of(cursor.parameter, cursor.bare)
    if cursor.options:
        yield [*(f"--{o.name}" for o in cursor.options), "--help"], "option"


def _quoted(text: str, type_: str, cursor: CursorContext) -> str:
    """Return a completion as typed in a line, quoted if necessary or if a quote is open."""
    if type_ in ("command", "option") or cursor.parameter is candidates.EXPRESSION:
        return text
    mark = cursor.fragment[:1]
    can_keep_mark = mark and mark in QUOTES and mark not in text
    return f"{mark}{text}{mark}" if can_keep_mark else quote(text)


def _next_words(magic: Magic, words: Sequence[str]) -> list[str]:
    """Return the words that may follow these words in a command's name."""
    count, names = len(words), [command.name.split() for command in magic.commands]
    following = [n[count] for n in names if n[:count] == list(words) and len(n) > count]
    return list(dict.fromkeys(following))
