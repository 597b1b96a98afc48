"""Progress snapshots that a test writes to a file for a watched stream."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

WATCH = """import labext_widgets
from follow import follow
last = labext_widgets.watch(follow({path!r}), again="%jobs watch folds")
"""
IN_BACKGROUND = """import labext_widgets
from follow import follow
def stop():
    open({path!r} + ".stopped", "w").close()
labext_widgets.watch(
    follow({path!r}), again="%jobs watch folds", background=True, stop=stop
)
"""

MIDWAY = {
    "subject": "folds",
    "kind": "batch",
    "phase": "Running",
    "states": {"Complete": 120, "Stopped": 2, "Running": 8, "In Queue": 120},
    "total": 250,
}
AGGREGATING = MIDWAY | {"phase": "Aggregating", "states": {"Complete": 248, "Stopped": 2}}
COMPLETE = AGGREGATING | {"phase": "Complete", "outcome": "complete", "elapsed": 83.0}
FAILED = AGGREGATING | {
    "phase": "AggregationFailed",
    "outcome": "failed",
    "elapsed": 83.0,
    "reason": "The archive is <b>3.2 GB</b> and over the quota of $2$ GB & more.",
}
STOPPED = AGGREGATING | {"phase": "Stopped", "outcome": "stopped", "elapsed": 9.0}


class Script:
    """The file that a watched stream reads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.set_snapshot(MIDWAY)

    def set_snapshot(self, progress: dict[str, Any]) -> None:
        """Set the snapshot that the stream yields from now on."""
        draft = self.path.with_suffix(".draft")
        draft.write_text(json.dumps(progress))
        draft.replace(self.path)

    @property
    def stopped(self) -> bool:
        """Return whether the notebook was interrupted."""
        return Path(f"{self.path}.stopped").exists()
