"""Convert annotations to Biopython features, and back."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from Bio.SeqFeature import (
    CompoundLocation,
    ExactPosition,
    Location,
    SeqFeature,
    SimpleLocation,
    UnknownPosition,
)
from Bio.SeqIO.InsdcIO import GenBankWriter

from labext.genbank import format_location
from labext.lab.files import encoding
from labext.lab.files.encoding import Fields


def local_feature(feature: SeqFeature, length: int) -> SeqFeature | None:
    """Return a feature without its parts elsewhere; None if nothing is left.

    These are parts in other records or beyond the end of the sequence, and those with an unknown
    end.
    """
    parts = [] if feature.location is None else list(feature.location.parts)
    local = [
        part
        for part in parts
        if not part.ref
        and UnknownPosition not in (type(part.start), type(part.end))
        and int(part.end) <= length
    ]
    if len(local) == len(parts):
        return feature if parts else None
    if not local:
        return None
    location = local[0] if len(local) == 1 else CompoundLocation(local, feature.location.operator)
    return SeqFeature(location, type=feature.type, qualifiers=feature.qualifiers)


def covering_span(location: Location, length: int, *, circular: bool) -> tuple[int, int]:
    """Return the start and end that cover a location; the end precedes a start across the origin.

    A location between two bases covers both of them.
    """
    parts = _ordered_parts(location)
    first, last = parts[0], parts[-1]
    if circular and _spans_origin(parts, length) and int(last.end) <= int(first.start):
        return int(first.start), int(last.end)
    if len(parts) == 1 and int(first.start) == int(first.end):
        if circular and int(first.start) in (0, length):
            return length - 1, 1
        return max(int(first.start) - 1, 0), min(int(first.end) + 1, length)
    return min(int(part.start) for part in parts), max(int(part.end) for part in parts)


def is_compound(location: Location, length: int, *, circular: bool) -> bool:
    """Return True if start, end and strand are not enough to describe a location."""
    parts = _ordered_parts(location)
    ends = [end for part in parts for end in (part.start, part.end)]
    if not all(isinstance(end, ExactPosition) for end in ends):
        return True
    if len(parts) == 2 and circular and _spans_origin(parts, length):
        return int(parts[1].end) > int(parts[0].start) or parts[0].strand != parts[1].strand
    return len(parts) > 1 or int(parts[0].start) == int(parts[0].end)


def _ordered_parts(location: Location) -> list[Any]:
    """Return the parts in order of their position on the forward strand."""
    parts = list(location.parts)
    return parts[::-1] if location.strand == -1 else parts


def _spans_origin(parts: list[Any], length: int) -> bool:
    pairs = itertools.pairwise(parts)
    return any(int(part.end) == length and int(following.start) == 0 for part, following in pairs)


PRESERVED_QUALIFIER = "labext"
"""The qualifier for values that standard qualifiers can't represent."""

LOCATION_FIELD = "location"
"""The custom field with the location of a feature that has several parts or fuzzy ends."""

_COLORS = ("ApEinfo_fwdcolor", "ApEinfo_revcolor")
_NAMES = ("label", "gene", "product", "standard_name", "locus_tag", "note")
_TYPE_PATTERN = re.compile(r"[A-Za-z0-9_'*-]{1,15}")
_QUALIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,19}")
_RESERVED = {PRESERVED_QUALIFIER, "label", "note", *_COLORS}
_PROTEIN = re.compile("[A-Z]+")
_MAX_LINE_LENGTH = 44
_MAX_FIRST_LINE = 55
"""Maximum number of characters of a qualifier's name and the word after it in a line of a file."""

_CODON = 3
"""Bases by which a coding annotation may exceed its translation: a partial or the stop codon."""


class Proteins:
    """The proteins of a record's translations, as files represent them: without a stop."""

    def __init__(self, translations: Iterable[Mapping[str, Any]], length: int) -> None:
        self.texts: set[str] = set()
        self._length = length
        self._ends: dict[tuple[str, str, int], list[tuple[int, str]]] = {}
        for item in translations:
            text = str(item.get("aminoAcids")).removesuffix("*")
            if _PROTEIN.fullmatch(text):
                self.texts.add(text)
                start, end = _clean_span(item, length)
                key = str(item.get("name")), str(item.get("strand")), start
                self._ends.setdefault(key, []).append((end, text))

    def find(self, annotation: Mapping[str, Any]) -> str | None:
        """Return the protein of a coding annotation; None if there is none."""
        if annotation.get("type") != "CDS":
            return None
        name, strand = str(annotation.get("name")), str(annotation.get("strand"))
        start, end = _clean_span(annotation, self._length)
        for nearby in range(start - _CODON, start + _CODON + 1):
            for other, text in self._ends.get((name, strand, nearby), ()):
                if abs(other - end) <= _CODON:
                    return text
        return None


def to_feature(
    annotation: Mapping[str, Any],
    length: int,
    spliced: Iterable[Fields],
    proteins: Proteins,
    *,
    circular: bool,
) -> SeqFeature:
    """Convert an annotation to a feature for a GenBank file; `spliced` has the exons of its CDS."""
    kind = annotation.get("type")
    feature = SeqFeature(
        _feature_location(annotation, length, spliced, circular),
        type=kind if isinstance(kind, str) and _TYPE_PATTERN.fullmatch(kind) else "misc_feature",
        qualifiers=_qualifiers(annotation),
    )
    if protein := proteins.find(annotation):
        feature.qualifiers.setdefault("translation", [protein])
    visible = _feature_fields(feature, length, proteins, circular=circular)
    preserved = encoding.preserve(_with_default_strand(visible), annotation)
    if preserved:
        feature.qualifiers[PRESERVED_QUALIFIER] = encoding.split_text(
            encoding.encode_value(preserved), _MAX_LINE_LENGTH
        )
    return feature


def to_annotation(
    feature: SeqFeature, length: int, proteins: Proteins, *, circular: bool
) -> Fields:
    """Convert a feature to an annotation, without a protein of the record's translations."""
    visible = _feature_fields(feature, length, proteins, circular=circular)
    preserved = encoding.decode_value(
        "".join(map(str, feature.qualifiers.get(PRESERVED_QUALIFIER, ())))
    )
    fields = encoding.restore(_with_default_strand(visible), preserved)
    if "strand" in fields and not (isinstance(preserved, dict) and "strand" in preserved):
        fields["strand"] = visible["strand"]
    return fields


def _feature_fields(
    feature: SeqFeature, length: int, proteins: Proteins, *, circular: bool
) -> Fields:
    """Return the fields of an annotation that a feature represents without preserved values."""
    qualifiers = {name: _value_list(value) for name, value in feature.qualifiers.items()}
    start, end = covering_span(feature.location, length, circular=circular)
    custom_fields = [
        {"name": name, "value": value}
        for name, values in qualifiers.items()
        if name not in _RESERVED
        for value in values
        if name != "translation" or value not in proteins.texts
    ]
    if is_compound(feature.location, length, circular=circular):
        location = format_location(feature.location, length)
        custom_fields.append({"name": LOCATION_FIELD, "value": location})
    return {
        "name": feature_name(feature),
        "type": feature.type,
        "start": start,
        "end": end,
        "strand": feature.location.strand or 0,
        "color": next((qualifiers[name][0] for name in _COLORS if qualifiers.get(name)), None),
        "notes": "\n".join(qualifiers.get("note", ())),
        "customFields": custom_fields,
    }


def _with_default_strand(fields: Fields) -> Fields:
    """Return the fields with a missing strand set to forward, as files represent it."""
    return fields | {"strand": fields["strand"] or 1}


def _value_list(content: Any) -> list[str]:
    return [str(value) for value in (content if isinstance(content, (list, tuple)) else [content])]


def feature_name(feature: SeqFeature) -> str:
    """Return the name of a feature from its qualifiers; its type if they have none."""
    for qualifier in _NAMES:
        for value in _value_list(feature.qualifiers.get(qualifier, ())):
            if value.strip():
                return value
    return str(feature.type)


def _qualifiers(annotation: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the GenBank qualifiers of an annotation.

    Values are reduced to ASCII words; `PRESERVED_QUALIFIER` keeps the original values.
    """
    label = _field_text("label", annotation.get("name")) or "feature"
    qualifiers = {"label": [label]}
    color = _field_text(_COLORS[0], annotation.get("color"))
    if color:
        qualifiers |= {name: [color] for name in _COLORS}
    notes = annotation.get("notes")
    lines = notes.split("\n") if isinstance(notes, str) else []
    lines = [_field_text("note", line) for line in lines]
    if any(lines):
        qualifiers["note"] = [line for line in lines if line]
    for name, value in _custom_fields(annotation):
        if name == LOCATION_FIELD or (name in GenBankWriter.FTQUAL_NO_QUOTE and " /" in value):
            continue  # without quotes, a line that begins with a slash is another qualifier
        # Parsers keep a qualifier without a value only if it is the first of its name.
        if value or name not in qualifiers:
            qualifiers.setdefault(name, []).append(value)
    return qualifiers


def _custom_fields(annotation: Mapping[str, Any]) -> list[tuple[str, str]]:
    fields = annotation.get("customFields")
    pairs = [
        (field.get("name"), field.get("value"))
        for field in (fields if isinstance(fields, list) else ())
        if isinstance(field, dict)
    ]
    return [
        (name, _qualifier_value(name, value))
        for name, value in pairs
        if isinstance(name, str)
        and isinstance(value, str)
        and _QUALIFIER.fullmatch(name)
        and name not in _RESERVED
    ]


def _qualifier_value(name: str, value: str) -> str:
    if name == LOCATION_FIELD:
        return value
    text = _field_text(name, value)
    # A translation is a single word; parsers remove its line breaks and spaces.
    return text.replace(" ", "") if name == "translation" else text


def _field_text(name: str, value: Any) -> str:
    return encoding.to_line(value, _MAX_FIRST_LINE - len(name)) if isinstance(value, str) else ""


def _feature_location(
    annotation: Mapping[str, Any], length: int, spliced: Iterable[Fields], circular: bool
) -> Location:
    start, end = _clean_span(annotation, length)
    strand = annotation.get("strand")
    strand = strand if type(strand) is int and strand in (-1, 0, 1) else 0
    texts = [value for name, value in _custom_fields(annotation) if name == LOCATION_FIELD]
    if annotation.get("type") == "CDS":
        same = (item for item in spliced if item.get("name") == annotation.get("name"))
        texts += _spliced_locations(same, start, end, length)
    # Features of proteins have no strand.
    for text, stranded in itertools.product(texts, (True, False)):
        location = _compound_location(text, length, circular, stranded=stranded)
        if (
            location is not None
            and (location.strand or 0) == strand
            and covering_span(location, length, circular=circular) == (start, end)
        ):
            return location
    if start < end:
        return SimpleLocation(start, end, strand=strand)
    if not circular:
        return SimpleLocation(min(end, start - 1), start, strand=strand)
    if start == length:
        return SimpleLocation(0, end, strand=strand)
    parts = [SimpleLocation(start, length, strand=strand), SimpleLocation(0, end, strand=strand)]
    return CompoundLocation(parts[::-1] if strand == -1 else parts)


def _spliced_locations(
    translations: Iterable[Fields], start: int, end: int, length: int
) -> Iterator[str]:
    """Yield the locations of the translations that lie between start and end."""
    for translation in translations:
        positions = [
            position
            for region in translation["regions"]
            for position in _clean_span(region, length)
        ]
        if max(abs(positions[0] - start), abs(positions[-1] - end)) <= _CODON:
            positions[0], positions[-1] = start, end
        elif (min(positions), max(positions)) != (start, end):  # in any order if trans-spliced
            continue
        pairs = zip(positions[::2], positions[1::2], strict=True)
        joined = f"join({','.join(f'{first + 1}..{last}' for first, last in pairs)})"
        yield f"complement({joined})" if translation.get("strand") == -1 else joined


def _clean_span(mark: Mapping[str, Any], length: int) -> tuple[int, int]:
    """Return start and end within the sequence, whose end some services write as 0."""
    start = _clean_position(mark.get("start"), length, 0)
    return start, _clean_position(mark.get("end"), length, length) or length


def _clean_position(value: Any, length: int, default: int) -> int:
    return min(max(value, 0), length) if type(value) is int else default


def _compound_location(
    text: str, length: int, circular: bool, *, stranded: bool
) -> Location | None:
    try:
        return Location.fromstring(text, length, circular, stranded)
    except Exception:  # noqa: BLE001 - the parser raises various exceptions for invalid input
        return None
