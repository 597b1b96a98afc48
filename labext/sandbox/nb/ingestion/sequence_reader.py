"""Reader of GenBank and FASTA files: the descriptions and annotations of their sequences."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator
from typing import Any

from labext.genbank import complete_locus_lines
from labext.sandbox.nb.ingestion import reading
from labext.sandbox.nb.ingestion.reading import Document, OnStage, SourceFile

_MAX_LETTERS = 200
"""Maximum length of a sequence that is quoted, such as a primer's."""

_FIELDS = ("accessions", "organism", "keywords")
_NAME_QUALIFIERS = ("label", "gene", "standard_name", "locus_tag")
_TEXT_QUALIFIERS = ("gene", "product", "function", "note", "EC_number", "organism", "strain")
_PRESERVED_VALUES = "labext:"
"""Start of the lines in which exported files keep values that GenBank has no place for."""


def read_sequences(file: SourceFile, _on_stage: OnStage) -> Document:
    """Read the names, descriptions, references and features of sequences; else the plain text."""
    from Bio import SeqIO

    text = reading.clean_text(reading.decode_text(file.content(), file.charset))
    kind = "fasta" if text.startswith(">") else "genbank"
    records = []
    # The parser warns of unusual lines, and raises many different exceptions.
    with warnings.catch_warnings(action="ignore"), contextlib.suppress(Exception):
        records = [*SeqIO.parse(io.StringIO(complete_locus_lines(text)), kind)]
    if not records:
        return Document([(None, text)])
    if kind == "fasta":
        return Document([(None, "\n".join(map(_fasta_item, records)))])
    title = _description(records[0]) if len(records) == 1 else None
    return Document([(None, "\n\n".join(map(_genbank_section, records)))], title)


def _fasta_item(record: Any) -> str:
    short = f": {record.seq}" if len(record) <= _MAX_LETTERS else ""
    return f"- {record.description}, {len(record):,} letters{short}"


def _genbank_section(record: Any) -> str:
    annotations = record.annotations
    molecule = annotations.get("molecule_type", "")
    unit = "residues" if molecule == "protein" else "bp"
    kind = " ".join(filter(None, (annotations.get("topology"), molecule)))
    length = ", ".join(filter(None, (f"{len(record):,} {unit}", kind)))
    blocks = [f"# {_description(record)}", f"Name: {record.name}", f"Length: {length}"]
    for field in _FIELDS:
        value = annotations.get(field, "")
        words = ", ".join(value) if isinstance(value, list) else value
        if words.strip(". "):
            blocks.append(f"{field.capitalize()}: {words}")
    blocks += [
        ". ".join(filter(None, (item.authors.rstrip("."), item.title, item.journal)))
        for item in annotations.get("references", ())
    ]
    blocks.append(_without_preserved(annotations.get("comment", "")))
    features = [_feature_item(feature) for feature in record.features]
    if features:
        blocks += ["## Features", "\n".join(features)]
    return "\n\n".join(filter(None, blocks))


def _description(record: Any) -> str:
    return record.description.strip(". ") or str(record.name)


def _feature_item(feature: Any) -> str:
    """Return a list item such as `- CDS bla, 3001–3861, reverse strand: beta-lactamase`."""
    names = (name for key in _NAME_QUALIFIERS for name in feature.qualifiers.get(key, ()))
    head = f"{feature.type} {next(names, '')}".strip()
    place = f"{int(feature.location.start) + 1}–{int(feature.location.end)}"
    strand = ", reverse strand" if feature.location.strand == -1 else ""
    texts = dict.fromkeys(_texts(feature.qualifiers))
    detail = "; ".join(text for text in texts if text not in head)
    return f"- {head}, {place}{strand}" + (f": {detail}" if detail else "")


def _texts(qualifiers: dict[str, list[str]]) -> Iterator[str]:
    for key in _TEXT_QUALIFIERS:
        for value in qualifiers.get(key, ()):
            if text := " ".join(_without_preserved(value).split()):
                yield text


def _without_preserved(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith(_PRESERVED_VALUES))
