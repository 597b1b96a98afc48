"""Angles and sizes of structures, in numpy."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[Any]


def dihedral(first: ArrayLike, second: ArrayLike, third: ArrayLike, fourth: ArrayLike) -> float:
    """The angle in degrees, -180 to 180, seen along the bond from `second` to `third`."""
    import numpy as np

    points = [np.asarray(point, dtype=float) for point in (first, second, third, fourth)]
    before, along, after = (end - start for start, end in pairwise(points))
    left, right = np.cross(before, along), np.cross(along, after)
    return math.degrees(
        math.atan2(np.linalg.norm(along) * np.dot(before, right), np.dot(left, right))
    )


def radius_of_gyration(places: Array, masses: Array) -> float:
    """The root mean square distance from the centre of mass, in the unit of `places` (n, 3)."""
    import numpy as np

    middle = np.average(places, axis=0, weights=masses)
    return float(np.sqrt(np.average(((places - middle) ** 2).sum(axis=1), weights=masses)))


def superposed_rmsd(one: Array, other: Array) -> float:
    """The root mean square distance of two (n, 3) once the one lies best on the other (Kabsch)."""
    import numpy as np

    first, second = one - one.mean(axis=0), other - other.mean(axis=0)
    left, sizes, right = np.linalg.svd(first.T @ second)
    # A mirror image is no turn: then the smallest part counts against it.
    sizes[-1] *= np.sign(np.linalg.det(left) * np.linalg.det(right))
    apart = (first**2).sum() + (second**2).sum() - 2 * sizes.sum()
    return float(np.sqrt(max(apart, 0.0) / len(one)))
