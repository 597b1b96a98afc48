"""What one stage of a pipeline hands to the next, and what `"pipe"` becomes of it in a setting.

Source: real services, jobs: the value `"pipe"` in a setting takes the previous stage's output.
A stage hands on the files that `Tool.passes` names; the first stage gets the initial inputs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labext.sandbox.jobs.faults import invalid
from labext.sandbox.jobs.names import shown
from labext.sandbox.jobs.tool import Parameter, Tool

PIPE = "pipe"

LONGEST_TEXT = 1 << 20
"""Bytes of a file that a setting may hold as text."""

_FASTA = (".fasta", ".fa", ".fna", ".faa", ".fas")
_SCALARS = ("number", "integer", "boolean")


@dataclass(frozen=True)
class Text:
    """An initial input."""

    text: str

    def __str__(self) -> str:
        return f"the input {shown(self.text)}"


@dataclass(frozen=True)
class Output:
    """An output of a job of the stage before.

    Attributes:
        reference: `<job>/<path>`, as a setting may refer to it.
        file: where it is on disk.
        content: the kind of its content, where that is known (see `Tool.passes_content`).
    """

    reference: str
    file: Path
    content: str | None = None

    def __str__(self) -> str:
        return self.reference


Piece = Text | Output


def piped(settings: Mapping[str, Any]) -> list[str]:
    """The settings that take what the stage before hands on."""
    return [name for name, value in settings.items() if value == PIPE]


def filled(tool: Tool, settings: Mapping[str, Any], piece: Piece) -> dict[str, Any]:
    """The settings with the piece in place of `"pipe"`; 400 where it does not fit in there."""
    parameters = {parameter.name: parameter for parameter in tool.parameters}
    return {
        name: _value(parameters[name], piece) if value == PIPE and name in parameters else value
        for name, value in settings.items()
    }


def handed_on(
    tool: Tool, job_name: str, out: Path, settings: Mapping[str, Any] | None = None
) -> list[Output]:
    """Return the files in a job's output folder that it hands on, in the order of their names.

    Numbers in the names count as numbers: `mode2.pdb` is before `mode10.pdb`. The job's settings
    tell the kind of content of those tools that work on more than one.
    """
    files = {
        file.relative_to(out).as_posix(): file
        for pattern in tool.passes
        for file in out.glob(pattern)
        if file.is_file() and not file.is_symlink()
    }
    content = content_passed(tool, settings or {})
    paths = sorted(files, key=_by_number)
    return [Output(f"{job_name}/{path}", files[path], content) for path in paths]


def content_passed(tool: Tool, settings: Mapping[str, Any]) -> str | None:
    """Return the kind of content that a job with these settings hands on; None if unknown."""
    return _resolved(tool, settings, tool.passes_content)


def content_taken(tool: Tool, settings: Mapping[str, Any], parameter: Parameter) -> list[str]:
    """Return the kinds of content that a parameter takes with these settings; empty for any."""
    kinds = [_resolved(tool, settings, kind) for kind in parameter.content]
    return [] if None in kinds else [kind for kind in kinds if kind is not None]


def _resolved(tool: Tool, settings: Mapping[str, Any], kind: str) -> str | None:
    """Fill the values of settings into a kind of content; None if a value is not known yet."""
    values = {
        name: value
        for name, value in tool.with_defaults(settings).items()
        if isinstance(value, str) and value != PIPE
    }
    try:
        return kind.format_map(values) or None
    except KeyError:
        return None


def takes(
    parameter: Parameter, file_name: str, content: str | None = None, kinds: Sequence[str] = ()
) -> bool:
    """Return whether a file can become the parameter's value.

    Args:
        parameter: the parameter.
        file_name: the file's name, or a pattern for names.
        content: the kind of its content, if known.
        kinds: the kinds of content that the parameter takes; empty for any.
    """
    if content is not None and kinds and content not in kinds:
        return False
    if parameter.type == "pdb":
        return file_name.lower().endswith(".pdb")
    return parameter.type not in _SCALARS


def fitting(tool: Tool, settings: Mapping[str, Any], pieces: Sequence[Piece]) -> list[Piece]:
    """Return the pieces that every setting which is `"pipe"` takes.

    Where several tools hand on side by side, each tool of the next stage gets what is meant for it.
    """
    parameters = {parameter.name: parameter for parameter in tool.parameters}
    piping = [
        (parameters[name], content_taken(tool, settings, parameters[name]))
        for name in piped(settings)
        if name in parameters
    ]
    return [
        piece
        for piece in pieces
        if isinstance(piece, Text)
        or all(takes(one, piece.file.name, piece.content, kinds) for one, kinds in piping)
    ]


def _value(parameter: Parameter, piece: Piece) -> Any:
    if isinstance(piece, Text):
        return _of_text(parameter, piece.text)
    if parameter.file:
        return piece.reference
    text = _text_of(parameter, piece.file)
    if piece.file.suffix.lower() not in _FASTA:
        return _of_text(parameter, text)
    found = sequences(text)
    if parameter.type == "array":
        return found
    if len(found) != 1:
        raise invalid(
            f"Setting {parameter.name} takes one sequence, and {piece.file.name} has {len(found)}."
        )
    return found[0]


def _of_text(parameter: Parameter, text: str) -> Any:
    if parameter.type == "array":
        return sequences(text) if text.lstrip().startswith(">") else text.split()
    if parameter.type not in _SCALARS:
        return text
    word = text.strip()
    if parameter.type == "boolean" and word.lower() in ("true", "false"):
        return word.lower() == "true"
    if parameter.type != "boolean":
        try:
            number = float(word)
        except ValueError:
            number = math.nan
        if math.isfinite(number):
            return int(number) if parameter.type == "integer" and number.is_integer() else number
    raise invalid(f"Setting {parameter.name} is a {parameter.type}, which {shown(text)} is not.")


def sequences(fasta: str) -> list[str]:
    """The sequences of a FASTA text in their order, without blanks."""
    records = re.split(r"^>.*$", fasta.replace("\r\n", "\n"), flags=re.MULTILINE)[1:]
    return ["".join(record.split()) for record in records]


def _text_of(parameter: Parameter, file: Path) -> str:
    try:
        if file.stat().st_size > LONGEST_TEXT:
            raise invalid(
                f"Setting {parameter.name} takes text of at most {LONGEST_TEXT:,} bytes, and "
                f"{file.name} has {file.stat().st_size:,}."
            )
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise invalid(f"Setting {parameter.name} takes text, which {file.name} is not.") from None
    except FileNotFoundError:
        raise invalid(f"An output is gone: {file.name}.") from None


def _by_number(path: str) -> list[tuple[str, int]]:
    return [(word, int(number or 0)) for word, number in re.findall(r"(\D*)([0-9]{0,18})", path)]
