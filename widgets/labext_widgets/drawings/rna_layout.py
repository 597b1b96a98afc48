"""Lay out an RNA secondary structure: straight stems, round loops, ends on a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import asin, atan2, ceil, cos, hypot, pi, sin

Point = tuple[float, float]

PAIR = 1.5
"""Distance of the two bases of a pair; neighbours on the strand have the distance 1."""

_CLEARANCE = 1.25
"""Minimum distance of bases of different branches."""

_GROWTH = 1.1
_MAX_GROWTH_STEPS = 10
"""A loop is enlarged in steps until its branches are apart."""

_MAX_STRAIGHT = 8
"""Number of unpaired bases on a side up to which the stem continues straight after a loop."""


def lay_out(partners: Sequence[int | None]) -> list[Point]:
    """Return a point for each base, y upwards.

    Args:
        partners: the index of the base with which each base pairs, or None; pairs don't cross.
    """
    points: list[Point] = []
    x = 0.0
    while len(points) < len(partners):
        partner = partners[len(points)]
        if partner is None:
            points.append((x, 0.0))
            x += 1
            continue
        branch = _lay_out_stem(partners, len(points), partner, 0)
        x += PAIR / 2
        placed = [(point_x + x, point_y) for point_x, point_y in branch]
        while _collide([points[:-1], placed]):  # its neighbour on the strand is always near
            x += 1
            placed = [(point_x + x, point_y) for point_x, point_y in branch]
        points += placed
        x += PAIR / 2 + 1
    return _space_out(points, partners)


def _space_out(points: list[Point], partners: Sequence[int | None]) -> list[Point]:
    """Return the points with the unpaired bases between two branches at equal distances."""
    position = 0
    while position < len(points):
        partner = partners[position]
        if partner is not None:
            position = partner + 1
            continue
        end = position
        while end < len(points) and partners[end] is None:
            end += 1
        if position and end < len(points):
            left, right = points[position - 1][0], points[end][0]
            for index in range(position, end):
                share = (index - position + 1) / (end - position + 1)
                points[index] = (left + (right - left) * share, 0.0)
        position = end
    return points


def _lay_out_stem(
    partners: Sequence[int | None], first: int, last: int, depth_below: int
) -> list[Point]:
    """Return the points of the bases `first` to `last`, which pair.

    `first` is at the left and `last` at the right of the origin, and the rest above.
    """
    steps = 0
    while first + 1 < last - 1 and partners[first + 1] == last - 1:
        first, last, steps = first + 1, last - 1, steps + 1
    loop = _lay_out_loop(partners, first, last, depth_below + steps + 1)
    left = [(-PAIR / 2, float(step)) for step in range(steps)]
    right = [(PAIR / 2, float(step)) for step in reversed(range(steps))]
    return [*left, *((x, y + steps) for x, y in loop), *right]


def _lay_out_loop(
    partners: Sequence[int | None], first: int, last: int, depth_below: int
) -> list[Point]:
    """Return the points of a loop and its branches; the pair that closes it is at the origin."""
    corners: list[int] = []
    pairs: list[tuple[int, int]] = []
    position = first + 1
    while position < last:
        corners.append(position)
        partner = partners[position]
        if partner is not None:
            pairs.append((position, partner))
            corners.append(partner)
            position = partner
        position += 1
    if len(pairs) == 1 and max(pairs[0][0] - first, last - pairs[0][1]) - 1 <= _MAX_STRAIGHT:
        return _lay_out_straight_loop(partners, (first, last), pairs[0], depth_below)
    branches = {pair[0]: _lay_out_stem(partners, *pair, 1) for pair in pairs}
    stem = [(x, -float(y)) for y in range(depth_below) for x in (-PAIR / 2, PAIR / 2)]
    points: list[Point] = []
    for growth in range(_MAX_GROWTH_STEPS):
        groups = [stem]
        points = []
        for size, point in _place_loop(corners, branches, _GROWTH**growth):
            points.append(point)
            if size is not None:
                groups.append(points[-size:])
        if len(branches) < 2 or not _collide(groups):
            break
    return [(-PAIR / 2, 0.0), *points, (PAIR / 2, 0.0)]


def _lay_out_straight_loop(
    partners: Sequence[int | None], outer: tuple[int, int], inner: tuple[int, int], depth_below: int
) -> list[Point]:
    """Return the points of a loop between two pairs that are opposite each other."""
    left, right = inner[0] - outer[0] - 1, outer[1] - inner[1] - 1
    radius = _loop_radius([PAIR, PAIR, *[1.0] * (2 * max(left, right) + 2)])
    height = (radius**2 - (PAIR / 2) ** 2) ** 0.5
    half_angle = asin(height / radius)
    rise = 2 * height
    branch = _lay_out_stem(partners, *inner, depth_below + ceil(rise))
    middle = [(x, y + rise) for x, y in branch]

    def side(count: int, start: float) -> list[Point]:
        angles = (start - 2 * half_angle * k / (count + 1) for k in range(1, count + 1))
        return [(radius * cos(angle), height + radius * sin(angle)) for angle in angles]

    return [
        (-PAIR / 2, 0.0),
        *side(left, pi + half_angle),
        *middle,
        *side(right, half_angle),
        (PAIR / 2, 0.0),
    ]


def _place_loop(
    corners: Sequence[int], branches: dict[int, list[Point]], spacing: float
) -> Iterator[tuple[int | None, Point]]:
    """Yield the points of a loop from the base after its first one.

    With the last base of a branch the number of its bases is yielded.
    """
    chords = [spacing]
    for index in range(len(corners)):
        chords.append(PAIR if corners[index] in branches else spacing)
    radius = _loop_radius([*chords, PAIR])
    half = PAIR / 2
    height = max(radius**2 - half**2, 0.0) ** 0.5
    if sum(2 * asin(min(chord / (2 * radius), 1)) for chord in chords) < pi:
        height = -height
    angle = atan2(-height, -half)
    places: list[Point] = []
    for chord in chords[:-1]:
        angle -= 2 * asin(min(chord / (2 * radius), 1))
        places.append((radius * cos(angle), height + radius * sin(angle)))
    index = 0
    while index < len(corners):
        branch = branches.get(corners[index])
        if branch is None:
            yield None, places[index]
            index += 1
            continue
        (x1, y1), (x2, y2) = places[index], places[index + 1]
        length = hypot(x2 - x1, y2 - y1)
        along = ((x2 - x1) / length, (y2 - y1) / length)
        middle = ((x1 + x2) / 2, (y1 + y2) / 2)
        for number, (x, y) in enumerate(branch, 1):
            point = (
                middle[0] + x * along[0] - y * along[1],
                middle[1] + x * along[1] + y * along[0],
            )
            yield (number if number == len(branch) else None), point
        index += 2


def _loop_radius(chords: Sequence[float]) -> float:
    """Return the radius of the circle in which the chords form a closed polygon."""
    low, high = max(chords) / 2, sum(chords)
    longest = max(chords)
    others = sum(2 * asin(chord / longest) for chord in chords) - pi
    if others < pi:  # the center is outside: only for a loop that is nearly a line
        return low
    for _ in range(60):
        radius = (low + high) / 2
        if sum(2 * asin(min(chord / (2 * radius), 1)) for chord in chords) > 2 * pi:
            low = radius
        else:
            high = radius
    return high


def overlaps(points: Sequence[Point]) -> bool:
    """Return whether bases overlap in the drawing."""
    return _collide([[point] for point in points], 0.7)


def _collide(groups: Sequence[Sequence[Point]], distance: float = _CLEARANCE * 0.99) -> bool:
    """Return whether points of different groups are closer to each other than `distance`."""
    cells: dict[tuple[int, int], list[tuple[int, Point]]] = {}
    for number, group in enumerate(groups):
        for x, y in group:
            column, row = int(x // _CLEARANCE), int(y // _CLEARANCE)
            for near in ((column + i, row + j) for i in (-1, 0, 1) for j in (-1, 0, 1)):
                for other, (other_x, other_y) in cells.get(near, ()):
                    if other != number and hypot(x - other_x, y - other_y) < distance:
                        return True
            cells.setdefault((column, row), []).append((number, (x, y)))
    return False
