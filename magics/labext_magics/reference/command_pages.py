"""The commands of the shell command `labext` as Markdown, from their declaration."""

from __future__ import annotations

from collections.abc import Iterator

import click

from labext import cli


def text() -> str:
    """Return a section for each command and group."""
    return "\n\n".join(_sections(click.Context(cli.labext, info_name="labext")))


def _sections(context: click.Context) -> Iterator[str]:
    """Yield the commands of a group, depth first."""
    group = context.command
    assert isinstance(group, click.Group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        below = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield f"## {below.command_path}\n\n{command.help}"
            yield from _sections(below)
        else:
            yield f"### {below.command_path}\n\n```text\n{command.get_help(below)}\n```"
