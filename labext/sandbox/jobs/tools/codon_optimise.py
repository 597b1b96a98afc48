"""Writes a protein in the codons that an organism uses most, without the sites to be avoided."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import log
from pathlib import Path

from labext.sandbox.jobs.tool import Parameter, Score, Settings, Tool, ToolError
from labext.sandbox.jobs.tools import _codon_path, _codons, _enzymes, _letters, _values

LONGEST = 2000
MOST_ENZYMES = 20
_STOP_WEIGHT = 1e-6
"""How much the choice of the stop codon counts against that of another codon: it is no part of the
adaptation index, and decides only where that is the same."""
_STEEPEST, _HALVINGS = 30.0, 14
"""How far and how finely the worth of a G or C is tried out to meet the bounds of the GC content:
at the first even the rarest codon is taken for one G or C more."""


@dataclass(frozen=True)
class _Request:
    before: list[str]
    """The codons that were sent; none where it was a protein."""
    protein: str
    host: str
    avoid: dict[str, str]
    """Enzyme to its site, in the IUPAC letters."""
    longest_run: int | None
    gc: tuple[float, float]


def _read(settings: Settings) -> _Request:
    values = TOOL.with_defaults(settings)
    molecule = _values.choice(values, "molecule", ("protein", "DNA"))
    before: list[str] = []
    if molecule == "DNA":
        before = _coding(values)
        protein = _codons.translated(before)
    else:
        protein = _letters.sequence(
            values, "sequence", _letters.PROTEIN + "*", "amino acid", shortest=1, longest=LONGEST
        )
    if "*" in protein[:-1]:
        raise ToolError(
            f"sequence: a stop stands at {protein.index('*') + 1}, before the end of the protein."
        )
    if protein == "*":
        raise ToolError("sequence: it is a stop alone.")
    avoid: dict[str, str] = {}
    if values.get("avoid") not in (None, "", []):
        found = _enzymes.enzymes(values, "avoid", MOST_ENZYMES)
        avoid = {str(enzyme): str(enzyme.site) for enzyme in found}
    run = values.get("longestRun")
    request = _Request(
        before,
        protein,
        _values.choice(values, "host", tuple(_codons.HOSTS)),
        avoid,
        None if run is None else _values.integer(values, "longestRun", 3, 20),
        (_values.number(values, "gcMin", 0, 100), _values.number(values, "gcMax", 0, 100)),
    )
    if request.gc[0] > request.gc[1]:
        raise ToolError(f"gcMin: {request.gc[0]:g} is more than gcMax, {request.gc[1]:g}.")
    return request


def _coding(settings: Settings) -> list[str]:
    dna = _letters.sequence(
        settings, "sequence", _letters.DNA, "DNA base", shortest=3, longest=3 * LONGEST
    )
    if len(dna) % 3:
        raise ToolError(f"sequence: its {len(dna)} bases are no whole number of codons.")
    return [dna[i : i + 3] for i in range(0, len(dna), 3)]


TOOL = Tool(
    name="codon_optimise",
    display_name="Codon optimisation",
    description=(
        "Writes a protein, or a coding sequence anew, in the codons that an organism uses most, "
        "and gives the DNA as FASTA and its codons as CSV. Of all DNA for the same protein that "
        "keeps clear of the sites and runs to be avoided, it is the one with the largest codon "
        "adaptation index. The index is counted against all genes of the organism in the Codon "
        "Usage Database, not against a few that are read much."
    ),
    github="https://github.com/biopython/biopython",
    paper="https://doi.org/10.1093/nar/15.3.1281",
    parameters=(
        Parameter(
            "sequence",
            required=True,
            type="string",
            content=("{molecule}",),
            description=(
                f"A protein in one-letter code, 1 to {LONGEST:,} amino acids, * at its end for a "
                "stop codon; or the DNA of a coding sequence from its first codon."
            ),
        ),
        Parameter(
            "molecule",
            default="protein",
            options=("protein", "DNA"),
            description=(
                "What sequence is. The first codon of DNA is kept, as GTG and TTG can start a "
                "gene too."
            ),
        ),
        Parameter(
            "host",
            default="e_coli",
            options=tuple(_codons.HOSTS),
            description="; ".join(f"{name}: {what}" for name, what in _codons.HOSTS.items()) + ".",
        ),
        Parameter(
            "avoid",
            description=(
                "Enzymes whose sites must not occur on either strand, as in REBASE, such as EcoRI: "
                f"a list, or a text parted by commas; {MOST_ENZYMES} at most."
            ),
        ),
        Parameter(
            "longestRun",
            type="integer",
            description="The most equal bases in a row, 3 to 20; any number where it is not sent.",
        ),
        Parameter("gcMin", type="number", default=0, description="The least GC content, percent."),
        Parameter(
            "gcMax",
            type="number",
            default=100,
            description="The largest GC content, percent; the index falls as far as this asks.",
        ),
    ),
    requires=("Bio",),
    preload=("labext.sandbox.jobs.tools._enzyme_table",),
    passes=("optimised.fasta",),
    passes_content="DNA",
    check=_values.fault(_read),
)


def run(settings: Settings, inputs: Mapping[str, Path], out: Path) -> Score:
    """Write `optimised.fasta` and `codons.csv`.

    The score: `cai`, the codon adaptation index (0 to 1), and `gc`, percent of the bases, of what
    was written; where DNA was sent also `cai_before`, `gc_before` and how many codons `changed`.
    """
    del inputs
    request = _read(settings)
    usage = _codons.usage(request.host)
    codons = _optimised(request, usage)
    dna = "".join(codons)
    with (out / "optimised.fasta").open("w", encoding="utf-8") as file:
        file.write(f">optimised for {request.host}, {len(dna)} bp\n")
        file.writelines(f"{dna[i : i + 60]}\n" for i in range(0, len(dna), 60))
    with (out / "codons.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["place", "amino_acid", "codon", "share", "codon_before", "share_before"])
        for place, codon in enumerate(codons):
            old = request.before[place] if request.before else ""
            share = usage.share[old] if old else ""
            row = [place + 1, _codons.CODE[codon], codon, usage.share[codon], old, share]
            table.writerow(row)
    score: Score = {
        "codons": len(codons),
        "cai": round(usage.adaptation(codons), 4),
        "gc": round(_gc(codons), 2),
    }
    if request.before:
        score["cai_before"] = round(usage.adaptation(request.before), 4)
        score["gc_before"] = round(_gc(request.before), 2)
        score["changed"] = sum(a != b for a, b in zip(codons, request.before, strict=True))
    return score


def _optimised(request: _Request, usage: _codons.Usage) -> list[str]:
    # A site that may read in two ways has a bar between them.
    sites = [site for text in request.avoid.values() for site in text.split("|")]
    patterns = [strand for site in sites for strand in _codon_path.both_strands(site)]
    if request.longest_run is not None:
        patterns += [base * (request.longest_run + 1) for base in _letters.DNA]
    clear = _codon_path.Patterns(patterns)

    def best(worth: float, further: float = 0.0, places: int = len(request.protein)) -> list[str]:
        """The best codons where each G or C of the first `places` is worth `worth`."""
        choices = [
            [
                (codon, _value(codon, usage) + (worth if place < places else further) * strong)
                for codon, strong in ((codon, _strong(codon)) for codon in codons)
            ]
            for place, codons in enumerate(_choices(request, usage))
        ]
        return _codon_path.best(choices, clear)

    try:
        return _within(request.gc, best)
    except _codon_path.DeadEnd as error:
        raise ToolError(
            f"{_named(request)}: every choice of codons up to {request.protein[error.place]} at "
            f"{error.place + 1} makes a site or run that is to be avoided."
        ) from None
    except _codon_path.TooManyWays:
        raise ToolError(
            f"{_named(request)}: these sites leave too many ways open to follow them all; avoid "
            "fewer enzymes."
        ) from None


def _named(request: _Request) -> str:
    """The settings that forbid something."""
    return ", ".join(
        [*(["avoid"] if request.avoid else []), *(["longestRun"] if request.longest_run else [])]
    )


def _choices(request: _Request, usage: _codons.Usage) -> list[tuple[str, ...]]:
    choices = [usage.choices[letter] for letter in request.protein]
    if request.before:
        choices[0] = (request.before[0],)
    return choices


def _value(codon: str, usage: _codons.Usage) -> float:
    weight = log(usage.weight[codon])
    return weight * _STOP_WEIGHT if _codons.CODE[codon] == "*" else weight


def _strong(codon: str) -> int:
    return codon.count("G") + codon.count("C")


def _gc(codons: list[str]) -> float:
    return 100 * sum(map(_strong, codons)) / (3 * len(codons))


def _within(bounds: tuple[float, float], best: Callable[..., list[str]]) -> list[str]:
    """The best codons whose GC content is within `bounds`, percent.

    The content grows with what a G or C is worth. The least change of that worth which meets the
    bounds costs the index least (Lagrange's multiplier, found by halving); where that changes many
    codons at once, only so many of the first take part as are needed.
    """
    found = best(0.0)
    if bounds[0] <= _gc(found) <= bounds[1]:
        return found
    more = _gc(found) < bounds[0]

    def meets(codons: list[str]) -> bool:
        return _gc(codons) >= bounds[0] if more else _gc(codons) <= bounds[1]

    low, high = 0.0, _STEEPEST if more else -_STEEPEST
    found = best(high)
    if not meets(found):
        name, word = ("gcMin", "largest") if more else ("gcMax", "least")
        raise ToolError(f"{name}: the {word} GC content of DNA for this is {_gc(found):.2f} %.")
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if meets(best(middle)):
            high = middle
        else:
            low = middle
    few, enough = 0, len(found)
    found = best(high)
    while enough - few > 1:
        places = (few + enough) // 2
        codons = best(high, low, places)
        if meets(codons):
            enough, found = places, codons
        else:
            few = places
    if not bounds[0] <= _gc(found) <= bounds[1]:
        raise ToolError(
            f"gcMin, gcMax: nothing was found between {bounds[0]:g} and {bounds[1]:g} %, where "
            f"{_gc(found):.2f} % comes nearest; widen the bounds."
        )
    return found
