"""Annotations of a record as features of Biopython, and back.

An annotation is `{name, type, start, end, strand, color}`, often with `notes` and `customFields`
(`[{name, value}]`: of a GenBank file the other qualifiers). Positions count from 0 and ends are
exclusive. On a circle an end at or before the start lies beyond the origin; real services write 0
for the end of the sequence (real-services.md, lab, names the fields).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from Bio.SeqFeature import CompoundLocation, Location, SeqFeature, SimpleLocation

from labext.lab.files import keeping, texts
from labext.lab.files.keeping import Fields
from labext.lab.files.locations import insdc, located, pieced

KEPT = "labext"
"""The qualifier with what the others can't hold."""

PIECES = "location"
"""The custom field with the location of a feature in several pieces, or with blurred ends."""

_COLORS = ("ApEinfo_fwdcolor", "ApEinfo_revcolor")
_NAMES = ("label", "gene", "product", "standard_name", "locus_tag", "note")
_KIND = re.compile(r"[A-Za-z0-9_'*-]{1,15}")
_QUALIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,19}")
_RESERVED = {KEPT, "label", "note", *_COLORS}
_LINE = 44


def to_feature(annotation: Mapping[str, Any], length: int, *, circular: bool) -> SeqFeature:
    """Return an annotation as a feature that GenBank can hold.

    Args:
        annotation: as the platform has it.
        length: of the sequence, in bases.
        circular: whether the sequence is.
    """
    kind = annotation.get("type")
    location, qualifiers = _location(annotation, length, circular), _qualifiers(annotation)
    feature = SeqFeature(
        location,
        type=kind if isinstance(kind, str) and _KIND.fullmatch(kind) else "misc_feature",
        qualifiers=qualifiers,
    )
    kept = keeping.keep(_filed(_shown(feature, length, circular=circular)), annotation)
    if kept:
        feature.qualifiers[KEPT] = texts.pieces(keeping.written(kept), _LINE)
    return feature


def to_annotation(feature: SeqFeature, length: int, *, circular: bool) -> Fields:
    """Return a feature as an annotation."""
    plain = _shown(feature, length, circular=circular)
    kept = keeping.read("".join(map(str, feature.qualifiers.get(KEPT, ()))))
    exact = keeping.restored(_filed(plain), kept)
    if "strand" in exact and not (isinstance(kept, dict) and "strand" in kept):
        exact["strand"] = plain["strand"]
    return exact


def _shown(feature: SeqFeature, length: int, *, circular: bool) -> Fields:
    """Return what a feature shows by itself."""
    qualifiers = {name: _values(held) for name, held in feature.qualifiers.items()}
    start, end = located(feature.location, length, circular=circular)
    rest = [
        {"name": name, "value": value}
        for name, values in qualifiers.items()
        if name not in _RESERVED
        for value in values
    ]
    if pieced(feature.location, length, circular=circular):
        rest.append({"name": PIECES, "value": insdc(feature.location)})
    return {
        "name": _name(qualifiers, feature.type),
        "type": feature.type,
        "start": start,
        "end": end,
        "strand": feature.location.strand or 0,
        "color": next((qualifiers[each][0] for each in _COLORS if qualifiers.get(each)), None),
        "notes": "\n".join(qualifiers.get("note", ())),
        "customFields": rest,
    }


def _filed(fields: Fields) -> Fields:
    """Return what a file shows of it: there a feature without a strand is on the first."""
    return fields | {"strand": fields["strand"] or 1}


def _values(held: Any) -> list[str]:
    return [str(each) for each in (held if isinstance(held, (list, tuple)) else [held])]


def _name(qualifiers: Mapping[str, list[str]], kind: str) -> str:
    for qualifier in _NAMES:
        for value in qualifiers.get(qualifier, ()):
            if value.strip():
                return value
    return kind


def _qualifiers(annotation: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the qualifiers of what can be shown by them, each in words that lines can be made of.

    Where they show less than the annotation has, the rest is kept apart.
    """
    label = _words(annotation.get("name")) or "feature"
    qualifiers = {"label": [label]}
    color = _words(annotation.get("color"))
    if color:
        qualifiers |= {name: [color] for name in _COLORS}
    notes = annotation.get("notes")
    remarks = [_words(each) for each in notes.split("\n")] if isinstance(notes, str) else []
    if any(remarks):
        qualifiers["note"] = [remark for remark in remarks if remark]
    for name, value in _custom(annotation):
        if name != PIECES:
            qualifiers.setdefault(name, []).append(value)
    return qualifiers


def _custom(annotation: Mapping[str, Any]) -> list[tuple[str, str]]:
    fields = annotation.get("customFields")
    pairs = [
        (each.get("name"), each.get("value"))
        for each in (fields if isinstance(fields, list) else ())
        if isinstance(each, dict)
    ]
    return [
        (name, _value(name, value))
        for name, value in pairs
        if isinstance(name, str)
        and isinstance(value, str)
        and _QUALIFIER.fullmatch(name)
        and name not in _RESERVED
    ]


def _value(name: str, value: str) -> str:
    if name == PIECES:
        return value
    # A protein is one word, of which readers take out the ends of the lines.
    return _words(value).replace(" ", "") if name == "translation" else _words(value)


def _words(value: Any) -> str:
    return texts.line(value, 32) if isinstance(value, str) else ""


def _location(annotation: Mapping[str, Any], length: int, circular: bool) -> Location:
    start = _position(annotation.get("start"), length, 0)
    end = _position(annotation.get("end"), length, length)
    strand = annotation.get("strand")
    strand = strand if type(strand) is int and strand in (-1, 0, 1) else 0
    for name, value in _custom(annotation):
        if name == PIECES:
            whole = _in_pieces(value, length, circular)
            if (
                whole is not None
                and (whole.strand or 0) == strand
                and located(whole, length, circular=circular) == (start, end)
            ):
                return whole
    if end == 0 or start < end:
        return SimpleLocation(start, end or length, strand=strand)
    if not circular:
        return SimpleLocation(min(end, start - 1), start, strand=strand)
    if start == length:
        return SimpleLocation(0, end, strand=strand)
    parts = [
        SimpleLocation(start, length, strand=strand),
        SimpleLocation(0, end, strand=strand),
    ]
    return CompoundLocation(parts[::-1] if strand == -1 else parts)


def _position(value: Any, length: int, otherwise: int) -> int:
    return min(max(value, 0), length) if type(value) is int else otherwise


def _in_pieces(text: str, length: int, circular: bool) -> Location | None:
    try:
        return Location.fromstring(text, length, circular)
    except Exception:  # noqa: BLE001 - whatever the parser makes of what is no location
        return None
