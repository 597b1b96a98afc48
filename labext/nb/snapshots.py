"""What is seen of an episode while it is made.

A service may tell how far it is, or nothing but a status: what it tells is shown. An unknown status
is shown as it is and is no outcome, and `completed` ends it only where there is a sound.
"""

from __future__ import annotations

from labext.nb import episodes
from labext.nb.records import Record
from labext.progress import Outcome, Progress

_PHASES = {
    **dict.fromkeys(("new", "queued", "submitted", "pending"), "In Queue"),
    **dict.fromkeys(("running", "processing"), "Running"),
    "completed": "Complete",
    "failed": "Failed",
    **dict.fromkeys(("canceled", "cancelled", "stopped"), "Stopped"),
}
_ENDS = {
    "Complete": Outcome.COMPLETE,
    "Failed": Outcome.FAILED,
    "Stopped": Outcome.STOPPED,
}
_UNITS = {"outline": "segment", "dialogue": "segment", "speech": "turn"}
"""What is counted in a stage, where it is known."""


def snapshot(name: str, status: str | None, told: Record, episode: Record | None) -> Progress:
    """Return what is seen of an episode.

    Args:
        name: what it is called.
        status: the service's own word.
        told: a job or an episode: its stage, progress and error.
        episode: the episode itself, if it is known.
    """
    at = phase(status)
    reason = str(told["error_message"] or "")
    if at == "Complete" and (episode is None or not episodes.has_sound(episode)):
        at, reason = "Failed", episodes.SILENT
    outcome = _ENDS.get(at)
    return Progress(
        str(name),
        "podcast",
        at,
        outcome=outcome,
        reason=reason if outcome in (Outcome.FAILED, Outcome.STOPPED) else "",
        stage=_stage(told) if outcome is None else "",
    )


def phase(status: str | None) -> str:
    """Return where an episode is, for the service's word: that itself, if it is unheard of."""
    word = str(status or "unknown")
    return _PHASES.get(word.casefold(), word)


def _stage(told: Record) -> str:
    """Return where it is: `3 of 4: speech, turn 12 of 40`, or what words the service has for it."""
    at = told["progress"]
    if at is None:
        return str(told["stage"] or "")
    stages, stage = at["stages"], at["stage"]
    place = f"{stages.index(stage) + 1} of {len(stages)}: " if stage in stages else ""
    return f"{place}{stage}{_counted(at)}"


def _counted(at: Record) -> str:
    """Return how much of a stage is done, if that makes sense and is not all or nothing."""
    done, total = at["done"], at["total"]
    if done is None or total is None or total < 2 or done > total:
        return ""
    unit = f"{_UNITS[at['stage']]} " if at["stage"] in _UNITS else ""
    return f", {unit}{done:,} of {total:,}"
