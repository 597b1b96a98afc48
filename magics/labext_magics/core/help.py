"""Format help texts from the declaration of a magic."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby

from labext_magics.core.grammar import Command, Magic, Parameter

WIDTH = 80
"""Width of texts, which fits a terminal of the usual size."""

_SAMPLES = {
    "COMMAND": "command:abc123",
    "CREDENTIAL": "lab",
    "EPISODE": '"Episode 1"',
    "FILE": "1A8O.pdb",
    "INSIGHT": '"Key findings"',
    "JOB": "command:abc123",
    "MODEL": "gpt-4o-mini",
    "NAME": "helix1",
    "NOTE": '"Plan"',
    "NOTEBOOK": '"Arabinose induction"',
    "PATH": "data/1A8O.pdb",
    "PATH|URL": "data/paper.pdf",
    "PROFILE": "interview",
    "PROVIDER": "openai",
    "SESSION": '"First questions"',
    "SOURCE": "paper.pdf",
    "TEXT": '"Check leaky expression without arabinose."',
    "TRANSFORMATION": '"Key findings"',
    "WORD": "structure",
}
"""Sample values of arguments, for commands without declared examples."""


def help_text(magic: Magic, topic: str = "") -> str:
    """Return the help on a magic, or on one of its commands or groups."""
    command = next((c for c in magic.commands if c.name == topic), None)
    if command is not None:
        return _command(magic, command)
    commands = magic.below(topic) if topic else magic.commands
    title = f"%{magic.name} {topic}".rstrip()
    return "\n".join(
        [
            f"{title} COMMAND: {magic.summary}" if not topic else f"{title} COMMAND",
            "",
            *_by_heading(commands),
            "",
            f"`%{magic.name} COMMAND --help` shows a command's arguments and options.",
        ]
    )


def usage(magic: Magic, command: Command) -> str:
    """Return the one-line syntax of a command."""
    parts = [f"%{magic.name} {command.name}"]
    for argument in command.arguments:
        name = f"{argument.name}…" if argument.many else argument.name
        parts.append(name if argument.required else f"[{name}]")
    parts += [flag(o) for o in command.options if o.required]
    if any(not o.required for o in command.options):
        parts.append("[options]")
    return " ".join(parts)


def _command(magic: Magic, command: Command) -> str:
    blocks = [usage(magic, command), _wrap(command.summary)]
    if command.details:
        blocks += [_wrap(paragraph) for paragraph in command.details.split("\n\n")]
    if command.arguments:
        blocks.append("\n".join(_table([(a.name, a.help) for a in command.arguments])))
    if command.options:
        rows = [
            (flag(o), f"{o.help}; can be repeated" if o.many else o.help) for o in command.options
        ]
        blocks.append("\n".join(_table(rows)))
    if command.body:
        blocks.append(
            _wrap(f"As a cell magic, `%%{magic.name} {command.name}` takes a body: {command.body}")
        )
    blocks.append(textwrap.indent(example(magic, command), "    "))
    if below := magic.below(command.name):
        blocks.append("\n".join(_table([(c.name, c.summary) for c in below])))
    return "\n\n".join(blocks)


def example(magic: Magic, command: Command) -> str:
    """Return the declared examples of a command, or a line with sample values."""
    if command.examples:
        return "\n".join(command.examples)
    required = [option for option in command.options if option.required]
    words = [f"%{magic.name} {command.name}"]
    words += [_sample(magic, argument) for argument in command.arguments]
    words += [f"--{option.name} {_sample(magic, option)}" for option in required]
    return " ".join([*words, "--yes"] if command.option("--yes") else words)


def _sample(magic: Magic, parameter: Parameter) -> str:
    if magic.name == "nb" and parameter.name == "NAME":
        return _SAMPLES["NOTEBOOK"]
    return _SAMPLES.get(parameter.name.upper(), parameter.name)


def flag(option: Parameter) -> str:
    """Return an option with the name of its value: `--name NAME`."""
    return f"--{option.name}" + (f" {option.kind.metavar}" if option.kind else "")


def _by_heading(commands: Sequence[Command]) -> Iterable[str]:
    """Yield the commands, grouped by heading."""
    name_width = max(len(c.name) for c in commands)
    for n, (heading, group) in enumerate(groupby(commands, key=lambda c: c.heading)):
        if heading:
            yield from ([""] if n else [])
            yield f"{heading}:"
        yield from _table([(c.name, c.summary) for c in group], name_width)


def _table(rows: Sequence[tuple[str, str]], name_width: int = 0) -> Iterable[str]:
    """Yield the lines of a table with two columns, with wrapped descriptions."""
    name_width = min(name_width or max(len(name) for name, _ in rows), 28)
    for name, description in rows:
        lines = textwrap.wrap(description, WIDTH - name_width - 4) or [""]
        if len(name) > name_width:
            yield f"  {name}"
            name = ""
        for line in lines:
            yield f"  {name:{name_width}}  {line}".rstrip()
            name = ""


def _wrap(paragraph: str) -> str:
    return "\n".join(textwrap.wrap(" ".join(paragraph.split()), WIDTH, break_on_hyphens=False))
