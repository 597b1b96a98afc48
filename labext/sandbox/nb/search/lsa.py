"""Latent semantic analysis of a corpus: words that occur in like company come to mean alike.

After Deerwester et al., 'Indexing by Latent Semantic Analysis' (1990): the matrix of passages by
terms is reduced to a few dimensions, in which passages without a common word can be near each
other. What comes later is folded in.

A small corpus says little about its words, and nothing about one that it has once. So a vector has
a second part in which each word has a place of its own, by its hash: words themselves count too,
beside what they mean, and what is new is found at once.
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

from labext.sandbox.nb.text.tokens import stems as terms
from labext.sandbox.nb.text.tokens import words

MOST_TERMS = 20_000
"""Terms of the vocabulary: those that most passages have."""

MOST_DIMENSIONS = 128
HASHED = 256
"""Dimensions of the meaning, and of the words themselves."""

MEANT = 0.4
"""The part of likeness that is about meaning; the other is about the words themselves."""

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
        weights = Rows.of(bare._known(bare._weights(count)) for count in counts)
        return cls(bare.vocabulary, bare.rarities, _directions(weights, len(known)))

    def embed(self, texts: Sequence[str]) -> Floats:
        """Fold texts in: of shape (texts, dimensions), rows of length 1; 0 of an empty text."""
        weighed = [self._weights(_terms(text)) for text in texts]
        meant = Rows.of(map(self._known, weighed)).times(self.directions)
        hashed = np.zeros((len(texts), HASHED), np.float32)
        for row, weights in zip(hashed, weighed, strict=True):
            for term, weight in weights.items():
                number = zlib.crc32(term.encode())
                row[number % HASHED] += weight if number >> 31 else -weight
        parts = [MEANT**0.5 * _of_length_1(meant), (1 - MEANT) ** 0.5 * _of_length_1(hashed)]
        return _of_length_1(np.hstack(parts))

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

    def _weights(self, count: Counter[str]) -> dict[str, float]:
        """What a text's terms weigh; the squares are 1 together."""
        found = {term: (1 + math.log(times)) * self._rarity(term) for term, times in count.items()}
        length = math.sqrt(sum(weight * weight for weight in found.values()))
        return {term: weight / length for term, weight in found.items()}

    def _rarity(self, term: str) -> float:
        place = self._places.get(term)
        return self._rarest if place is None else self._rarities[place]

    def _known(self, weights: dict[str, float]) -> dict[int, float]:
        """The weights of the terms that have a meaning, by their places."""
        places = self._places
        return {places[term]: weight for term, weight in weights.items() if term in places}


def _of_length_1(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), np.float32)


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
    wanted = min(MOST_DIMENSIONS, round(rows**0.5), columns)
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
