"""Run job tools on the example data and read their outputs."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from labext.sandbox.jobs.tools import catalogue
from labext.sandbox.jobs.tools.tool import Tool

DATA = Path(__file__).resolve().parents[2] / "example_notebooks" / "data"
COMPLEMENT = str.maketrans("ACGT", "TGCA")


def run_tool(
    tool: Tool, out: Path, inputs: Mapping[str, Path] | None = None, **settings: Any
) -> Mapping[str, Any]:
    """Check the settings and run a tool in the new folder `out`; return the score."""
    assert tool.check(settings) is None
    out.mkdir(exist_ok=True)
    return catalogue.run_tool(tool.name, settings, inputs or {}, out)


def assert_setting_error(tool: Tool, settings: Mapping[str, Any], message: str) -> None:
    """Check that an error of settings begins with a message."""
    error = tool.check(settings)
    assert error is not None
    assert error.startswith(message)


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def read_sequences(path: Path) -> list[str]:
    """Return the sequences of a FASTA file in order."""
    return ["".join(record.split("\n")[1:]) for record in path.read_text().split(">")[1:]]


def fasta(**sequences: str) -> str:
    return "".join(f">{name}\n{letters}\n" for name, letters in sequences.items())


def genbank_bases(name: str) -> str:
    """Return the sequence of a GenBank file of the example data."""
    text = (DATA / name).read_text().split("\nORIGIN")[1].split("\n", 1)[1]
    return re.sub("[^a-z]", "", text).upper()


def coding_features(name: str) -> tuple[Any, list[Any]]:
    """Return the record of a GenBank file and its CDS features."""
    SeqIO = pytest.importorskip("Bio.SeqIO", reason="biopython is in the sandbox extra")
    record = SeqIO.read(DATA / name, "genbank")
    return record, [feature for feature in record.features if feature.type == "CDS"]


def pdb_atom(
    number: int = 1,
    xyz: tuple[float, float, float] = (0.0, 0.0, 0.0),
    name: str = " CA ",
    *,
    record: str = "ATOM",
    alternative: str = " ",
    residue: str = "ALA",
    chain: str = "A",
    insertion: str = " ",
    occupancy: str = " 1.00",
    b_factor: str = "10.00",
    element: str = "",
) -> str:
    """Return an ATOM line."""
    x, y, z = xyz
    return (
        f"{record:<6}{1:5d} {name}{alternative}{residue:>3} {chain}{number:4d}{insertion}   "
        f"{x:8.3f}{y:8.3f}{z:8.3f} {occupancy:>5}{b_factor:>6}          {element:>2}\n"
    )


def write_corrupted(path: Path, lines: list[str], junk: bytes, column: int, line: int) -> Path:
    """Write lines, with a part of one line overwritten by bytes."""
    content = [bytearray(text.encode()) for text in lines]
    content[line][column : column + len(junk)] = junk
    path.write_bytes(b"".join(content))
    return path
