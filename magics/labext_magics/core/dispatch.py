"""Run the command of a line, and display or store its result."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from labext.actions import use_style
from labext.errors import CommandInterrupted, LabextError
from labext_magics.core import candidates, grammar, help, line, session
from labext_magics.core.actions import MAGIC_STYLE
from labext_magics.core.namespace import Namespace

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from labext.jobs import JobsClient
    from labext.lab import LabClient
    from labext.nb import NotebookClient


@dataclass(frozen=True)
class Call:
    """The context in which a command runs.

    Attributes:
        session: the clients of this shell.
        scope: the user's variables.
        line: the line as typed, with the magic.
        body: the text below the first line of a cell magic; None for a line magic.
    """

    session: session.Session
    scope: Namespace
    line: str
    body: str | None = None

    @property
    def text(self) -> str:
        """The cell body without surrounding whitespace; empty for a line magic."""
        return (self.body or "").strip()

    @property
    def jobs(self) -> JobsClient:
        """The job service's client."""
        return self.session.connected("jobs")[1]

    @property
    def lab(self) -> LabClient:
        """The laboratory platform's client."""
        return self.session.connected("lab")[1]

    @property
    def nb(self) -> NotebookClient:
        """The notebook service's client."""
        return self.session.connected("nb")[1]


def magic_named(name: str) -> grammar.Magic:
    """Return the declaration of a magic."""
    magic: grammar.Magic = import_module(f"labext_magics.{name}.magic").MAGIC
    return magic


def help_text(name: str, topic: str = "") -> str:
    """Return the help on a magic or one of its commands."""
    return help.help_text(magic_named(name), topic)


def ends_with_prose(name: str, text: str) -> bool:
    """Return True if a line ends within a quote, or with unquoted words of a text."""
    magic = magic_named(name)
    tokens = list(line.iter_tokens(text, partial=True))
    if tokens and tokens[-1].unclosed:
        return True
    command = magic.find([token.text for token in tokens])
    if command is None:
        return False
    arguments = tokens[len(command.name.split()) :]
    before = [a for a in command.arguments if not a.is_prose]
    return (
        len(before) < len(command.arguments)
        and len(arguments) > len(before)
        and not any(token.is_option for token in arguments)
        and not arguments[-1].quoted
    )


@use_style(MAGIC_STYLE)
def run(
    ip: InteractiveShell, name: str, text: str, body: str | None, local: dict[str, Any] | None
) -> Any:
    """Run a line and return the result that the cell displays.

    `--out` stores the result in a variable instead of displaying it; a `;` at the end of the line
    suppresses the display, as with IPython's own magics.
    """
    magic = magic_named(name)
    tokenized = line.tokenize(text)
    scope = Namespace(ip.user_ns, local)
    parsed = grammar.parse(magic, tokenized, scope, has_body=bool(body and body.strip()))
    if parsed.command is None:
        print(help.help_text(magic, parsed.topic))
        return None
    out = parsed.values.pop("out", None)
    current_session = session.session_of(ip)
    call = Call(current_session, scope, f"%{name} {text.strip()}", body)
    try:
        result = parsed.command.run(call, **parsed.values)
    except LabextError as error:
        adapted = error if magic.adapt_error is None else magic.adapt_error(call, error)
        if adapted is error:
            raise
        raise adapted from error.__cause__
    except KeyboardInterrupt:
        raise CommandInterrupted(
            f"`%{name} {parsed.command.name}` was interrupted.",
            "Requests that it had sent may still take effect; run the line again to complete it.",
        ) from None
    finally:
        current_session.names.expire()
    if parsed.command.name in ("connect", "login"):
        candidates.prefetch(ip, name)
    if out is not None:
        scope.store(out, result)
    return None if out is not None or tokenized.silent else result
