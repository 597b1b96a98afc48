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
    """An output of a job of the stage before: `<job>/<path>`, as a setting may refer to it."""

    reference: str
    file: Path

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


def handed_on(tool: Tool, job_name: str, out: Path) -> list[Output]:
    """The files in a job's output folder that it hands on, in the order of their names.

    Numbers in the names count as numbers: `mode2.pdb` is before `mode10.pdb`.
    """
    found = {
        file.relative_to(out).as_posix(): file
        for pattern in tool.passes
        for file in out.glob(pattern)
        if file.is_file() and not file.is_symlink()
    }
    return [Output(f"{job_name}/{path}", found[path]) for path in sorted(found, key=_by_number)]


def takes(parameter: Parameter, file_name: str) -> bool:
    """Whether the file of that name, or of a pattern for names, can become the parameter's value.

    What is in the file shows when the stage starts.
    """
    if parameter.type == "pdb":
        return file_name.lower().endswith(".pdb")
    return parameter.type not in _SCALARS


def fitting(tool: Tool, settings: Mapping[str, Any], pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces that every setting which is `"pipe"` takes.

    Where several tools hand on side by side, each tool of the next stage gets what is meant for it.
    """
    parameters = {parameter.name: parameter for parameter in tool.parameters}
    piping = [parameters[name] for name in piped(settings) if name in parameters]
    return [
        piece
        for piece in pieces
        if isinstance(piece, Text) or all(takes(one, piece.file.name) for one in piping)
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
