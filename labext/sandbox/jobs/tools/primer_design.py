"""Design PCR primer pairs (Primer3, using primer3-py)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labext.sandbox.jobs.tools import _inputs, _outputs
from labext.sandbox.jobs.tools.tool import Parameter, Score, Settings, Tool, ToolError

MIN_LENGTH, MAX_LENGTH = 40, 10_000
MAX_PRODUCT_LENGTH = 3000
MAX_SIZE_RANGE = 1000
"""Limit of productMax - productMin in bases; Primer3 compares all pairs in this range."""
_MAX_REPEAT_COPIES = 4
"""Limit of the mean number of copies of a primer-sized word in a sequence."""
MAX_PAIRS = 20
_PRIMER_SIZES = (15, 35)
"""Minimum and maximum primer length; Primer3's thermodynamics end at 36 bases."""


@dataclass(frozen=True)
class _Request:
    sequence: str
    target: tuple[int, int] | None
    """First base (from 0) and length."""
    product: tuple[int, int]
    sizes: tuple[int, int, int]
    tms: tuple[float, float, float]
    gc: tuple[float, float]
    pairs: int


def _read_request(settings: Settings) -> _Request:
    values = TOOL.with_defaults(settings)
    alphabet = _inputs.DNA + "N"
    sequence = _inputs.read_sequence(values, "sequence", alphabet, MIN_LENGTH, MAX_LENGTH)
    _check_repeats(sequence)
    sizes = tuple(
        _inputs.read_integer(values, f"size{end}", *_PRIMER_SIZES) for end in ("Min", "Opt", "Max")
    )
    tms = tuple(_inputs.read_number(values, f"tm{end}", 30, 90) for end in ("Min", "Opt", "Max"))
    gc = tuple(_inputs.read_number(values, f"gc{end}", 0, 100) for end in ("Min", "Max"))
    product = tuple(
        _inputs.read_integer(values, f"product{end}", MIN_LENGTH, MAX_PRODUCT_LENGTH)
        for end in ("Min", "Max")
    )
    for name, limits in (("size", sizes), ("tm", tms)):
        _inputs.check_order(f"{name}Min", limits[0], f"{name}Opt", limits[1])
        _inputs.check_order(f"{name}Opt", limits[1], f"{name}Max", limits[2])
    _inputs.check_order("gcMin", gc[0], "gcMax", gc[1])
    _inputs.check_order("productMin", product[0], "productMax", product[1])
    if product[1] - product[0] > MAX_SIZE_RANGE:
        raise ToolError(
            f"productMax: it exceeds productMin ({product[0]:,}) by more than {MAX_SIZE_RANGE:,}."
        )
    if product[0] > len(sequence):
        raise ToolError(
            f"productMin: {product[0]} is more than the {len(sequence)} bases of the sequence."
        )
    if product[0] < sizes[2]:
        raise ToolError(f"productMin: {product[0]} is less than sizeMax, {sizes[2]}.")
    return _Request(
        sequence,
        _read_target(values, len(sequence), product[1]),
        (product[0], product[1]),
        (sizes[0], sizes[1], sizes[2]),
        (tms[0], tms[1], tms[2]),
        (gc[0], gc[1]),
        _inputs.read_integer(values, "pairs", 1, MAX_PAIRS),
    )


def _check_repeats(sequence: str) -> None:
    """Reject a sequence of repeats, in which no primer site is unique.

    Primer3 would take minutes to compare all pairs of all copies.
    """
    size = _PRIMER_SIZES[0]
    words = [sequence[i : i + size] for i in range(len(sequence) - size + 1)]
    unambiguous = [word for word in words if "N" not in word]
    if len(set(unambiguous)) * _MAX_REPEAT_COPIES < len(unambiguous):
        raise ToolError(
            f"sequence: it is too repetitive: a stretch of {size} bases occurs more than "
            f"{_MAX_REPEAT_COPIES} times on average, and a primer needs a unique position."
        )


def _read_target(settings: Settings, bases: int, max_length: int) -> tuple[int, int] | None:
    names = [name for name in ("targetStart", "targetEnd") if settings.get(name) is not None]
    if not names:
        return None
    if len(names) == 1:
        raise ToolError(f"{names[0]}: the other end of the target is required too.")
    start, end = (_inputs.read_integer(settings, name, 1, bases) for name in names)
    _inputs.check_order("targetStart", start, "targetEnd", end)
    if end - start + 1 > max_length:
        raise ToolError(
            f"targetEnd: the target has {end - start + 1} bases, more than productMax, "
            f"{max_length}."
        )
    return start - 1, end - start + 1


TOOL = Tool(
    name="primer_design",
    display_name="Primer design",
    description=(
        "Designs primer pairs that amplify a part of a DNA sequence, optionally around a "
        "target, and returns their melting temperatures, GC contents, positions and "
        "penalties as CSV, and the primers and products as FASTA. The penalty measures the "
        "deviation from the optimal size and temperature; lower is better. If no pair is "
        "found, the table of considered primers shows why."
    ),
    github="https://github.com/libnano/primer3-py",
    paper="https://doi.org/10.1093/nar/gks596",
    parameters=(
        Parameter(
            "sequence",
            required=True,
            type="string",
            content=("DNA",),
            description=(
                f"DNA (A, C, G, T, N), {MIN_LENGTH} to {MAX_LENGTH:,} bases; primers never "
                "contain N."
            ),
        ),
        Parameter(
            "targetStart",
            description=(
                "First base of the target that every product must contain, from 1; requires "
                "targetEnd. Primers do not overlap the target."
            ),
        ),
        Parameter("targetEnd", description="The last base of the target."),
        Parameter(
            "productMin",
            default=100,
            description=f"The shortest product, bases, {MIN_LENGTH} to {MAX_PRODUCT_LENGTH:,}.",
        ),
        Parameter(
            "productMax",
            default=500,
            description=f"The longest product, bases, at most productMin + {MAX_SIZE_RANGE:,}.",
        ),
        Parameter(
            "sizeMin",
            type="integer",
            default=18,
            description=f"The shortest primer, bases, {_PRIMER_SIZES[0]} to {_PRIMER_SIZES[1]}.",
        ),
        Parameter("sizeOpt", type="integer", default=20, description="The best size, bases."),
        Parameter("sizeMax", type="integer", default=25, description="The longest primer, bases."),
        Parameter(
            "tmMin",
            default=57.0,
            description=(
                "The lowest melting temperature, °C, 30 to 90: by nearest neighbours (SantaLucia "
                "1998) at 50 nM primer, 50 mM monovalent and 1.5 mM divalent salt, 0.6 mM dNTP."
            ),
        ),
        Parameter("tmOpt", default=60.0, description="The best melting temperature, °C."),
        Parameter("tmMax", default=63.0, description="The highest melting temperature, °C."),
        Parameter(
            "gcMin", type="number", default=40.0, description="Minimum GC content in percent."
        ),
        Parameter(
            "gcMax", type="number", default=60.0, description="Maximum GC content in percent."
        ),
        Parameter(
            "pairs",
            type="integer",
            default=5,
            description=f"Maximum number of pairs, 1 to {MAX_PAIRS}, best first.",
        ),
    ),
    requires=("primer3",),
    preload=("primer3.bindings",),
    extra="gpl-tools",
    passes=("products.fasta",),
    passes_content="DNA",
    read=_read_request,
)


def run(settings: Settings, inputs: Mapping[str, Path], out: Path) -> Score:
    """Write `primers.csv` and `considered.csv`; with pairs also `primers.fasta`, `products.fasta`.

    The score: the number of `pairs`; `penalty`, `product_size` in bases, `forward_tm` and
    `reverse_tm` (melting temperatures in °C) of the best pair.
    """
    del inputs
    request = _read_request(settings)
    result = _design(request)
    pairs = [_pair_row(result, index) for index in range(result["PRIMER_PAIR_NUM_RETURNED"])]
    rows = ([pair[column] for column in _COLUMNS] for pair in pairs)
    _outputs.write_csv(out / "primers.csv", _COLUMNS, rows)
    _write_considered(result, out / "considered.csv")
    if not pairs:
        return {"pairs": 0}
    sides = [(pair, side) for pair in pairs for side in ("forward", "reverse")]
    primers = ((f"pair{pair['pair']}_{side}", pair[side]) for pair, side in sides)
    _outputs.write_fasta(out / "primers.fasta", primers)
    _outputs.write_fasta(
        out / "products.fasta", (_product_record(pair, request.sequence) for pair in pairs)
    )
    names = ("penalty", "product_size", "forward_tm", "reverse_tm")
    return {"pairs": len(pairs), **{name: pairs[0][name] for name in names}}


def _product_record(pair: Mapping[str, Any], sequence: str) -> tuple[str, str]:
    start, end, size = (pair[f"product_{name}"] for name in ("start", "end", "size"))
    return f"product{pair['pair']} {start}..{end} {size} bp", sequence[start - 1 : end]


def _design(request: _Request) -> dict[str, Any]:
    from primer3.bindings import design_primers

    template: dict[str, Any] = {"SEQUENCE_TEMPLATE": request.sequence}
    if request.target is not None:
        template["SEQUENCE_TARGET"] = list(request.target)
    primer3_options: dict[str, Any] = {
        "PRIMER_PRODUCT_SIZE_RANGE": [list(request.product)],
        "PRIMER_NUM_RETURN": request.pairs,
        "PRIMER_MIN_GC": request.gc[0],
        "PRIMER_MAX_GC": request.gc[1],
        # Set explicitly, since defaults differ between versions: temperatures and salt correction
        # of SantaLucia 1998.
        "PRIMER_TM_FORMULA": 1,
        "PRIMER_SALT_CORRECTIONS": 1,
        "PRIMER_SALT_MONOVALENT": 50.0,
        "PRIMER_SALT_DIVALENT": 1.5,
        "PRIMER_DNTP_CONC": 0.6,
        "PRIMER_DNA_CONC": 50.0,
        "PRIMER_EXPLAIN_FLAG": 1,
    }
    for end, size, tm in zip(("MIN", "OPT", "MAX"), request.sizes, request.tms, strict=True):
        primer3_options[f"PRIMER_{end}_SIZE"] = size
        primer3_options[f"PRIMER_{end}_TM"] = tm
    try:
        result: dict[str, Any] = design_primers(template, primer3_options)
    except OSError as error:
        raise ToolError(f"sequence: Primer3 rejected it: {' '.join(str(error).split())}") from None
    return result


_PRIMER_COLUMNS = ("", "_start", "_end", "_tm", "_gc", "_hairpin_tm", "_self_dimer_tm", "_penalty")
_COLUMNS = (
    *("pair", "penalty", "product_start", "product_end", "product_size", "dimer_tm"),
    *(f"{side}{suffix}" for side in ("forward", "reverse") for suffix in _PRIMER_COLUMNS),
)


def _pair_row(result: dict[str, Any], index: int) -> dict[str, Any]:
    """Return a table row: positions from 1 on the input strand, temperatures in °C.

    The reverse primer is the sequence to order: the complementary strand from 5' to 3'. A melting
    temperature of 0 means that the hairpin or dimer does not form.
    """
    first, size = result[f"PRIMER_LEFT_{index}"]
    last, reverse_size = result[f"PRIMER_RIGHT_{index}"]
    pair = f"PRIMER_PAIR_{index}"
    row: dict[str, Any] = {
        "pair": index + 1,
        "penalty": round(float(result[f"{pair}_PENALTY"]), 3),
        "product_start": first + 1,
        "product_end": last + 1,
        "product_size": last - first + 1,
        "dimer_tm": _round_celsius(result[f"{pair}_COMPL_ANY_TH"]),
    }
    ends = {"forward": (first + 1, first + size), "reverse": (last - reverse_size + 2, last + 1)}
    for side, primer in (("forward", f"PRIMER_LEFT_{index}"), ("reverse", f"PRIMER_RIGHT_{index}")):
        row[side] = str(result[f"{primer}_SEQUENCE"]).upper()
        row[f"{side}_start"], row[f"{side}_end"] = ends[side]
        row[f"{side}_tm"] = _round_celsius(result[f"{primer}_TM"])
        row[f"{side}_gc"] = round(float(result[f"{primer}_GC_PERCENT"]), 1)
        row[f"{side}_hairpin_tm"] = _round_celsius(result[f"{primer}_HAIRPIN_TH"])
        row[f"{side}_self_dimer_tm"] = _round_celsius(result[f"{primer}_SELF_ANY_TH"])
        row[f"{side}_penalty"] = round(float(result[f"{primer}_PENALTY"]), 3)
    return row


def _round_celsius(value: float) -> float:
    return round(max(0.0, float(value)), 2)


def _write_considered(result: dict[str, Any], path: Path) -> None:
    """Write Primer3's number of candidates by kind and outcome."""
    sides = (("forward", "LEFT"), ("reverse", "RIGHT"), ("pair", "PAIR"))
    rows = (
        (side, match[1], match[2])
        for side, name in sides
        for part in str(result.get(f"PRIMER_{name}_EXPLAIN", "")).split(",")
        if (match := re.fullmatch(r"\s*(.+?)\s+(\d+)\s*", part)) is not None
    )
    _outputs.write_csv(path, ("kind", "outcome", "count"), rows)
