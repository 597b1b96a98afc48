"""What the process of a source leaves, and the service takes over in one transaction.

It is too much for a task's report: files in the folder where the process works.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from labext.sandbox.nb.search.passages import Piece

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FILE = "result.json"
_VECTORS = "vectors.npy"


@dataclass(frozen=True)
class Result:
    """What was made of a source.

    Attributes:
        text: what was read.
        title: what the source calls itself.
        pieces: its passages.
        insights: what models have made of it, by the name of what made it.
        remark: what could not be made of it, in words for whoever added it.
        vectors, space: of the passages, and what they can be compared with; None for none.
    """

    text: str
    title: str | None
    pieces: Sequence[Piece]
    insights: Sequence[tuple[str, str]] = ()
    remark: str | None = None
    vectors: NDArray[np.float32] | None = None
    space: str | None = None


def write(work: Path, result: Result) -> None:
    """Leave a result in the folder `work`."""
    if result.vectors is not None:
        import numpy as np

        np.save(work / _VECTORS, result.vectors, allow_pickle=False)
    content = {
        "text": result.text,
        "title": result.title,
        "pieces": [[piece.text, piece.page] for piece in result.pieces],
        "insights": result.insights,
        "remark": result.remark,
        "space": result.space,
    }
    (work / _FILE).write_bytes(orjson.dumps(content))


def read(work: Path) -> Result:
    """Take over the result that was left in the folder `work`.

    Raises:
        OSError, ValueError: there is none, or not all of it.
    """
    content = orjson.loads((work / _FILE).read_bytes())
    vectors = None
    if content["space"] is not None:
        import numpy as np

        vectors = np.load(work / _VECTORS, allow_pickle=False)
    return Result(
        content["text"],
        content["title"],
        [Piece(text, page) for text, page in content["pieces"]],
        [(kind, told) for kind, told in content["insights"]],
        content["remark"],
        vectors,
        content["space"],
    )
