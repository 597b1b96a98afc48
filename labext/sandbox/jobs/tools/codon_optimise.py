"""Optimise the codons of a protein for an organism, avoiding restriction sites."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import exp, log
from pathlib import Path

from labext.dna import reverse_complement
from labext.sandbox.jobs.tools import _inputs, _outputs
from labext.sandbox.jobs.tools.tool import Parameter, Score, Settings, Tool, ToolError

CODONS = tuple("".join(bases) for bases in product("TCAG", repeat=3))
GENETIC_CODE = dict(
    zip(CODONS, "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG", strict=True)
)
"""The standard genetic code: codon to amino acid in one-letter code, * for a stop."""

with Path(__file__).with_name("codon_usage.tsv").open(encoding="utf-8", newline="") as _file:
    _USAGE = {row["host"]: row for row in csv.DictReader(_file, delimiter="\t")}
HOSTS = {name: row["organism"] for name, row in _USAGE.items()}
"""Name in settings to description in the database, for each organism."""


@dataclass(frozen=True)
class CodonUsage:
    """Codon usage of an organism.

    Attributes:
        share: codon to its share among the codons of its amino acid in percent.
        weight: codon to its share relative to the largest share of its amino acid: the relative
            adaptiveness of Sharp and Li (1987, doi 10.1093/nar/15.3.1281), above 0 and up to 1.
        choices: amino acid (or * for a stop) to its codons, most used first.
    """

    share: dict[str, int]
    weight: dict[str, float]
    choices: dict[str, tuple[str, ...]]

    def adaptation(self, codons: list[str]) -> float:
        """Return the codon adaptation index: the geometric mean of the weights, from 0 to 1.

        Amino acids with a single codon (M, W) and stops are ignored; 1 if no other codon exists.
        """
        logs = [log(self.weight[codon]) for codon in codons if GENETIC_CODE[codon] not in "MW*"]
        return exp(sum(logs) / len(logs)) if logs else 1.0


@cache
def load_codon_usage(host: str) -> CodonUsage:
    """Return the codon usage of one of `HOSTS`."""
    share = {codon: int(_USAGE[host][codon]) for codon in CODONS}
    choices = {
        letter: tuple(
            sorted((c for c in CODONS if GENETIC_CODE[c] == letter), key=lambda c: (-share[c], c))
        )
        for letter in dict.fromkeys(GENETIC_CODE.values())
    }
    weight = {codon: share[codon] / share[choices[GENETIC_CODE[codon]][0]] for codon in CODONS}
    return CodonUsage(share, weight, choices)


def translate_codons(codons: list[str]) -> str:
    """Translate codons to amino acids, with * for a stop."""
    return "".join(GENETIC_CODE[codon] for codon in codons)


_IUPAC_BASES = {
    "A": "A", "C": "C", "G": "G", "T": "T", "R": "AG", "Y": "CT", "S": "CG", "W": "AT",
    "K": "GT", "M": "AC", "B": "CGT", "D": "AGT", "H": "ACT", "V": "ACG", "N": "ACGT",
}  # fmt: skip

MAX_STATES = 6000
"""Maximum number of states per codon; the sites of 20 enzymes need a few hundred."""

_TIE_TOLERANCE = 1e-12


class NoCodonChoiceError(Exception):
    """All choices of codons contain a pattern; `index` is the first codon without a choice."""

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


class TooManyStatesError(Exception):
    """The patterns need more than `MAX_STATES` states."""


class PatternMatcher:
    """Automaton that detects IUPAC patterns in DNA, codon by codon (bit-parallel)."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._first = self._last = 0
        self._matches = dict.fromkeys("ACGT", 0)
        index = 0
        for pattern in dict.fromkeys(patterns):
            self._first |= 1 << index
            for letter in pattern:
                for base in _IUPAC_BASES[letter]:
                    self._matches[base] |= 1 << index
                index += 1
            self._last |= 1 << (index - 1)
        self._cache: dict[tuple[int, str], int] = {}

    def next_state(self, state: int, codon: str) -> int:
        """Return the state after a codon, or -1 if a pattern is complete."""
        result = self._cache.get((state, codon))
        if result is None:
            result = state
            for base in codon:
                result = ((result << 1) | self._first) & self._matches[base]
                if result & self._last:
                    result = -1
                    break
            self._cache[state, codon] = result
        return result


def both_strands(site: str) -> tuple[str, ...]:
    """Return a site and its reverse complement, or only the site if it is palindromic."""
    return tuple(dict.fromkeys((site, reverse_complement(site))))


def best_codons(
    choices: Sequence[Sequence[tuple[str, float]]], patterns: PatternMatcher
) -> list[str]:
    """Return the codons with the largest sum of values that avoid the patterns.

    `choices` has the codons of each position with their values. Ties are resolved in favour of
    codons that are listed first.
    """
    steps: list[dict[int, tuple[int, str]]] = []
    value_by_state = {0: 0.0}
    for index, codons in enumerate(choices):
        step: dict[int, tuple[int, str]] = {}
        next_values: dict[int, float] = {}
        for state_before, value_before in value_by_state.items():
            for codon, value in codons:
                state = patterns.next_state(state_before, codon)
                if state < 0:
                    continue
                total = value_before + value
                if state not in next_values or total > next_values[state] + _TIE_TOLERANCE:
                    next_values[state] = total
                    step[state] = (state_before, codon)
        if not next_values:
            raise NoCodonChoiceError(index)
        if len(next_values) > MAX_STATES:
            raise TooManyStatesError
        steps.append(step)
        value_by_state = next_values
    state = max(value_by_state, key=lambda state: round(value_by_state[state], 9))
    codons_reversed = []
    for step in reversed(steps):
        state, codon = step[state]
        codons_reversed.append(codon)
    return codons_reversed[::-1]


MAX_LENGTH = 2000
MAX_ENZYMES = 20
_STOP_WEIGHT = 1e-6
"""Weight of stop codons, small because they only break ties and are not part of the index."""
_MAX_SLOPE, _HALVINGS = 30.0, 14
"""The largest value of a G or C, which outweighs every codon weight, and the number of bisections
for finding the value that meets the bounds of the GC content."""


@dataclass(frozen=True)
class _Request:
    before: list[str]
    """The submitted codons; empty for a protein."""
    protein: str
    host: str
    avoid: dict[str, str]
    """Enzyme to recognition site in IUPAC letters."""
    max_homopolymer: int | None
    gc: tuple[float, float]


def _read_request(settings: Settings) -> _Request:
    values = TOOL.with_defaults(settings)
    molecule = _inputs.read_choice(values, "molecule", ("protein", "DNA"))
    before: list[str] = []
    if molecule == "DNA":
        before = _coding_sequence(values)
        protein = translate_codons(before)
    else:
        alphabet = _inputs.PROTEIN + "*"
        protein = _inputs.read_sequence(values, "sequence", alphabet, 1, MAX_LENGTH)
        _inputs.check_default_molecule(settings, "sequence", protein)
    if "*" in protein[:-1]:
        raise ToolError(
            f"sequence: it has a stop codon at {protein.index('*') + 1}, before the end of the "
            "protein."
        )
    if protein == "*":
        raise ToolError("sequence: it contains only a stop codon.")
    avoid: dict[str, str] = {}
    if values.get("avoid") not in (None, "", []):
        enzymes = _inputs.read_enzymes(values, "avoid", MAX_ENZYMES)
        avoid = {str(enzyme): str(enzyme.site) for enzyme in enzymes}
    run = values.get("maxHomopolymer")
    request = _Request(
        before,
        protein,
        _inputs.read_choice(values, "host", tuple(HOSTS)),
        avoid,
        None if run is None else _inputs.read_integer(values, "maxHomopolymer", 3, 20),
        (
            _inputs.read_number(values, "gcMin", 0, 100),
            _inputs.read_number(values, "gcMax", 0, 100),
        ),
    )
    _inputs.check_order("gcMin", request.gc[0], "gcMax", request.gc[1])
    return request


def _coding_sequence(settings: Settings) -> list[str]:
    dna = _inputs.read_sequence(settings, "sequence", _inputs.DNA, 3, 3 * MAX_LENGTH)
    if len(dna) % 3:
        raise ToolError(f"sequence: its length {len(dna)} is not a multiple of 3.")
    return [dna[i : i + 3] for i in range(0, len(dna), 3)]


TOOL = Tool(
    name="codon_optimise",
    display_name="Codon optimisation",
    description=(
        "Optimises the codons of a protein or coding sequence for an organism, and returns "
        "the DNA as FASTA and its codons as CSV. Among all DNA sequences that encode the "
        "protein without the sites and runs to avoid, the result has the largest codon "
        "adaptation index, or nearly so with bounds of the GC content. The index is computed "
        "from all genes of the organism in the Codon Usage Database, not only from highly "
        "expressed ones."
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
                f"A protein in one-letter code, 1 to {MAX_LENGTH:,} amino acids, * at its end "
                "for a stop codon; or the DNA of a coding sequence from its first codon."
            ),
        ),
        Parameter(
            "molecule",
            default="protein",
            options=("protein", "DNA"),
            description=(
                "The type of the sequence. The first codon of DNA is kept, because GTG and TTG "
                "are start codons too."
            ),
        ),
        Parameter(
            "host",
            default="e_coli",
            options=tuple(HOSTS),
            description="; ".join(f"{name}: {organism}" for name, organism in HOSTS.items()) + ".",
        ),
        Parameter(
            "avoid",
            description=(
                "Enzymes whose sites must not occur on either strand, by their REBASE names "
                f"such as EcoRI: a list or comma-separated text, {MAX_ENZYMES} at most."
            ),
        ),
        Parameter(
            "maxHomopolymer",
            type="integer",
            description="Maximum length of a run of equal bases, 3 to 20; unlimited by default.",
        ),
        Parameter("gcMin", type="number", default=0, description="Minimum GC content in percent."),
        Parameter(
            "gcMax",
            type="number",
            default=100,
            description="Maximum GC content in percent; a narrow range lowers the index.",
        ),
    ),
    requires=("Bio",),
    preload=("Bio.Restriction",),
    passes=("optimised.fasta",),
    figures=("codons.csv",),
    passes_content="DNA",
    read=_read_request,
)


def run(settings: Settings, inputs: Mapping[str, Path], out: Path) -> Score:
    """Write `optimised.fasta` and `codons.csv`.

    The score: `cai`, the codon adaptation index (0 to 1), and `gc`, the GC content in percent, of
    the output; for DNA input also `cai_before`, `gc_before` and the number of `changed` codons.
    """
    del inputs
    request = _read_request(settings)
    usage = load_codon_usage(request.host)
    codons = _optimise(request, usage)
    dna = "".join(codons)
    header = f"optimised for {request.host}, {len(dna)} bp"
    _outputs.write_fasta(out / "optimised.fasta", [(header, dna)])
    columns = ("position", "amino_acid", "codon", "share", "codon_before", "share_before")
    before = request.before or [""] * len(codons)
    rows = (
        (index, GENETIC_CODE[new], new, usage.share[new], old, usage.share.get(old, ""))
        for index, (new, old) in enumerate(zip(codons, before, strict=True), 1)
    )
    _outputs.write_csv(out / "codons.csv", columns, rows)
    score: Score = {
        "codons": len(codons),
        "cai": round(usage.adaptation(codons), 4),
        "gc": round(_gc_content(codons), 2),
    }
    if request.before:
        score["cai_before"] = round(usage.adaptation(request.before), 4)
        score["gc_before"] = round(_gc_content(request.before), 2)
        score["changed"] = sum(a != b for a, b in zip(codons, request.before, strict=True))
    return score


def _optimise(request: _Request, usage: CodonUsage) -> list[str]:
    # Biopython separates alternative sites of an enzyme by a bar.
    sites = [site for text in request.avoid.values() for site in text.split("|")]
    patterns = [strand for site in sites for strand in both_strands(site)]
    if request.max_homopolymer is not None:
        patterns += [base * (request.max_homopolymer + 1) for base in _inputs.DNA.letters]
    matcher = PatternMatcher(patterns)

    def best(
        gc_value: float, rest_value: float = 0.0, count: int = len(request.protein)
    ) -> list[str]:
        """Return the best codons with `gc_value` per G or C, `rest_value` after `count` codons."""
        gc_values = [gc_value] * count + [rest_value] * (len(request.protein) - count)
        choices = [
            [(codon, _codon_value(codon, usage) + value * _gc_count(codon)) for codon in codons]
            for value, codons in zip(gc_values, _codon_choices(request, usage), strict=True)
        ]
        return best_codons(choices, matcher)

    try:
        return _best_within_gc(request.gc, best)
    except NoCodonChoiceError as error:
        raise ToolError(
            f"{_constraint_names(request)}: every choice of codons up to "
            f"{request.protein[error.index]} at {error.index + 1} creates a site or run to "
            "avoid."
        ) from None
    except TooManyStatesError:
        raise ToolError(
            f"{_constraint_names(request)}: the search for DNA without these sites is too "
            "large; choose fewer enzymes."
        ) from None


def _constraint_names(request: _Request) -> str:
    """Return the names of the settings that exclude patterns."""
    values = {"avoid": request.avoid, "maxHomopolymer": request.max_homopolymer}
    return ", ".join(name for name, value in values.items() if value)


def _codon_choices(request: _Request, usage: CodonUsage) -> list[tuple[str, ...]]:
    choices = [usage.choices[letter] for letter in request.protein]
    if request.before:
        choices[0] = (request.before[0],)
    return choices


def _codon_value(codon: str, usage: CodonUsage) -> float:
    weight = log(usage.weight[codon])
    return weight * _STOP_WEIGHT if GENETIC_CODE[codon] == "*" else weight


def _gc_count(codon: str) -> int:
    return codon.count("G") + codon.count("C")


def _gc_content(codons: list[str]) -> float:
    return 100 * sum(map(_gc_count, codons)) / (3 * len(codons))


def _best_within_gc(bounds: tuple[float, float], best: Callable[..., list[str]]) -> list[str]:
    """Return the best codons whose GC content in percent is within `bounds`.

    The GC content increases with the value of a G or C. The smallest value that meets the bounds
    (a Lagrange multiplier, found by bisection) lowers the index least. If it changes many codons at
    once, it is applied to as few leading codons as necessary.
    """
    result = best(0.0)
    if bounds[0] <= _gc_content(result) <= bounds[1]:
        return result
    too_low = _gc_content(result) < bounds[0]

    def meets(codons: list[str]) -> bool:
        return _gc_content(codons) >= bounds[0] if too_low else _gc_content(codons) <= bounds[1]

    low, high = 0.0, _MAX_SLOPE if too_low else -_MAX_SLOPE
    result = best(high)
    if not meets(result):
        name, bound = ("gcMin", "highest") if too_low else ("gcMax", "lowest")
        raise ToolError(f"{name}: the {bound} possible GC content is {_gc_content(result):.2f} %.")
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if meets(best(middle)):
            high = middle
        else:
            low = middle
    too_few, sufficient = 0, len(result)
    result = best(high)
    while sufficient - too_few > 1:
        count = (too_few + sufficient) // 2
        codons = best(high, low, count)
        if meets(codons):
            sufficient, result = count, codons
        else:
            too_few = count
    if not bounds[0] <= _gc_content(result) <= bounds[1]:
        raise ToolError(
            f"gcMin, gcMax: no DNA was found between {bounds[0]:g} and {bounds[1]:g} %; "
            f"the closest has {_gc_content(result):.2f} %. Widen the bounds."
        )
    return result
