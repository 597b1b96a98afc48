"""Split the line of a magic into tokens."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from labext.errors import InputError
from labext.redaction import mask

QUOTES = "\"'"
"""Quotation marks that group a text with blanks."""


@dataclass(frozen=True)
class Token:
    """One token of a line.

    Attributes:
        text: the text without quotes; before an expression, the part up to its brace.
        start, end: its position in the line.
        expression: the Python source of the `{…}` that ends the token, if any.
        quoted: it begins with a quote, so it is a value and never an option.
        unclosed: the quote or brace still open at the end of the line, when that is allowed.
    """

    text: str
    start: int
    end: int
    expression: str | None = None
    quoted: bool = False
    unclosed: str = ""

    @property
    def is_option(self) -> bool:
        """Whether the token names an option: `--name`, `--name=value` or `-h`."""
        return not self.quoted and (self.text.startswith("--") or self.text == "-h")


@dataclass(frozen=True)
class TokenizedLine:
    """The tokens of a line, and whether it ends with a `;` that suppresses the output."""

    tokens: tuple[Token, ...]
    silent: bool = False


def tokenize(line: str) -> TokenizedLine:
    """Split a line into tokens; a `;` at the end suppresses the output, as in IPython.

    Raises InputError for an unclosed quote or brace, and for text directly after a closing one.
    """
    tokens = tuple(iter_tokens(line))
    rest = line[tokens[-1].end :] if tokens else line
    return TokenizedLine(tokens, silent=rest.lstrip().startswith(";"))


def iter_tokens(line: str, *, partial: bool = False) -> Iterator[Token]:
    """Yield the tokens of a line.

    With `partial` the line is still being typed: unclosed quotes and braces extend to its end.
    """
    at = 0
    while at < len(line):
        if line[at].isspace():
            at += 1
        elif line[at] == "#" or (_is_final_semicolon(line, at) and not partial):
            return
        else:
            token = _Scanner(line, at, partial).token()
            yield token
            at = token.end


class _Scanner:
    """Reads one token that starts at a given place."""

    def __init__(self, line: str, start: int, partial: bool) -> None:
        self.line = line
        self.start = self.at = start
        self.partial = partial
        self.text: list[str] = []

    def token(self) -> Token:
        opens = True  # a quote or a brace would group here
        while self.at < len(self.line) and not self.line[self.at].isspace():
            character = self.line[self.at]
            if _is_final_semicolon(self.line, self.at) and not self.partial:
                break
            if opens and character == "{":
                return self._expression()
            if opens and character in QUOTES:
                if not self._quoted(character):
                    return self._build_token(unclosed=character)
                opens = False
                continue
            self.text.append(character)
            self.at += 1
            opens = character == "="
        return self._build_token()

    def _build_token(self, expression: str | None = None, unclosed: str = "") -> Token:
        quoted = self.line[self.start] in QUOTES
        return Token("".join(self.text), self.start, self.at, expression, quoted, unclosed)

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
        if not self.partial and self._glued(allowed="="):
            raise InputError(
                f"`{_excerpt(self.line, self.at)}` follows the quoted text "
                f"`{self.line[opened : closed + 1]}` without a blank.",
                "Put a blank between them, or quote the whole text with the other quote character.",
            )
        return True

    def _expression(self) -> Token:
        opened = self.at
        closed = closing_brace(self.line, opened)
        if closed is None:
            if not self.partial:
                raise InputError(
                    f"The brace {{ before `{_excerpt(self.line, opened + 1)}` is not closed.",
                    "Close it with }; braces hold one Python expression.",
                )
            self.at = len(self.line)
            return self._build_token(self.line[opened + 1 :], unclosed="{")
        self.at = closed + 1
        if not self.partial and self._glued(allowed=""):
            raise InputError(
                f"`{_excerpt(self.line, self.at)}` follows `{self.line[opened : closed + 1]}` "
                "without a blank.",
                'Put a blank between them, or write one expression: {f"{x}_1"}.',
            )
        return self._build_token(_expression_source(self.line[opened : closed + 1]))

    def _glued(self, allowed: str) -> bool:
        """Tell whether the next character is anything but a blank, a final `;` or `allowed`."""
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


def _expression_source(braced: str) -> str:
    """Return the expression of `{…}`: the text inside, or the whole if it is a dict or set.

    `{x}` is the variable x and `{"a": true}` a dict, since the text inside is not an expression.
    """
    inside = braced[1:-1].strip()
    try:
        ast.parse(inside, mode="eval")
    except (SyntaxError, ValueError):
        try:
            ast.parse(braced, mode="eval")
        except (SyntaxError, ValueError):
            return inside
        return braced
    return inside


def quote(text: str) -> str:
    """Write a text so that it is read as one token, with this value, on a line."""
    plain = not any(c.isspace() for c in text) and text[:1] not in ("", "#", "{", *QUOTES, "-")
    if plain and not any(pair in text for pair in ("='", '="', "={")) and not text.endswith(";"):
        return text
    for mark in QUOTES:
        if mark not in text:
            return f"{mark}{text}{mark}"
    return "{" + repr(text) + "}"


def _is_final_semicolon(line: str, at: int) -> bool:
    """Tell whether the `;` at this position ends the line, apart from a comment."""
    after = line[at + 1 :]
    return line[at] == ";" and (
        not after.strip() or (after[0].isspace() and after.lstrip()[0] == "#")
    )


def _excerpt(line: str, at: int, width: int = 24) -> str:
    rest = mask(line[at:].strip())
    return rest if len(rest) <= width else rest[:width] + "…"
