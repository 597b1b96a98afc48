"""Latent semantic analysis of a corpus: words that occur in like company come to mean alike.

After Deerwester et al., 'Indexing by Latent Semantic Analysis' (1990): the matrix of passages by
terms is reduced to a few dimensions, in which passages without a common word can be near each
other. What comes later is folded in. Words that the corpus has less than twice have no company to
be known by: these keep a place of their own, by their hash, so that a new word is found at once.
"""

from __future__ import annotations

import functools
import math
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labext.sandbox.nb.models.words import terms, words

MOST_TERMS = 20_000
"""Terms of the vocabulary: those that most passages have."""

MOST_DIMENSIONS = 128
HASHED = 256
"""Dimensions of the meaning, and of the words that have none."""

HASHED_WEIGHT = 0.5
"""What the words without a meaning count for. A passage has many, and a question few of them."""

_SPARE = 12
_ROUNDS = 4
_CHUNK = 100_000

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Rows:
    """A sparse matrix by rows: `columns` and `values` of row i are from `starts[i]` on."""

    starts: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: Floats

    @classmethod
    def of(cls, rows: Iterable[dict[int, float]]) -> Rows:
        """Make one; a row is the values by their columns."""
        given = list(rows)
        sizes = np.array([len(row) for row in given], np.int64)
        columns = np.fromiter((at for row in given for at in row), np.int64, int(sizes.sum()))
        values = (value for row in given for value in row.values())
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(starts, columns, np.fromiter(values, np.float32, len(columns)))

    def times(self, other: Floats) -> Floats:
        """The product with a dense matrix of shape (columns, n): of shape (rows, n)."""
        product = np.zeros((len(self.starts) - 1, other.shape[1]), np.float32)
        filled = np.flatnonzero(np.diff(self.starts))
        place = 0
        while place < len(filled):
            # As many rows at once as memory is to hold, at least one.
            begin = self.starts[filled[place]]
            after = int(np.searchsorted(self.starts[filled + 1], begin + _CHUNK, "right"))
            some = filled[place : max(after, place + 1)]
            end = self.starts[some[-1] + 1]
            parts = other[self.columns[begin:end]] * self.values[begin:end, None]
            product[some] = np.add.reduceat(parts, self.starts[some] - begin)
            place += len(some)
        return product

    def turned(self, columns: int) -> Rows:
        """The transpose; `columns` is how many columns this has."""
        order = np.argsort(self.columns, kind="stable")
        rows = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        sizes = np.bincount(self.columns, minlength=columns)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return Rows(starts, rows[order], self.values[order])


@dataclass(frozen=True)
class Analysis:
    """What the analysis of a corpus has found.

    Attributes:
        vocabulary: the terms that have a meaning.
        rarities: of each term, how much an occurrence says.
        directions: of shape (terms, dimensions): what each term adds.
    """

    vocabulary: tuple[str, ...]
    rarities: Floats
    directions: Floats

    @classmethod
    def of(cls, texts: Sequence[str]) -> Analysis:
        """Analyse a corpus; deterministic. Of an empty one nothing has a meaning."""
        counts = [_terms(text) for text in texts]
        among = Counter(term for count in counts for term in count)
        known = [term for term, number in among.most_common(MOST_TERMS) if number > 1]
        often = np.array([among[term] for term in known], np.float32)
        rarities = np.log((1 + len(texts)) / (1 + often)) + 1
        bare = cls(tuple(known), rarities.astype(np.float32), np.zeros((len(known), 0), np.float32))
        weights = Rows.of(bare._weigh(count)[0] for count in counts)
        return cls(bare.vocabulary, bare.rarities, _directions(weights, len(known)))

    def embed(self, texts: Sequence[str]) -> Floats:
        """Fold texts in: of shape (texts, dimensions), rows of length 1; 0 of an empty text."""
        weighed = [self._weigh(_terms(text)) for text in texts]
        meant = Rows.of(known for known, _ in weighed).times(self.directions)
        hashed = np.zeros((len(texts), HASHED), np.float32)
        for row, (_, unknown) in zip(hashed, weighed, strict=True):
            for term, weight in unknown.items():
                number = zlib.crc32(term.encode())
                row[number % HASHED] += HASHED_WEIGHT * (weight if number >> 31 else -weight)
        found = np.hstack([meant, hashed])
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return np.asarray(found / np.where(lengths > 0, lengths, 1), np.float32)

    def save(self, path: Path) -> None:
        """Write it into a file that is there whole or not at all."""
        beside = path.with_suffix(".part")
        with beside.open("wb") as file:
            np.savez(
                file,
                vocabulary=np.array(self.vocabulary, np.str_),
                rarities=self.rarities,
                directions=self.directions,
            )
        beside.replace(path)

    @classmethod
    def load(cls, path: Path) -> Analysis:
        """Read it from a file."""
        with np.load(path) as found:
            vocabulary = tuple(map(str, found["vocabulary"]))
            return cls(vocabulary, found["rarities"], found["directions"])

    @cached_property
    def _places(self) -> dict[str, int]:
        return {term: place for place, term in enumerate(self.vocabulary)}

    @cached_property
    def _rarities(self) -> list[float]:
        return [float(rarity) for rarity in self.rarities]

    @cached_property
    def _rarest(self) -> float:
        return max(self._rarities, default=1.0)

    def _weigh(self, count: Counter[str]) -> tuple[dict[int, float], dict[str, float]]:
        """What a text's terms weigh, together 1: the known ones by their places, and the others."""
        known: dict[int, float] = {}
        unknown: dict[str, float] = {}
        for term, times in count.items():
            place = self._places.get(term)
            if place is None:
                unknown[term] = (1 + math.log(times)) * self._rarest
            else:
                known[place] = (1 + math.log(times)) * self._rarities[place]
        length = math.sqrt(sum(w * w for w in (*known.values(), *unknown.values()))) or 1.0
        return (
            {place: weight / length for place, weight in known.items()},
            {term: weight / length for term, weight in unknown.items()},
        )


def _terms(text: str) -> Counter[str]:
    """How often a text has each term."""
    found: Counter[str] = Counter()
    for word, times in Counter(words(text)).items():
        for term in _terms_of(word):
            found[term] += times
    return found


@functools.lru_cache(maxsize=1 << 17)
def _terms_of(word: str) -> tuple[str, ...]:
    return tuple(terms(word))


def _directions(weights: Rows, columns: int) -> Floats:
    """The right singular vectors of the greatest singular values, by subspace iteration.

    As in Halko, Martinsson and Tropp, 'Finding Structure with Randomness' (2011), algorithm 4.4.
    """
    rows = int(np.count_nonzero(np.diff(weights.starts)))
    # Of a small corpus few, or it would be told word for word and nothing would come together.
    wanted = min(MOST_DIMENSIONS, round(1.5 * rows**0.5), columns)
    if not wanted:
        return np.zeros((columns, 0), np.float32)
    turned = weights.turned(columns)
    chance = np.random.default_rng(0).standard_normal((columns, min(wanted + _SPARE, columns)))
    base = _principal(chance.astype(np.float32))
    for _ in range(_ROUNDS):
        base = _principal(turned.times(weights.times(base)))
    turn, values = _axes(weights.times(base))
    return np.asarray(base @ turn[:, values > 0][:, :wanted], np.float32)


def _principal(given: Floats) -> Floats:
    """Orthonormal columns that span the same as those of a tall matrix, or nearly."""
    turn, values = _axes(given)
    some = values > 0
    return np.asarray(given @ (turn[:, some] / np.sqrt(values[some])), np.float32)


def _axes(given: Floats) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The principal axes of a tall matrix's rows, and the squares along each; the longest first.

    By the small matrix of its columns' products: far quicker than a decomposition of the tall one.
    What is too short to be told from rounding is 0.
    """
    tall = given.astype(np.float64)
    values, turn = np.linalg.eigh(tall.T @ tall)
    values = np.where(values > 1e-10 * values[-1], values, 0)
    return turn[:, ::-1], values[::-1]
