"""Convert sequence records to Biopython SeqRecords and GenBank text, and back.

Bases, topology, ID, name and features are converted, coding features with their exons; all other
fields are preserved in the comment of the SeqRecord and restored from it. Requires Biopython, which
the extra `lab` installs.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from labext import messages
from labext.errors import InputError, SetupError
from labext.extras import install_line
from labext.genbank import complete_locus_lines, record_name
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
"""Maximum number of characters of name and length together in the LOCUS line."""

_MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
_EMPTY_QUALIFIER = re.compile(r'^( {21}/\w+)=""$', re.M)
"""A qualifier without a value, such as `/pseudo`, as Biopython writes it."""
_UNKNOWN = ("", ".", "<unknown id>", "<unknown name>", "<unknown description>")


def to_seqrecord(record: Mapping[str, Any], *, name: str | None = None) -> SeqRecord:
    """Convert a platform record to a `SeqRecord` that can be written as GenBank.

    Args:
        record: a record with at least `bases`; also a row of a DataFrame.
        name: the name of the SeqRecord, one short word; None derives it from the record's name.

    Raises:
        InputError: the record has no bases.
    """
    record = encoding.to_fields(record)
    bases = record.get("bases")
    title = str(record.get("name") or record.get("id") or "sequence")
    if not isinstance(bases, str) or not bases:
        raise InputError(f"{title} has no bases.", "Fetch it with the column `bases`.")
    circular = record.get("isCircular") is True
    spliced = [
        {**item, "regions": regions}
        for item in _mappings(record.get("translations"))
        if len(regions := _mappings(item.get("regions"))) > 1
    ]
    proteins = features.Proteins(_mappings(record.get("translations")), len(bases))
    identifier = encoding.to_token(str(record.get("id") or title), _MAX_ID_LENGTH)
    max_length = max_name_length(record)
    word = name or encoding.to_token(title, max_length, identifier[:max_length])
    seqrecord = SeqRecord(
        Seq(bases),
        id=identifier,
        name=word,
        description=_description(record, title, word),
        features=[
            features.to_feature(annotation, len(bases), spliced, proteins, circular=circular)
            for annotation in _mappings(record.get("annotations"))
        ],
        annotations={
            "molecule_type": _molecule_type(bases, _mappings(record.get("annotations"))),
            "topology": "circular" if circular else "linear",
            "data_file_division": "SYN",
            "date": _format_date(record.get("modifiedAt")),
        },
    )
    preserved: Fields = encoding.preserve(_visible_fields(seqrecord), _without_sequence(record))
    if bases != bases.upper():
        preserved["bases"] = [len(list(run)) for _, run in groupby("A" + bases, str.isupper)]
    encoding.add_checksum(preserved, bases)
    if preserved:
        lines = encoding.split_text(encoding.encode_value(preserved), _MAX_LINE_LENGTH)
        seqrecord.annotations["comment"] = "\n".join(PRESERVED_MARK + line for line in lines)
    return seqrecord


def max_name_length(record: Mapping[str, Any]) -> int:
    """Return the maximum length of a name in the LOCUS line of a GenBank file."""
    return _MAX_LOCUS_LENGTH - len(str(len(record["bases"])))


def from_seqrecord(record: SeqRecord) -> Fields:
    """Convert a `SeqRecord` to a record.

    The result of `to_seqrecord` is converted back without loss. The record of any other SeqRecord
    has `id`, `name`, `bases`, `length`, `isCircular`, `annotations` and an optional `description`.
    Features without a valid position in this sequence are left out, with a warning; so are the
    translations and primers of a record whose bases were edited.
    """
    bases = str(record.seq)
    preserved = _preserved_fields(record)
    translations = _mappings(encoding.restore({}, preserved).get("translations"))
    proteins = features.Proteins(translations, len(bases))
    encoding.drop_outdated(preserved, bases, record.name)
    runs = preserved.pop("bases", None)
    fields = encoding.restore(_visible_fields(record), preserved)
    if "bases" in fields:
        fields["bases"] = _restore_case(bases, runs) if bases == bases.upper() else bases
    if fields.get("annotations") == len(record.features):
        circular = _is_circular(record)
        local = [features.local_feature(feature, len(bases)) for feature in record.features]
        fields["annotations"] = [
            features.to_annotation(feature, len(bases), proteins, circular=circular)
            for feature in local
            if feature is not None
        ]
        omitted = [
            features.feature_name(feature)
            for feature, kept in zip(record.features, local, strict=True)
            if kept is None
        ]
        if omitted:
            count = messages.pluralize(len(omitted), "feature")
            warnings.warn(
                f"{record.name}: left out {count} without a valid position in this sequence: "
                f"{messages.join_words(omitted, 1)}.",
                stacklevel=2,
            )
    return fields


def _visible_fields(record: SeqRecord) -> Fields:
    """Return the fields of a record that a file represents; bases and annotations as counts."""
    names = [name for name in (record.id, record.name) if name not in _UNKNOWN] or [None]
    fields = {
        "id": names[0],
        "name": names[-1],
        "bases": len(record),
        "length": len(record),
        "isCircular": _is_circular(record),
        "annotations": len(record.features),
    }
    if record.description not in _UNKNOWN:
        fields["description"] = record.description
    return fields


def _without_sequence(record: Mapping[str, Any]) -> Fields:
    """Return the record with bases and annotations replaced by their counts."""
    fields = dict(record) | {"bases": len(record["bases"])}
    annotations = record.get("annotations")
    if isinstance(annotations, list) and len(_mappings(annotations)) == len(annotations):
        fields["annotations"] = len(annotations)
    return fields


def _mappings(items: Any) -> list[Mapping[str, Any]]:
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []


def _preserved_fields(record: SeqRecord) -> Fields:
    lines = str(record.annotations.get("comment", "")).splitlines()
    text = "".join(
        line.removeprefix(PRESERVED_MARK) for line in lines if line.startswith(PRESERVED_MARK)
    )
    preserved = encoding.decode_value(text)
    return preserved if isinstance(preserved, dict) else {}


def _restore_case(bases: str, runs: Any) -> str:
    """Restore lower-case bases from the lengths of alternating upper- and lower-case runs."""
    lengths = runs if isinstance(runs, list) and all(type(length) is int for length in runs) else []
    if sum(lengths) != len(bases) + 1:
        return bases
    text, cased, lower = "A" + bases, [], False
    for length in lengths:
        cased.append(text[:length].lower() if lower else text[:length])
        text, lower = text[length:], not lower
    return "".join(cased)[1:]


def _molecule_type(bases: str, annotations: Iterable[Mapping[str, Any]]) -> str:
    letters = set(bases.upper())
    # Features of proteins have no strand in a file.
    if letters & set("EFIJLOPQZ") and not any(item.get("strand") for item in annotations):
        return "protein"
    return "RNA" if set("ACGU") >= letters - set("NRYSWKMBDHV") >= {"U"} else "DNA"


def _is_circular(record: SeqRecord) -> bool:
    return bool(record.annotations.get("topology") == "circular")


def _description(record: Mapping[str, Any], title: str, word: str) -> str:
    description = record.get("description")
    if isinstance(description, str) and description:
        return encoding.to_line(description).rstrip(". ")
    return encoding.to_line(title).rstrip(". ") if title != word else ""


def _format_date(moment: Any) -> str:
    try:
        if isinstance(moment, int | float):  # milliseconds, as pandas writes times to JSON
            day = datetime(1970, 1, 1) + timedelta(milliseconds=moment)
        else:
            day = datetime.fromisoformat(str(moment)[:10])
    except (ValueError, OverflowError):
        day = datetime(1980, 1, 1)
    return f"{day.day:02d}-{_MONTHS[day.month - 1]}-{day.year}"


def format_genbank(records: Iterable[Mapping[str, Any]], names: Iterable[str]) -> str:
    """Format records as GenBank text, with these names in their LOCUS lines."""
    out = io.StringIO()
    seqrecords = (to_seqrecord(row, name=name) for row, name in zip(records, names, strict=True))
    SeqIO.write(seqrecords, out, "genbank")
    return _EMPTY_QUALIFIER.sub(r"\1", out.getvalue())


def parse_genbank(text: str, file: str) -> list[Fields]:
    """Parse the records of a GenBank file; raise ValueError if the text is not valid GenBank."""
    records = []
    with warnings.catch_warnings():
        # Malformed lines are tolerated, but a file that is cut off is reported.
        warnings.filterwarnings("ignore", "(?!Expected sequence length)", BiopythonWarning)
        try:
            for seqrecord in SeqIO.parse(io.StringIO(complete_locus_lines(text)), "genbank"):
                if not seqrecord.seq.defined:
                    raise ValueError(f"{seqrecord.name} has no bases")
                name = record_name(seqrecord.name, file)
                if name != seqrecord.name and not _preserved_fields(seqrecord):
                    seqrecord.name = name
                records.append(from_seqrecord(seqrecord))
            return records
        except ValueError:
            raise
        except Exception as failure:  # noqa: BLE001 - the parser raises various exceptions
            reason = f"{type(failure).__name__}: {failure}"
    raise ValueError(reason)
