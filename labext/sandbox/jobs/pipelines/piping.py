"""Pass the outputs of a stage to the settings of the next stage."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labext.sandbox.jobs.files.result_archives import numeric_order
from labext.sandbox.jobs.names import quote_value
from labext.sandbox.jobs.schemas import bad_request
from labext.sandbox.jobs.tools.tool import Parameter, Tool

PIPE = "pipe"

MAX_TEXT_BYTES = 1 << 20
"""Size limit of a file whose text is the value of a setting."""

_FASTA_SUFFIXES = (".fasta", ".fa", ".fna", ".faa", ".fas")
_SCALAR_TYPES = ("number", "integer", "boolean")


@dataclass(frozen=True)
class TextInput:
    """An initial input of a pipeline."""

    text: str

    def __str__(self) -> str:
        return f"the input {quote_value(self.text)}"


@dataclass(frozen=True)
class OutputFile:
    """An output of a job of the previous stage.

    Attributes:
        reference: the value for a file setting, `<job>/<path>`.
        content: the kind of content, if known; see `Tool.passes_content`.
    """

    reference: str
    file: Path
    content: str | None = None

    def __str__(self) -> str:
        return self.reference


PipeValue = TextInput | OutputFile


def piped_settings(settings: Mapping[str, Any]) -> list[str]:
    """Return the names of the settings with the value `"pipe"`."""
    return [name for name, value in settings.items() if value == PIPE]


def fill_pipes(tool: Tool, settings: Mapping[str, Any], piped: PipeValue) -> dict[str, Any]:
    """Return the settings with the value in place of `"pipe"`; 400 if a setting rejects it."""
    parameters = {parameter.name: parameter for parameter in tool.parameters}
    return {
        name: _pipe_value(parameters[name], piped)
        if value == PIPE and name in parameters
        else value
        for name, value in settings.items()
    }


def files_to_pipe(
    tool: Tool, job_name: str, out: Path, settings: Mapping[str, Any] | None = None
) -> list[OutputFile]:
    """Return the output files of a job that a pipeline passes on, in `numeric_order`.

    The kind of content may depend on the job's settings.
    """
    files = {
        file.relative_to(out).as_posix(): file
        for pattern in tool.passes
        for file in out.glob(pattern)
        if file.is_file() and not file.is_symlink()
    }
    content = output_content(tool, settings or {})
    paths = sorted(files, key=numeric_order)
    return [OutputFile(f"{job_name}/{path}", files[path], content) for path in paths]


def output_content(tool: Tool, settings: Mapping[str, Any]) -> str | None:
    """Return the kind of content of a job's passed-on files, or None if it is unknown."""
    return _resolve_content(tool, settings, tool.passes_content)


def accepted_content(tool: Tool, settings: Mapping[str, Any], parameter: Parameter) -> list[str]:
    """Return the kinds of content that a parameter accepts with these settings; empty for any."""
    kinds = [_resolve_content(tool, settings, kind) for kind in parameter.content]
    return [] if None in kinds else [kind for kind in kinds if kind is not None]


def _resolve_content(tool: Tool, settings: Mapping[str, Any], kind: str) -> str | None:
    """Fill the values of settings into a kind of content; None if a value is still unknown."""
    values = {
        name: value
        for name, value in tool.with_defaults(settings).items()
        if isinstance(value, str) and value != PIPE
    }
    try:
        return kind.format_map(values) or None
    except KeyError:
        return None


def accepts_file(
    parameter: Parameter, file_name: str, content: str | None = None, kinds: Sequence[str] = ()
) -> bool:
    """Return whether a file can be the value of a parameter that accepts these `kinds` of content.

    `file_name` may be a glob pattern; without `kinds`, any content is accepted.
    """
    if content is not None and kinds and content not in kinds:
        return False
    if parameter.type == "pdb":
        return file_name.lower().endswith(".pdb")
    return parameter.type not in _SCALAR_TYPES


def accepted_values(
    tool: Tool, settings: Mapping[str, Any], values: Sequence[PipeValue]
) -> list[PipeValue]:
    """Return the values that all piped settings of a tool accept.

    Each tool of a stage gets the suitable outputs of all tools of the previous stage.
    """
    parameters = {parameter.name: parameter for parameter in tool.parameters}
    piped = [
        (parameters[name], accepted_content(tool, settings, parameters[name]))
        for name in piped_settings(settings)
        if name in parameters
    ]
    return [
        value
        for value in values
        if isinstance(value, TextInput)
        or all(
            accepts_file(parameter, value.file.name, value.content, kinds)
            for parameter, kinds in piped
        )
    ]


def _pipe_value(parameter: Parameter, value: PipeValue) -> Any:
    if isinstance(value, TextInput):
        return _value_from_text(parameter, value.text)
    if parameter.file:
        return value.reference
    text = _read_text(parameter, value.file)
    if value.file.suffix.lower() not in _FASTA_SUFFIXES:
        return _value_from_text(parameter, text)
    sequences = fasta_sequences(text)
    if parameter.type == "array":
        return sequences
    if len(sequences) != 1:
        raise bad_request(
            f"Setting {parameter.name} takes one sequence, but {value.file.name} has "
            f"{len(sequences)}."
        )
    return sequences[0]


def _value_from_text(parameter: Parameter, text: str) -> Any:
    if parameter.type == "array":
        return fasta_sequences(text) if text.lstrip().startswith(">") else text.split()
    if parameter.type not in _SCALAR_TYPES:
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
    raise bad_request(
        f"Setting {parameter.name} is not of type {parameter.type}: {quote_value(text)}."
    )


def fasta_sequences(fasta: str) -> list[str]:
    """Return the sequences of a FASTA text without whitespace, in order."""
    records = re.split(r"^>.*$", fasta.replace("\r\n", "\n"), flags=re.MULTILINE)[1:]
    return ["".join(record.split()) for record in records]


def _read_text(parameter: Parameter, file: Path) -> str:
    try:
        if file.stat().st_size > MAX_TEXT_BYTES:
            raise bad_request(
                f"Setting {parameter.name} takes text of at most {MAX_TEXT_BYTES:,} bytes, but "
                f"{file.name} has {file.stat().st_size:,}."
            )
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise bad_request(
            f"Setting {parameter.name} takes text, but {file.name} is not a text file."
        ) from None
    except FileNotFoundError:
        raise bad_request(f"The output {file.name} was deleted.") from None
