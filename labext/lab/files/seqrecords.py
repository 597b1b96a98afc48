"""Convert sequence records to Biopython SeqRecords and GenBank text, and back.

    from labext.lab.files.seqrecords import from_seqrecord, to_seqrecord
    plasmid = to_seqrecord(lab.sequence("pBAD30"))
    SeqIO.write(plasmid, "pBAD30.gb", "genbank")

Bases, topology, identifier, name and features become those of the SeqRecord; all other fields are
kept in its comment and restored. Needs Biopython, which the extra `lab` installs.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import groupby
from typing import Any

from labext.errors import InputError, SetupError
from labext.extras import install_line
from labext.lab.files import encoding
from labext.lab.files.encoding import PRESERVED_MARK, Fields

try:
    from Bio import BiopythonWarning, SeqIO
    from Bio.Seq import Seq
    from Bio.SeqRecord import SeqRecord

    from labext.lab.files import features
except ImportError as failure:
    if (failure.name or "").partition(".")[0] != "Bio":
        raise
    raise SetupError(
        "GenBank files and SeqRecords need Biopython, which is not installed.",
        f"Install it: {install_line('lab')}",
    ) from None

_MAX_LINE_LENGTH = 56
_MAX_ID_LENGTH = 40
_MAX_LOCUS_LENGTH = 26
"""A GenBank file's first line has room for the name and the length, so many characters together."""

_MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
_UNKNOWN = ("", ".", "<unknown id>", "<unknown name>", "<unknown description>")


def to_seqrecord(record: Mapping[str, Any], *, name: str | None = None) -> SeqRecord:
    """Return a record of the platform as a `SeqRecord`, which GenBank can hold.

    Args:
        record: at least with `bases`.
        name: in place of the one made of the record's, as one short word.

    Raises:
        InputError: it has no bases.
    """
    bases = record.get("bases")
    title = str(record.get("name") or record.get("id") or "sequence")
    if not isinstance(bases, str) or not bases:
        raise InputError(f"{title} has no bases.", "Fetch it with the column `bases`.")
    circular = record.get("isCircular") is True
    word = name or encoding.to_token(title, longest_name(record))
    seqrecord = SeqRecord(
        Seq(bases),
        id=encoding.to_token(str(record.get("id") or title), _MAX_ID_LENGTH),
        name=word,
        description=_description(record, title, word),
        features=[
            features.to_feature(annotation, len(bases), circular=circular)
            for annotation in _annotations(record)
        ],
        annotations={
            "molecule_type": "DNA",
            "topology": "circular" if circular else "linear",
            "data_file_division": "SYN",
            "date": _format_date(record.get("modifiedAt")),
        },
    )
    preserved: Fields = encoding.preserve(_visible_fields(seqrecord), _without_sequence(record))
    if bases != bases.upper():
        preserved["bases"] = [len(list(run)) for _, run in groupby("A" + bases, str.isupper)]
    if preserved:
        lines = encoding.split_text(encoding.encode_value(preserved), _MAX_LINE_LENGTH)
        seqrecord.annotations["comment"] = "\n".join(PRESERVED_MARK + line for line in lines)
    return seqrecord


def longest_name(record: Mapping[str, Any]) -> int:
    """Return how long a name the first line of a GenBank file has room for."""
    return _MAX_LOCUS_LENGTH - len(str(len(record["bases"])))


def from_seqrecord(record: SeqRecord) -> Fields:
    """Return a `SeqRecord` as a record: exactly the one that it was made of, if it was.

    Of another's it has `id, name, description, bases, length, isCircular, annotations`.
    """
    bases = str(record.seq)
    preserved = _preserved_fields(record)
    runs = preserved.pop("bases", None)
    fields = encoding.restore(_visible_fields(record), preserved)
    if "bases" in fields:
        fields["bases"] = _restore_case(bases, runs) if bases == bases.upper() else bases
    if fields.get("annotations") == len(record.features):
        circular = _is_circular(record)
        fields["annotations"] = [
            features.to_annotation(feature, len(bases), circular=circular)
            for feature in record.features
            if feature.location is not None
        ]
    return fields


def _visible_fields(record: SeqRecord) -> Fields:
    """Return the fields that a file shows; of the bases and the annotations their number."""
    fields = {
        "id": record.id if record.id not in _UNKNOWN else record.name,
        "name": record.name if record.name not in _UNKNOWN else record.id,
        "bases": len(record),
        "length": len(record),
        "isCircular": _is_circular(record),
        "annotations": len(record.features),
    }
    if record.description not in _UNKNOWN:
        fields["description"] = record.description
    return fields


def _without_sequence(record: Mapping[str, Any]) -> Fields:
    """Return the record with the bases and annotations only counted."""
    apart = dict(record) | {"bases": len(record["bases"])}
    if isinstance(record.get("annotations"), list) and len(_annotations(record)) == len(
        record["annotations"]
    ):
        apart["annotations"] = len(record["annotations"])
    return apart


def _annotations(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    marks = record.get("annotations")
    return [mark for mark in marks if isinstance(mark, Mapping)] if isinstance(marks, list) else []


def _preserved_fields(record: SeqRecord) -> Fields:
    lines = str(record.annotations.get("comment", "")).splitlines()
    text = "".join(
        line.removeprefix(PRESERVED_MARK) for line in lines if line.startswith(PRESERVED_MARK)
    )
    preserved = encoding.decode_value(text)
    return preserved if isinstance(preserved, dict) else {}


def _restore_case(bases: str, runs: Any) -> str:
    """Restore lower case in bases from the lengths of alternating runs of upper and lower case."""
    lengths = runs if isinstance(runs, list) and all(type(length) is int for length in runs) else []
    if sum(lengths) != len(bases) + 1:
        return bases
    text, cased, lower = "A" + bases, [], False
    for length in lengths:
        cased.append(text[:length].lower() if lower else text[:length])
        text, lower = text[length:], not lower
    return "".join(cased)[1:]


def _is_circular(record: SeqRecord) -> bool:
    return bool(record.annotations.get("topology") == "circular")


def _description(record: Mapping[str, Any], title: str, word: str) -> str:
    description = record.get("description")
    if isinstance(description, str) and description:
        return encoding.to_line(description).rstrip(". ")
    return encoding.to_line(title).rstrip(". ") if title != word else ""


def _format_date(moment: Any) -> str:
    try:
        day = datetime.fromisoformat(str(moment)[:10])
    except ValueError:
        day = datetime(1980, 1, 1)
    return f"{day.day:02d}-{_MONTHS[day.month - 1]}-{day.year}"


__all__ = ["format_genbank", "longest_name", "parse_genbank"]


def format_genbank(records: Iterable[Mapping[str, Any]], names: Iterable[str]) -> str:
    """Return records as text, under the names that the first line of each shows."""
    out = io.StringIO()
    seqrecords = (to_seqrecord(row, name=name) for row, name in zip(records, names, strict=True))
    SeqIO.write(seqrecords, out, "genbank")
    return out.getvalue()


def parse_genbank(text: str) -> list[Fields]:
    """Return the records of a text.

    Raises:
        ValueError: it is not GenBank.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BiopythonWarning)  # of lines that are not as they should be
        try:
            return [
                from_seqrecord(seqrecord) for seqrecord in SeqIO.parse(io.StringIO(text), "genbank")
            ]
        except ValueError:
            raise
        except Exception as failure:  # noqa: BLE001 - the parser raises many types for other text
            why = f"{type(failure).__name__}: {failure}"
    raise ValueError(why)
