"""Split the line of a magic into tokens."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from labext.errors import InputError
from labext.redaction import mask

QUOTES = "\"'"
"""Quotation marks for a text that contains spaces."""


@dataclass(frozen=True)
class Token:
    """One token of a line.

    Attributes:
        text: the text without quotes, and without the expression or the template.
        start, end: the position in the line.
        expression: the Python source of the `{…}` at the end of the token; None without braces.
        template: the end of the token from a `{…}` with adjacent text or a format, such as
            `{name}.csv` and `{x:.2f}`.
        quoted: True if the token starts with a quote; such a token is never an option.
        unclosed: the unclosed quote or brace of a partial line; empty otherwise.
    """

    text: str
    start: int
    end: int
    expression: str | None = None
    template: str = ""
    quoted: bool = False
    unclosed: str = ""

    @property
    def is_option(self) -> bool:
        """True for `--name`, `--name=value` and `-h`."""
        return not self.quoted and (self.text.startswith("--") or self.text == "-h")


@dataclass(frozen=True)
class TokenizedLine:
    """The tokens of a line; `silent` is True if a final `;` suppresses the output."""

    tokens: tuple[Token, ...]
    silent: bool = False


def tokenize(line: str) -> TokenizedLine:
    """Split a line into tokens; a final `;` suppresses the output, as in IPython.

    Raises:
        InputError: a quote or brace is not closed, or is followed by text without a space.
    """
    tokens = tuple(iter_tokens(line))
    rest = line[tokens[-1].end :] if tokens else line
    return TokenizedLine(tokens, silent=rest.lstrip().startswith(";"))


def iter_tokens(line: str, *, partial: bool = False) -> Iterator[Token]:
    """Yield the tokens of a line.

    Args:
        line: the line without the name of the magic.
        partial: True for a line that is still being typed; unclosed quotes and braces extend to
            its end.
    """
    position = 0
    while position < len(line):
        if line[position].isspace():
            position += 1
        elif line[position] == "#" or (_is_final_semicolon(line, position) and not partial):
            return
        else:
            token = _Scanner(line, position, partial).token()
            yield token
            position = token.end


class _Scanner:
    """Scanner for one token that starts at a position of a line."""

    def __init__(self, line: str, start: int, partial: bool) -> None:
        self.line = line
        self.start = self.at = start
        self.partial = partial
        self.text: list[str] = []

    def token(self) -> Token:
        can_open = True  # a quote or a brace at this position opens a group
        while self.at < len(self.line) and not self.line[self.at].isspace():
            character = self.line[self.at]
            if _is_final_semicolon(self.line, self.at) and not self.partial:
                break
            if character == "{":
                return self._braces(can_be_expression=can_open)
            if can_open and character in QUOTES:
                if not self._quoted(character):
                    return self._build_token(unclosed=character)
                can_open = False
                continue
            self.text.append(character)
            self.at += 1
            can_open = character == "="
        return self._build_token()

    def _build_token(
        self, expression: str | None = None, template: str = "", unclosed: str = ""
    ) -> Token:
        quoted = self.line[self.start] in QUOTES
        text = "".join(self.text)
        return Token(text, self.start, self.at, expression, template, quoted, unclosed)

    def _quoted(self, mark: str) -> bool:
        """Consume a quoted text; return False if it is unclosed in a partial line."""
        opened = self.at
        closed = self.line.find(mark, opened + 1)
        if closed < 0:
            if not self.partial:
                raise InputError(
                    f"The quote {mark} before `{_excerpt(self.line, opened + 1)}` is not closed.",
                    f"Close it with {mark}.",
                )
            self.text.append(self.line[opened + 1 :])
            self.at = len(self.line)
            return False
        self.text.append(self.line[opened + 1 : closed])
        self.at = closed + 1
        if not self.partial and self._continues(allowed="="):
            raise InputError(
                f"`{_excerpt(self.line, self.at)}` follows the quoted text "
                f"`{self.line[opened : closed + 1]}` without a space.",
                "Put a space between them, quote the whole text with the other quote character, or "
                'write one expression: {f"{x} 1"}.',
            )
        return True

    def _braces(self, *, can_be_expression: bool) -> Token:
        """Consume the rest of the token: an expression, or a template with adjacent text."""
        opened = self.at
        while self._continues(allowed=""):
            character = self.line[self.at]
            if character == "{":
                closed = closing_brace(self.line, self.at)
                if closed is None:
                    return self._unclosed_brace()
                self.at = closed
            elif character in QUOTES and not self.partial:
                raise InputError(
                    f"`{_excerpt(self.line, self.at)}` follows `{self.line[opened : self.at]}` "
                    "without a space.",
                    'Put a space between them, or write one expression: {f"{x} 1"}.',
                )
            self.at += 1
        template = self.line[opened : self.at]
        if can_be_expression and closing_brace(template, 0) == len(template) - 1:
            source = _expression_source(template)
            if source is not None:
                return self._build_token(source)
        return self._build_token(template=template)

    def _unclosed_brace(self) -> Token:
        opened = self.at
        if not self.partial:
            raise InputError(
                f"The brace {{ before `{_excerpt(self.line, opened + 1)}` is not closed.",
                "Close it with }; braces hold one Python expression. Quote a text with a brace.",
            )
        self.at = len(self.line)
        return self._build_token(self.line[opened + 1 :], unclosed="{")

    def _continues(self, allowed: str) -> bool:
        """Return True unless the next character is whitespace, a final `;` or `allowed`."""
        rest = self.line[self.at : self.at + 1]
        return not (
            rest == ""
            or rest.isspace()
            or rest in allowed
            or _is_final_semicolon(self.line, self.at)
        )


def closing_brace(line: str, opened: int) -> int | None:
    """Return the position of the brace that closes `opened`, ignoring string literals."""
    depth, at = 0, opened
    while at < len(line):
        character = line[at]
        if character in QUOTES:
            end = _string_end(line, at)
            if end is None:
                return None
            at = end
            continue
        depth += {"{": 1, "}": -1}.get(character, 0)
        if depth == 0:
            return at
        at += 1
    return None


def _string_end(line: str, start: int) -> int | None:
    """Return the position after the Python string literal that starts at `start`."""
    mark = line[start] * 3 if line.startswith(line[start] * 3, start) else line[start]
    at = start + len(mark)
    while at < len(line):
        if line[at] == "\\":
            at += 2
        elif line.startswith(mark, at):
            return at + len(mark)
        else:
            at += 1
    return None


def _expression_source(braced: str) -> str | None:
    """Return the Python expression of `{…}`: the text in braces, or a dict or set with its braces.

    `{x}` is the variable x. `{"a": true}` is a dict, since `"a": true` is not an expression. None
    for a field of an f-string, such as `{x:.2f}`.
    """
    inside = braced[1:-1].strip()
    if _parse(inside) is not None:
        return inside
    value = _parse(braced)
    if value is not None and not _has_format(braced, value):
        return braced
    return inside if _parse(f"f'''{braced}'''") is None else None


def _parse(source: str) -> ast.expr | None:
    try:
        return ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _has_format(braced: str, value: ast.expr) -> bool:
    """Return True for `{x:g}`, but not for the dicts `{x: g}` and `{"x":g}`."""
    key = value.keys[0] if isinstance(value, ast.Dict) and len(value.keys) == 1 else None
    if key is None or isinstance(key, ast.Constant):
        return False
    return re.match(rb"\s*:\S", braced.encode()[key.end_col_offset :]) is not None


def quote(text: str) -> str:
    """Quote a text, if necessary, so that it is parsed as one token with this value."""
    if not text.isprintable():  # a message shows a line break as a space
        return "{" + repr(text) + "}"
    plain = not any(c.isspace() for c in text) and text[:1] not in ("", "#", *QUOTES, "-")
    if plain and not any(part in text for part in ("='", '="', "{")) and not text.endswith(";"):
        return text
    for mark in QUOTES:
        if mark not in text:
            return f"{mark}{text}{mark}"
    return "{" + repr(text) + "}"


def _is_final_semicolon(line: str, at: int) -> bool:
    """Return True for a `;` that is followed only by whitespace or a comment."""
    rest = line[at + 1 :]
    return line[at] == ";" and (not rest.strip() or (rest[0].isspace() and rest.lstrip()[0] == "#"))


def _excerpt(line: str, at: int) -> str:
    rest = mask(line[at:].strip())
    return rest if len(rest) <= 24 else f"{rest[:24]}…"
