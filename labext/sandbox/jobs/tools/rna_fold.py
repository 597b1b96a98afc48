"""Folds RNA by minimum free energy and by its partition function (ViennaRNA)."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from labext.sandbox.jobs.tool import Parameter, Score, Settings, Tool
from labext.sandbox.jobs.tools import _letters, _rna_drawing, _values

LONGEST = 1000
LEAST_PROBABILITY = 0.001


@dataclass(frozen=True)
class _Request:
    sequence: str
    temperature: float
    lonely_pairs: bool


def _read(settings: Settings) -> _Request:
    values = TOOL.with_defaults(settings)
    sequence = _letters.sequence(
        values, "sequence", "ACGUTN", "RNA base", shortest=1, longest=LONGEST
    ).replace("T", "U")
    return _Request(
        sequence,
        _values.number(values, "temperature", 0, 100),
        _values.flag(values, "lonelyPairs"),
    )


TOOL = Tool(
    name="rna_fold",
    display_name="RNA secondary structure",
    description=(
        "Folds an RNA: the structure of minimum free energy (MFE), the centroid of the ensemble, "
        "and the probability of every base pair, by the nearest-neighbour energies of Turner 2004. "
        "Gives dot-bracket text, a CSV of the pairs and a drawing as SVG. Energies are in "
        "kcal/mol; frequency is the share of the MFE structure in the ensemble, diversity the "
        "mean distance of two of its structures in base pairs."
    ),
    github="https://github.com/ViennaRNA/ViennaRNA",
    paper="https://doi.org/10.1186/1748-7188-6-26",
    parameters=(
        Parameter(
            "sequence",
            required=True,
            type="string",
            content=("RNA", "DNA"),
            description=f"RNA, at most {LONGEST:,} bases: A, C, G, U (or T), N.",
        ),
        Parameter(
            "temperature",
            type="number",
            default=37.0,
            description="Degrees Celsius, 0 to 100.",
        ),
        Parameter(
            "lonelyPairs",
            default=True,
            description="true or false: whether a helix of a single pair may form.",
        ),
    ),
    requires=("RNA",),
    preload=("RNA",),
    extra="rna",
    passes=("structure.dbn",),
    passes_content="RNA fold",
    check=_values.fault(_read),
)


def run(settings: Settings, inputs: Mapping[str, Path], out: Path) -> Score:
    """Write `structure.dbn`, `pairs.csv` (probability of 0.001 and more) and `structure.svg`.

    The score: `mfe`, `ensemble` (the ensemble's free energy) and `centroid` (the centroid's energy)
    in kcal/mol; `frequency` of the MFE structure in the ensemble, 0 to 1; `diversity`, the mean
    base-pair distance in the ensemble; `pairs` of the MFE structure.
    """
    del inputs
    request = _read(settings)

    import RNA

    model = RNA.md()
    model.temperature = request.temperature
    model.noLP = int(not request.lonely_pairs)
    fold = RNA.fold_compound(request.sequence, model)
    best, mfe = fold.mfe()
    fold.exp_params_rescale(mfe)
    _consensus, ensemble = fold.pf()
    centroid, _distance = fold.centroid()
    energy = fold.eval_structure(centroid)
    probabilities = fold.bpp()
    length = len(request.sequence)
    likely = [
        (i, j, probabilities[i][j])
        for i in range(1, length + 1)
        for j in range(i + 1, length + 1)
        if probabilities[i][j] >= LEAST_PROBABILITY
    ]
    (out / "structure.dbn").write_text(
        f">mfe {mfe:.2f} kcal/mol\n{request.sequence}\n{best}\n"
        f">centroid {energy:.2f} kcal/mol\n{request.sequence}\n{centroid}\n",
        encoding="utf-8",
    )
    with (out / "pairs.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["i", "j", "probability", "in_mfe", "in_centroid"])
        mates = dict(_rna_drawing.pairs(best)), dict(_rna_drawing.pairs(centroid))
        for i, j, probability in likely:
            shared = [int(pairs.get(i) == j) for pairs in mates]
            table.writerow([i, j, f"{probability:.4f}", *shared])
    points = RNA.get_xy_coordinates(best)
    (out / "structure.svg").write_text(
        _rna_drawing.drawing(
            request.sequence,
            best,
            [(points.get(i).X, points.get(i).Y) for i in range(length)],
            {(i, j): probability for i, j, probability in likely},
        ),
        encoding="utf-8",
    )
    return {
        "mfe": round(mfe, 2),
        "ensemble": round(ensemble, 2),
        "centroid": round(energy, 2),
        "frequency": float(f"{fold.pr_structure(best):.4g}"),
        "diversity": round(fold.mean_bp_distance(), 2),
        "pairs": best.count("("),
        "length": length,
    }
