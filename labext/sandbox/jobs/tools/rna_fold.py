"""Fold RNA by minimum free energy and partition function (ViennaRNA)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from labext.sandbox.jobs.tools import _inputs, _outputs
from labext.sandbox.jobs.tools.tool import Parameter, Score, Settings, Tool

_STEP = 15.0
"""Distance of neighbouring bases in ViennaRNA's layouts."""


def base_pairs(structure: str) -> Iterator[tuple[int, int]]:
    """Yield the base pairs `(i, j)`, from 1, of a structure in dot-bracket notation."""
    opened: list[int] = []
    for position, symbol in enumerate(structure, 1):
        if symbol == "(":
            opened.append(position)
        elif symbol == ")":
            yield opened.pop(), position


def draw_structure(
    sequence: str,
    structure: str,
    points: Sequence[tuple[float, float]],
    probabilities: Mapping[tuple[int, int], float],
) -> str:
    """Draw a secondary structure as SVG, with bases colored by the probability of their state.

    The structure is in dot-bracket notation; `probabilities` are those of the base pairs `(i, j)`,
    i < j, from 1; 0 if omitted.
    """
    pairs = list(base_pairs(structure))
    paired = [0.0] * (len(sequence) + 1)
    for (i, j), probability in probabilities.items():
        paired[i] += probability
        paired[j] += probability
    confidence = [1 - p for p in paired]
    for i, j in pairs:
        confidence[i] = confidence[j] = probabilities.get((i, j), 0.0)
    left = min(x for x, _ in points) - _STEP
    top = min(y for _, y in points) - _STEP
    shifted = [(x - left, y - top) for x, y in points]
    width, height = (max(axis) + _STEP for axis in zip(*shifted, strict=True))
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in shifted)
    body = [f'<polyline points="{path}" fill="none" stroke="#999999" stroke-width="1.5"/>']
    for i, j in pairs:
        (x1, y1), (x2, y2) = shifted[i - 1], shifted[j - 1]
        body.append(
            f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="#555555" stroke-width="2"/>'
        )
    for base, (x, y), probability in zip(sequence, shifted, confidence[1:], strict=True):
        body.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{_probability_color(probability)}" '
            f'stroke="#555555" stroke-width="0.5"/>'
            f'<text x="{x:.1f}" y="{y + 3:.1f}" font-family="sans-serif" font-size="8" '
            f'text-anchor="middle" fill="#222222">{base}</text>'
        )
    return _outputs.svg_document(width, height, body, scale=1.5)


def _probability_color(probability: float) -> str:
    """Return a color from white (0) to orange (1)."""
    share = min(max(probability, 0.0), 1.0)
    channels = (round(255 + (end - 255) * share) for end in (244, 165, 96))
    return "#" + "".join(f"{channel:02x}" for channel in channels)


MAX_LENGTH = 1000
MIN_PROBABILITY = 0.001


@dataclass(frozen=True)
class _Request:
    sequence: str
    temperature: float
    lonely_pairs: bool


def _read_request(settings: Settings) -> _Request:
    values = TOOL.with_defaults(settings)
    alphabet = _inputs.Alphabet("ACGUTN", "RNA base")
    sequence = _inputs.read_sequence(values, "sequence", alphabet, 1, MAX_LENGTH).replace("T", "U")
    temperature = _inputs.read_number(values, "temperature", 0, 100)
    return _Request(sequence, temperature, _inputs.read_flag(values, "lonelyPairs"))


TOOL = Tool(
    name="rna_fold",
    display_name="RNA secondary structure",
    description=(
        "Predicts the secondary structure of an RNA: the minimum free energy (MFE) "
        "structure, the centroid of the ensemble and the base-pair probabilities, with the "
        "Turner 2004 energies. Returns dot-bracket text, a CSV of the pairs and a drawing as "
        "SVG. Energies are in kcal/mol; frequency is the fraction of the MFE structure in "
        "the ensemble, diversity the mean base-pair distance between its structures."
    ),
    github="https://github.com/ViennaRNA/ViennaRNA",
    paper="https://doi.org/10.1186/1748-7188-6-26",
    parameters=(
        Parameter(
            "sequence",
            required=True,
            type="string",
            content=("RNA", "DNA"),
            description=f"RNA, at most {MAX_LENGTH:,} bases: A, C, G, U (or T), N.",
        ),
        Parameter(
            "temperature",
            type="number",
            default=37.0,
            description="Temperature in degrees Celsius, 0 to 100.",
        ),
        Parameter(
            "lonelyPairs",
            default=True,
            description="Whether helices of a single base pair are allowed.",
        ),
    ),
    requires=("RNA",),
    preload=("RNA",),
    extra="rna",
    passes=("structure.dbn",),
    figures=("pairs.csv",),
    passes_content="RNA fold",
    read=_read_request,
)


def run(settings: Settings, inputs: Mapping[str, Path], out: Path) -> Score:
    """Write `structure.dbn`, `pairs.csv` (probabilities from 0.001) and `structure.svg`.

    The score: `mfe`, `ensemble` (free energy of the ensemble) and `centroid` (energy of the
    centroid) in kcal/mol; `frequency` of the MFE structure in the ensemble, 0 to 1; `diversity`,
    the mean base-pair distance in the ensemble; `pairs`, the number of pairs of the MFE structure.
    """
    del inputs
    request = _read_request(settings)

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
        if probabilities[i][j] >= MIN_PROBABILITY
    ]
    (out / "structure.dbn").write_text(
        f">mfe {mfe:.2f} kcal/mol\n{request.sequence}\n{best}\n"
        f">centroid {energy:.2f} kcal/mol\n{request.sequence}\n{centroid}\n",
        encoding="utf-8",
    )
    structures = dict(base_pairs(best)), dict(base_pairs(centroid))
    rows = (
        (i, j, f"{probability:.4f}", *(int(pairs.get(i) == j) for pairs in structures))
        for i, j, probability in likely
    )
    columns = ("i", "j", "probability", "in_mfe", "in_centroid")
    _outputs.write_csv(out / "pairs.csv", columns, rows)
    layout = RNA.get_xy_coordinates(best)
    points = [(layout.get(i).X, layout.get(i).Y) for i in range(length)]
    if length == 1:  # ViennaRNA returns NaN
        points = [(0.0, 0.0)]
    drawn = {(i, j): probability for i, j, probability in likely}
    drawing = draw_structure(request.sequence, best, points, drawn)
    (out / "structure.svg").write_text(drawing, encoding="utf-8")
    return {
        "mfe": round(mfe, 2),
        "ensemble": round(ensemble, 2) + 0.0,  # no -0.0
        "centroid": round(energy, 2),
        "frequency": float(f"{fold.pr_structure(best):.4g}"),
        "diversity": round(fold.mean_bp_distance(), 2),
        "pairs": best.count("("),
        "length": length,
    }
