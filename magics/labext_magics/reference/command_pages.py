"""Generate Markdown documentation of the shell command `labext`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from labext import cli


def text() -> str:
    """Return one section per command and group."""
    return "\n\n".join(_sections(click.Context(cli.labext, info_name="labext")))


def _sections(context: click.Context) -> Iterator[str]:
    """Yield the sections of a group, depth first."""
    group = context.command
    assert isinstance(group, click.Group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        child = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield f"## {child.command_path}\n\n{command.help}"
            yield from _sections(child)
        else:
            yield f"### {child.command_path}\n\n```text\n{command.get_help(child)}\n```"
