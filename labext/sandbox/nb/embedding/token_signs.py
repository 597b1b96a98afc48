"""Compare the tokens of a query with those of passages (late interaction, as in ColBERT).

It ranks passages better than their vectors, which are means over many words. The states of a
passage's tokens are stored as the signs of the means of `WINDOW` adjacent ones: 3 KB at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

WINDOW = 4
"""Number of adjacent tokens whose mean state is stored."""


def pack(states: Floats) -> bytes:
    """Return the signs of a passage's token states, of shape (tokens, dimensions), as bits."""
    import numpy as np

    tokens = _unit_tokens(states)
    if not len(tokens):
        return b""
    sums = np.add.reduceat(tokens, np.arange(0, len(tokens), WINDOW))
    return np.packbits(sums > 0, axis=1).tobytes()


def similarities(query: Floats, signs: Sequence[bytes]) -> list[float]:
    """Return the similarity of a query to each passage.

    It is the mean, over the tokens of the query, of the similarity to the closest tokens of the
    passage; 0 without tokens.

    Args:
        query: the states of the query's tokens, of shape (tokens, dimensions).
        signs: the signs of each passage's token states.
    """
    import numpy as np

    tokens, dimensions = _unit_tokens(query), query.shape[1]
    counts = np.array([len(packed) * 8 // dimensions for packed in signs], int)
    results = np.zeros(len(signs))
    present = counts > 0
    if len(tokens) and present.any():
        bits = np.unpackbits(np.frombuffer(b"".join(signs), np.uint8)).reshape(-1, dimensions)
        products = tokens @ (2 * bits.astype(np.float32) - 1).T / dimensions**0.5
        starts = (np.cumsum(counts) - counts)[present]
        results[present] = np.maximum.reduceat(products, starts, axis=1).mean(axis=0)
    return results.tolist()


def _unit_tokens(states: Floats) -> Floats:
    """Return the states of length 1, without those of the special first and last token."""
    import numpy as np

    tokens = states[1:-1]
    unit: Floats = tokens / np.linalg.norm(tokens, axis=1, keepdims=True)
    return unit
