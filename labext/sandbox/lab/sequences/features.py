"""Convert GenBank features to annotations, translations and primers."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from labext.genbank import format_location
from labext.sandbox.lab.tables import Record

DEFAULT_COLOR = "#B4ABAC"
COLORS = {
    "CDS": "#31849B", "gene": "#9EAFD2", "exon": "#84B0DC", "intron": "#C6C9D1",
    "mRNA": "#7EFF74", "prim_transcript": "#7EFF74", "promoter": "#85DAE9",
    "terminator": "#F58A5E", "rep_origin": "#FAAC61", "primer_bind": "#FF9CCD",
    "repeat_region": "#C7B0E3", "TATA_signal": "#FFEF86", "polyA_signal": "#FF9CCD",
    "polyA_site": "#FF9CCD", "variation": "#F8D3A9",
}  # fmt: skip
"""Colors of feature types; `DEFAULT_COLOR` for the rest."""

_GENETIC_CODES = {
    1: "STANDARD",
    2: "VERTEBRATE_MITOCHONDRIAL",
    3: "YEAST_MITOCHONDRIAL",
    4: "MOLD_PROTOZOAN_COELENTERATE_MITOCHONDRIAL_MYCOPLASMA_SPIROPLASMA",
    5: "INVERTEBRATE_MITOCHONDRIAL",
    6: "CILIATE_DASYCLADACEAN_HEXAMITA_NUCLEAR",
    9: "ECHINODERM_FLATWORM_MITOCHONDRIAL",
    10: "EUPLOTID_NUCLEAR",
    11: "BACTERIAL_ARCHAEAL_PLANT_PLASTID",
    12: "ALTERNATIVE_YEAST_NUCLEAR",
    13: "ASCIDIAN_MITOCHONDRIAL",
    14: "ALTERNATIVE_FLATWORM_MITOCHONDRIAL",
    16: "CHLOROPHYCEAN_MITOCHONDRIAL",
    21: "TREMATODE_MITOCHONDRIAL",
    22: "SCENEDESMUS_OBLIQUUS_MITOCHONDRIAL",
    23: "THRAUSTOCHYTRIUM_MITOCHONDRIAL",
    24: "RHABDOPLEURIDAE_MITOCHONDRIAL",
    25: "CANDIDATE_DIVISION_SR1_GRACILIBACTERIA",
    26: "PACHYSOLEN_TANNOPHILUS_NUCLEAR",
    29: "MESODINIUM_NUCLEAR",
    30: "PERITRICH_NUCLEAR",
    33: "CEPHALODISCIDAE_MITOCHONDRIAL_UAA_TYR",
}
"""Names of the genetic codes in the API, by NCBI table number."""

_NAME_QUALIFIERS = ("label", "gene", "product", "standard_name", "locus_tag", "note")
_MAX_NAME_LENGTH = 60
_COLOR_QUALIFIERS = ("ApEinfo_fwdcolor", "ApEinfo_revcolor")
_HEX_COLOR = re.compile("#[0-9A-Fa-f]{6}")
_OWN_QUALIFIER = "labext"
"""The qualifier for values that exported files can't represent otherwise."""

LOCATION_FIELD = "location"
"""The custom field with the location of a feature that has several parts or inexact ends."""


@dataclass(frozen=True)
class SequenceFeatures:
    """The features of a sequence; `omitted` counts those without a valid location in it."""

    annotations: list[Record] = field(default_factory=list)
    translations: list[Record] = field(default_factory=list)
    primers: list[Record] = field(default_factory=list)
    omitted: int = 0


@dataclass(frozen=True)
class FeatureLocation:
    """Location of a feature and of its parts, the regions."""

    start: int
    end: int
    strand: int
    regions: tuple[tuple[int, int], ...]


def extract_features(record: Any) -> SequenceFeatures:
    """Extract the features of a Biopython `SeqRecord`."""
    features, omitted = SequenceFeatures(), 0
    for feature in record.features:
        location = _location(feature, record)
        if feature.type == "source":
            continue
        if location is None:
            omitted += 1
            continue
        annotation = _build_annotation(feature, location, len(record.seq))
        features.annotations.append(annotation)
        if feature.type == "CDS" and _is_translated(feature):
            skipped = _qualifier_number(feature.qualifiers, "codon_start", (1, 2, 3)) - 1
            coding = _place(_skip_bases(location, skipped), location.strand, record)
            features.translations.append(
                _build_translation(feature, coding, annotation, record.seq, skipped)
            )
        if feature.type == "primer_bind" and location.strand:
            features.primers.append(_build_primer(feature, location, annotation, record.seq))
    return replace(features, omitted=omitted)


def _is_translated(feature: Any) -> bool:
    """Return whether a coding feature is no pseudogene and lies on one strand of this record."""
    on_one_strand = feature.location.strand and not any(p.ref for p in feature.location.parts)
    return bool(on_one_strand) and not {"pseudo", "pseudogene"} & {*feature.qualifiers}


def _location(feature: Any, record: Any) -> FeatureLocation | None:
    """Return the location of the parts in this record; None if it is unknown or has none."""
    location = feature.location
    local = [] if location is None else [part for part in location.parts if not part.ref]
    if not local:
        return None
    strand = location.strand or 0
    # Biopython lists the parts in reading direction.
    parts = local[::-1] if strand == -1 else local
    try:
        regions = [
            _build_region(int(part.start), int(part.end), record, feature.type) for part in parts
        ]
    except TypeError:
        return None
    return _place(regions, strand, record)


def _place(regions: Sequence[tuple[int, int]], strand: int, record: Any) -> FeatureLocation:
    """Return the location of regions; one across the origin of a circle ends before it starts."""
    start, end = regions[0][0], regions[-1][1]
    if not (_is_circular(record) and _joins_at_origin(regions, len(record.seq)) and end <= start):
        start, end = min(a for a, _ in regions), max(b for _, b in regions)
    return FeatureLocation(start, end, strand, tuple(regions))


def _is_circular(record: Any) -> bool:
    return bool(record.annotations.get("topology") == "circular")


def _skip_bases(location: FeatureLocation, count: int) -> Sequence[tuple[int, int]]:
    """Return the regions without the first bases as read; all of them if nothing is left."""
    step = -1 if location.strand == -1 else 1
    regions = []
    for start, end in location.regions[::step]:
        skipped = min(count, end - start)
        count -= skipped
        if skipped < end - start:
            regions.append((start + skipped, end) if step == 1 else (start, end - skipped))
    return regions[::step] or location.regions


def _build_region(start: int, end: int, record: Any, kind: str) -> tuple[int, int]:
    length = len(record.seq)
    if start < 0 or end > length:
        raise ValueError(f"a feature ({kind}) lies outside the sequence of {length:,} bases")
    if start == end:  # a site between two bases: mark both
        if start in (0, length) and _is_circular(record):
            return length - 1, 1
        return max(0, start - 1), min(length, end + 1)
    return start, end


def _joins_at_origin(regions: Sequence[tuple[int, int]], length: int) -> bool:
    return any(before[1] == length and after[0] == 0 for before, after in pairwise(regions))


def _build_annotation(feature: Any, location: FeatureLocation, length: int) -> Record:
    annotation = {
        "name": _feature_name(feature),
        "type": feature.type,
        "start": location.start,
        "end": location.end,
        "strand": location.strand,
        "color": _feature_color(feature),
        **_notes(feature.qualifiers),
    }
    if not _is_described(feature.location, location):
        text = format_location(feature.location, length)
        annotation["customFields"].append({"name": LOCATION_FIELD, "value": text})
    return annotation


def _is_described(written: Any, location: FeatureLocation) -> bool:
    """Return whether start, end and strand describe the location that is written in the file."""
    parts = written.parts
    if any(part.ref for part in parts):
        return True  # the parts in this record
    across_origin = len(parts) == 2 and location.end <= location.start and location.strand != 0
    is_range = len(parts) == 1 and parts[0].start != parts[0].end
    return _is_exact(written) and (across_origin or is_range)


def _is_exact(written: Any) -> bool:
    from Bio.SeqFeature import ExactPosition

    ends = (end for part in written.parts for end in (part.start, part.end))
    return all(isinstance(end, ExactPosition) for end in ends)


def _feature_color(feature: Any) -> str:
    """Return the color that ApE and labext write to files, or that of the feature's type."""
    values = (str(v) for name in _COLOR_QUALIFIERS for v in feature.qualifiers.get(name, ()))
    colors = (value.upper() for value in values if _HEX_COLOR.fullmatch(value))
    return next(colors, COLORS.get(feature.type, DEFAULT_COLOR))


def _feature_name(feature: Any) -> str:
    for qualifier in _NAME_QUALIFIERS:
        text = " ".join(" ".join(map(str, feature.qualifiers.get(qualifier, ()))).split())
        if qualifier == "label" and " " not in text:
            text = text.replace("\\", " ")  # Vector NTI writes spaces as backslashes
        if text:
            return text if len(text) <= _MAX_NAME_LENGTH else f"{text[: _MAX_NAME_LENGTH - 1]}…"
    return str(feature.type)


def _notes(qualifiers: Mapping[str, Sequence[Any]]) -> Record:
    """Return the notes and all other qualifiers in the format of the real API."""
    custom_fields = [
        {"name": name, "value": str(value)}
        for name, values in qualifiers.items()
        for value in values
        if name not in ("note", "translation", _OWN_QUALIFIER)
        and not (name in _COLOR_QUALIFIERS and _HEX_COLOR.fullmatch(str(value)))
    ]
    return {"notes": "; ".join(map(str, qualifiers.get("note", ()))), "customFields": custom_fields}


def _build_translation(
    feature: Any, location: FeatureLocation, annotation: Record, bases: Any, skipped: int
) -> Record:
    """Build the translation from the protein in the record, or by translating the bases.

    `location` begins with the first whole codon, after the `skipped` bases of the feature.
    """
    table = _qualifier_number(feature.qualifiers, "transl_table", _GENETIC_CODES)
    coding = feature.extract(bases)[skipped:]
    codons_end = len(coding) // 3 * 3
    translated = str(coding[:codons_end].translate(table=table)).removesuffix("*")
    recorded = feature.qualifiers.get("translation")
    if recorded:
        amino_acids = "".join(recorded[0].split())
    elif not skipped and _is_exact(feature.location):
        amino_acids = _complete_protein(coding, table) or translated
    else:
        amino_acids = translated
    return {
        "name": annotation["name"],
        "start": location.start,
        "end": location.end,
        "strand": location.strand,
        "regions": [{"start": start, "end": end} for start, end in location.regions],
        "aminoAcids": amino_acids,
        "geneticCode": _GENETIC_CODES[table],
        "coerceStartCodonToMethionine": amino_acids[:1] == "M" and translated[:1] != "M",
        "color": annotation["color"],
        "notes": annotation["notes"],
        "customFields": annotation["customFields"],
    }


def _complete_protein(coding: Any, table: int) -> str | None:
    """Return the protein, which starts with methionine; None if the bases are no complete gene."""
    from Bio.Data.CodonTable import TranslationError

    try:
        return str(coding.translate(table=table, cds=True))
    except TranslationError:
        return None


def _qualifier_number(
    qualifiers: Mapping[str, Sequence[Any]], name: str, allowed: Collection[int]
) -> int:
    """Return the number of a qualifier; 1, the format's default, if it is missing or invalid."""
    text = str(qualifiers.get(name, "1")[0])
    return int(text) if text in map(str, allowed) else 1


def _build_primer(
    feature: Any, location: FeatureLocation, annotation: Record, bases: Any
) -> Record:
    """Build the primer; `bindPosition` is the position of its 3' end."""
    last = location.regions[-1][1] - 1
    return {
        "name": annotation["name"],
        "start": location.start,
        "end": location.end,
        "strand": location.strand,
        "bases": str(feature.extract(bases)),
        "bindPosition": last if location.strand == 1 else location.start,
        "overhangLength": 0,
        "oligoId": None,
        "color": annotation["color"],
    }
