"""Align two sequences with affine gap costs (Biopython PairwiseAligner)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from labext.sandbox.jobs.tools import _inputs, _outputs
from labext.sandbox.jobs.tools.tool import Parameter, Score, Settings, Tool, ToolError

MAX_LENGTH = 5000
MATRICES = {
    "DNA": ("NUC.4.4",),
    "protein": ("BLOSUM62", "BLOSUM45", "BLOSUM50", "BLOSUM80", "PAM30", "PAM250"),
}
"""Substitution matrices by molecule; the first is the default."""

_ALPHABETS = _inputs.molecule_alphabets(_inputs.DNA + "N")


@dataclass(frozen=True)
class _Request:
    first: str
    second: str
    matrix: str
    mode: str
    gap_open: float
    gap_extend: float


def _read_request(settings: Settings) -> _Request:
    values = TOOL.with_defaults(settings)
    molecule = _inputs.read_choice(values, "molecule", tuple(MATRICES))
    first, second = (
        _inputs.read_sequence(values, name, _ALPHABETS[molecule], 1, MAX_LENGTH)
        for name in ("sequence1", "sequence2")
    )
    matrix = str(values.get("matrix", MATRICES[molecule][0]))
    if matrix not in MATRICES[molecule]:
        raise ToolError(
            f"matrix: {_inputs.quote_value(matrix)} can't be used for {molecule}; choose one of "
            f"{', '.join(MATRICES[molecule])}."
        )
    gap_open = _inputs.read_number(values, "gapOpen", 0, 100)
    gap_extend = _inputs.read_number(values, "gapExtend", 0, 100)
    _inputs.check_order("gapExtend", gap_extend, "gapOpen", gap_open)
    mode = _inputs.read_choice(values, "mode", ("global", "local"))
    return _Request(first, second, matrix, mode, gap_open, gap_extend)


TOOL = Tool(
    name="align_pair",
    display_name="Pairwise alignment",
    description=(
        "Aligns two DNA or protein sequences, globally (Needleman-Wunsch) or locally "
        "(Smith-Waterman), with affine gap costs (Gotoh). A gap of n letters costs gapOpen + "
        "(n - 1) * gapExtend, also at the ends. Returns the alignment as text and FASTA; "
        "identity and similarity are percentages of its columns, in which N and X match nothing."
    ),
    github="https://github.com/biopython/biopython",
    paper="https://doi.org/10.1016/0022-2836(82)90398-9",
    parameters=(
        Parameter(
            "sequence1",
            required=True,
            type="string",
            content=("{molecule}",),
            description=f"The first sequence, at most {MAX_LENGTH:,} letters.",
        ),
        Parameter(
            "sequence2",
            required=True,
            type="string",
            content=("{molecule}",),
            description=f"The second sequence, at most {MAX_LENGTH:,} letters.",
        ),
        Parameter(
            "molecule",
            default="DNA",
            options=tuple(MATRICES),
            description="DNA: A, C, G, T, N; protein: the 20 amino acids, B, Z, X.",
        ),
        Parameter("mode", default="global", options=("global", "local")),
        Parameter(
            "matrix",
            options=tuple(name for names in MATRICES.values() for name in names),
            description="Substitution scores; by default NUC.4.4 for DNA and BLOSUM62 for protein.",
        ),
        Parameter(
            "gapOpen",
            type="number",
            default=10.0,
            description="Cost of the first letter of a gap, 0 to 100.",
        ),
        Parameter(
            "gapExtend",
            type="number",
            default=0.5,
            description="Cost of each further letter of a gap, 0 to gapOpen.",
        ),
    ),
    requires=("Bio",),
    preload=("Bio.Align", "Bio.Align.substitution_matrices"),
    passes=("alignment.fasta",),
    passes_content="{molecule} alignment",
    read=_read_request,
)


def run(settings: Settings, inputs: Mapping[str, Path], out: Path) -> Score:
    """Write `alignment.txt` and `alignment.fasta`.

    The score: `identity` and `similarity` in percent of all columns, including those with gaps;
    `gaps`, the number of columns with a gap. A local alignment without a positive score has no
    columns.
    """
    del inputs
    request = _read_request(settings)
    first, second, score, starts = _align(request)
    columns = list(zip(first, second, strict=True))
    marks = _match_line(columns, request.matrix)
    identical = marks.count("|")
    similar = identical + marks.count(":")
    _outputs.write_fasta(out / "alignment.fasta", [("sequence1", first), ("sequence2", second)])
    (out / "alignment.txt").write_text(
        f"{request.mode} alignment, {request.matrix}, gapOpen {request.gap_open:g}, "
        f"gapExtend {request.gap_extend:g}\n"
        f"score {score:g}, identity {identical}/{len(columns)}\n\n"
        + _format_blocks(first, marks, second, starts),
        encoding="utf-8",
    )
    return {
        "score": round(score, 3),
        "identity": round(100 * identical / len(columns), 2) if columns else 0.0,
        "similarity": round(100 * similar / len(columns), 2) if columns else 0.0,
        "gaps": sum("-" in column for column in columns),
        "columns": len(columns),
    }


def _align(request: _Request) -> tuple[str, str, float, tuple[int, int]]:
    """Return the aligned sequences, the score, and the positions of the first letters, from 1."""
    from Bio.Align import PairwiseAligner, substitution_matrices

    aligner = PairwiseAligner(mode=request.mode)
    aligner.substitution_matrix = substitution_matrices.load(request.matrix)
    aligner.open_gap_score = -request.gap_open
    aligner.extend_gap_score = -request.gap_extend
    best = next(iter(aligner.align(request.first, request.second)), None)
    if best is None:
        return "", "", 0.0, (1, 1)
    starts = (int(best.coordinates[0][0]) + 1, int(best.coordinates[1][0]) + 1)
    return str(best[0]), str(best[1]), float(best.score) + 0.0, starts  # no -0.0


def _match_line(columns: list[tuple[str, str]], matrix: str) -> str:
    """Return one mark per column: `|` identical, `:` positive score, `.` other, blank for a gap.

    N and X have negative scores, also with themselves: they stand for different letters.
    """
    from Bio.Align import substitution_matrices

    scores = substitution_matrices.load(matrix)
    return "".join(
        " " if "-" in (a, b) else "." if scores[a, b] <= 0 else "|" if a == b else ":"
        for a, b in columns
    )


def _format_blocks(first: str, marks: str, second: str, starts: tuple[int, int]) -> str:
    """Format blocks of 60 columns with the positions of the first and last letters."""
    blocks, positions = [], [starts[0] - 1, starts[1] - 1]
    for i in range(0, len(marks), 60):
        rows = []
        for index, letters in enumerate((first, second)):
            segment = letters[i : i + 60]
            end = positions[index] + len(segment.replace("-", ""))
            start = min(positions[index] + 1, end)
            positions[index] = end
            rows.append(f"sequence{index + 1} {start:>6} {segment} {end}\n")
        blocks.append(f"{rows[0]}{'':17}{marks[i : i + 60]}\n{rows[1]}")
    return "\n".join(blocks)
