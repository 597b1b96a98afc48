"""The genetic code, and how often eight organisms use each codon.

The shares are those of all coding sequences of an organism in the Codon Usage Database (Nakamura,
Gojobori and Ikemura 2000, doi 10.1093/nar/28.1.292), in whole percent of the codons of one amino
acid, as python_codon_tables 0.1.18 (CC0) distributes them. The genetic code is the standard one;
the bacterial one (NCBI's table 11) differs from it in its start codons alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from math import exp, log

CODONS = tuple("".join(bases) for bases in product("TCAG", repeat=3))
CODE = dict(
    zip(CODONS, "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG", strict=True)
)
"""Codon to amino acid in one-letter code; * is a stop."""

_SHARES = {
    "e_coli": (
        "Escherichia coli K-12 W3110, taxon 316407",
        "57 43 13 13 15 15 12 15 57 43 64 7 44 56 29 100 "
        "10 10 4 50 16 12 19 53 57 43 35 65 38 40 6 10 "
        "51 42 7 100 16 44 13 27 45 55 76 24 15 28 4 2 "
        "26 22 15 37 16 27 21 36 63 37 69 31 34 41 11 15",
    ),
    "b_subtilis": (
        "Bacillus subtilis, taxon 1423",
        "68 32 21 16 20 13 23 10 65 35 61 15 46 54 24 100 "
        "23 11 5 24 28 9 19 44 68 32 52 48 18 20 10 17 "
        "49 37 13 100 16 17 40 27 56 44 70 30 11 23 25 10 "
        "28 26 20 26 24 22 28 26 64 36 68 32 19 34 31 16",
    ),
    "s_cerevisiae": (
        "Saccharomyces cerevisiae, taxon 4932",
        "59 41 28 29 26 16 21 10 56 44 47 23 63 37 30 100 "
        "13 6 14 11 31 15 42 12 64 36 69 31 14 6 7 4 "
        "46 26 27 100 35 22 30 14 59 41 58 42 16 11 48 21 "
        "39 21 21 19 38 22 29 11 65 35 70 30 47 19 22 12",
    ),
    "c_elegans": (
        "Caenorhabditis elegans, taxon 6239",
        "49 51 11 23 21 13 26 15 56 44 43 18 55 45 39 100 "
        "25 17 9 14 18 9 53 20 61 39 66 34 21 10 23 9 "
        "53 31 16 100 32 18 34 15 62 38 59 41 15 10 29 8 "
        "39 22 16 23 36 20 31 13 68 32 62 38 20 12 59 8",
    ),
    "d_melanogaster": (
        "Drosophila melanogaster, taxon 7227",
        "38 62 5 18 8 24 9 20 37 63 41 33 29 71 25 100 "
        "10 15 9 43 13 33 25 29 40 60 30 70 16 33 15 15 "
        "34 47 19 100 17 38 20 26 44 56 30 70 14 25 9 11 "
        "19 24 11 47 19 45 17 19 53 47 33 67 21 43 29 7",
    ),
    "g_gallus": (
        "Gallus gallus, taxon 9031",
        "45 55 8 13 18 20 15 7 40 60 32 20 40 60 47 100 "
        "13 18 6 41 27 30 28 14 40 60 27 73 10 19 10 18 "
        "35 46 18 100 25 31 30 14 43 57 44 56 14 26 22 21 "
        "21 22 12 45 29 32 26 13 50 50 43 57 18 31 27 25",
    ),
    "m_musculus": (
        "Mus musculus, taxon 10090",
        "44 56 7 13 20 22 14 5 43 57 28 23 48 52 49 100 "
        "13 20 8 39 31 30 29 10 41 59 26 74 8 17 12 19 "
        "34 50 16 100 25 35 29 10 43 57 39 61 15 24 22 22 "
        "17 25 12 46 29 38 23 9 45 55 41 59 18 33 26 23",
    ),
    "h_sapiens": (
        "Homo sapiens, taxon 9606",
        "46 54 8 13 19 22 15 5 44 56 30 24 46 54 47 100 "
        "13 20 7 40 29 32 28 11 42 58 27 73 8 18 11 20 "
        "36 47 17 100 25 36 28 11 47 53 43 57 15 24 21 21 "
        "18 24 12 46 27 40 23 11 46 54 42 58 16 34 25 25",
    ),
}
HOSTS = {name: described for name, (described, _shares) in _SHARES.items()}
"""The organisms by the name that a setting has: what each is in the database."""


@dataclass(frozen=True)
class Usage:
    """How one organism uses the codons.

    Attributes:
        share: codon to its share among those of its amino acid, in percent.
        weight: codon to its share as a part of the largest one of its amino acid: the relative
            adaptiveness of Sharp and Li (1987, doi 10.1093/nar/15.3.1281), above 0, at most 1.
        choices: amino acid (or * for a stop) to its codons, the most used first.
    """

    share: dict[str, int]
    weight: dict[str, float]
    choices: dict[str, tuple[str, ...]]

    def adaptation(self, codons: list[str]) -> float:
        """The codon adaptation index: the geometric mean of the weights, above 0, at most 1.

        Amino acids with a single codon (M, W) and stops are left out; 1 where nothing is left.
        """
        logs = [log(self.weight[codon]) for codon in codons if CODE[codon] not in "MW*"]
        return exp(sum(logs) / len(logs)) if logs else 1.0


@cache
def usage(host: str) -> Usage:
    """The usage of one of `HOSTS`."""
    share = dict(zip(CODONS, map(int, _SHARES[host][1].split()), strict=True))
    choices = {
        letter: tuple(
            sorted((c for c in CODONS if CODE[c] == letter), key=lambda c: (-share[c], c))
        )
        for letter in dict.fromkeys(CODE.values())
    }
    weight = {codon: share[codon] / share[choices[CODE[codon]][0]] for codon in CODONS}
    return Usage(share, weight, choices)


def translated(codons: list[str]) -> str:
    """The amino acids, with * for a stop."""
    return "".join(CODE[codon] for codon in codons)
