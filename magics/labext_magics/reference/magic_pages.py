"""Generate Markdown documentation of a magic from the declaration of its commands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

import click

from labext import cli
from labext_magics.core.dispatch import magic_named
from labext_magics.core.grammar import Command, Magic, Parameter
from labext_magics.core.help import example, flag, usage


def shell_commands() -> str:
    """Return one section per command and group."""
    return "\n\n".join(_shell_sections(click.Context(cli.labext, info_name="labext")))


def _shell_sections(context: click.Context) -> Iterator[str]:
    """Yield the sections of a group, depth first."""
    group = context.command
    assert isinstance(group, click.Group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        child = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield f"## {child.command_path}\n\n{command.help}"
            yield from _shell_sections(child)
        else:
            yield f"### {child.command_path}\n\n```text\n{command.get_help(child)}\n```"


def commands(name: str) -> str:
    """Return one section per command of a magic."""
    return "\n\n".join(_sections(magic_named(name)))


def _sections(magic: Magic) -> Iterator[str]:
    for heading, group in groupby(magic.commands, key=lambda command: command.heading):
        yield f"## {heading or 'Commands'}"
        for command in group:
            yield from _command(magic, command)


def _command(magic: Magic, command: Command) -> Iterator[str]:
    yield f"### %{magic.name} {command.name}"
    yield f"```text\n{usage(magic, command)}\n```"
    yield _escape(command.summary)
    yield from map(_escape, command.details.split("\n\n") if command.details else [])
    if command.arguments or command.options:
        names = [(f"`{argument.name}`", argument) for argument in command.arguments]
        names += [(f"`{flag(option)}`", option) for option in command.options]
        yield _table(names)
    if command.body:
        yield f"`%%{magic.name} {command.name}` takes a cell body: {_escape(command.body)}"
    yield f"Example:\n\n```text\n{example(magic, command)}\n```"


def _table(parameters: Sequence[tuple[str, Parameter]]) -> str:
    rows = [
        f"| {_cell(name)} | {_cell(_description(parameter))} |" for name, parameter in parameters
    ]
    return "\n".join(["| Argument or option | Meaning |", "|---|---|", *rows])


def _description(parameter: Parameter) -> str:
    notes = [_escape(parameter.help)]
    if parameter.required:
        notes.append("required")
    if parameter.many:
        notes.append("may be repeated")
    kind = parameter.kind
    if kind and kind.choices and kind.metavar != "|".join(kind.choices):
        notes.append("one of " + ", ".join(f"`{choice}`" for choice in kind.choices))
    return "; ".join(notes)


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def _escape(text: str) -> str:
    """Escape Markdown syntax outside of code spans."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(p if p.startswith("`") else re.sub(r"([<*_\[])", r"\\\1", p) for p in parts)
