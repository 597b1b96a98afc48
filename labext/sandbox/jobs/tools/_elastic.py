"""The anisotropic network model: alpha carbons joined by springs, and how they swing.

Written from A. R. Atilgan et al., Biophysical Journal 80 (2001) 505-515; the springs that weaken
with the square of the distance are from L. Yang, G. Song, R. L. Jernigan, PNAS 106 (2009)
12347-12352 (doi 10.1073/pnas.0902159106). The spring constant is 1: eigenvalues are in its unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labext.sandbox.jobs.tool import ToolError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_RIGID = 6
_ZERO = 1e-8
"""A mode counts as rigid below this share of the highest eigenvalue."""


@dataclass(frozen=True)
class Modes:
    """The internal modes, the slowest first.

    Attributes:
        eigenvalues: (m,), all above zero.
        vectors: (m, n, 3), each of norm 1; its largest component is positive.
    """

    eigenvalues: Array
    vectors: Array

    def fluctuations(self) -> Array:
        """(n,): the mean square displacement of each node, in units of kT / spring constant."""
        squared: Array = (self.vectors**2).sum(axis=2)
        return squared.T @ (1 / self.eigenvalues)

    def collectivity(self) -> Array:
        """(m,): the share of the nodes that take part in a mode, from 1/n to 1 (Brüschweiler)."""
        import numpy as np

        squared = np.clip((self.vectors**2).sum(axis=2), 1e-300, None)
        spread: Array = np.exp(-(squared * np.log(squared)).sum(axis=1)) / squared.shape[1]
        return spread


def springs(places: Array, cutoff: float, by_distance: bool) -> Array:
    """(n, n): the spring constants between nodes at `places` (n, 3), ångström.

    They are 1 up to `cutoff`, or 1 / distance² between all nodes. Equation 1 of the paper.
    """
    import numpy as np

    squared = _squared_distances(places)
    np.fill_diagonal(squared, np.inf)
    if (squared < 1e-4).any():
        i, j = np.argwhere(squared < 1e-4)[0]
        raise ToolError(f"pdbFile: residues {i + 1} and {j + 1} lie at the same place.")
    return 1 / squared if by_distance else (squared <= cutoff**2).astype(float)


def hessian(places: Array, constants: Array) -> Array:
    """(3n, 3n): the second derivatives of the springs' energy, super-element by super-element."""
    import numpy as np

    nodes = len(places)
    apart = places[:, None, :] - places[None, :, :]
    squared = _squared_distances(places)
    np.fill_diagonal(squared, 1)
    blocks = -np.einsum("ij,ijk,ijl->ijkl", constants / squared, apart, apart)
    blocks[np.arange(nodes), np.arange(nodes)] = -blocks.sum(axis=1)
    matrix: Array = blocks.transpose(0, 2, 1, 3).reshape(3 * nodes, 3 * nodes)
    return matrix


def modes(matrix: Array) -> Modes:
    """The internal modes of a network that hangs together.

    Raises:
        ToolError: the network has not the six rigid motions alone, so that it isn't one body.
    """
    import numpy as np

    values, vectors = np.linalg.eigh(matrix)
    rigid = int((values < _ZERO * values[-1]).sum())
    if rigid > _RIGID:
        raise ToolError(
            f"cutoff: the network is loose: it has {rigid} motions without a spring, where a "
            f"body has {_RIGID}; take a larger cutoff."
        )
    if rigid < _RIGID:
        raise ToolError("pdbFile: the residues lie on one line.")
    shapes = vectors[:, _RIGID:].T
    largest = np.abs(shapes).argmax(axis=1)
    signs = np.sign(shapes[np.arange(len(shapes)), largest])
    return Modes(values[_RIGID:], (shapes * signs[:, None]).reshape(len(shapes), -1, 3))


def _squared_distances(places: Array) -> Array:
    apart = places[:, None, :] - places[None, :, :]
    squared: Array = (apart**2).sum(axis=2)
    return squared
