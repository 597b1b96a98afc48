"""Render progress as HTML and as a line of text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import NamedTuple

from labext.progress import Outcome, Part, Progress
from labext_widgets.core.markup import (
    BAD,
    BUSY,
    COLORED,
    GOOD,
    MUTED,
    NEUTRAL,
    STATES,
    TRACK,
    WARN,
    clock,
    color,
    div,
    edge,
    escape,
    plain,
    span,
)

COLLECTING = "Collecting results"
"""Stage of a pipeline whose jobs are complete while the pipeline is not."""

PODCAST = ("Outline", "Dialogue", "Speech", "Encoding")
"""The stages of a podcast, in the order of the service's worker."""

_COUNT = re.compile(r"\b(\d{1,6}) of (\d{1,6})\b")
_RUNNING_COUNT = re.compile(r", (?:\w+ )?[\d,]+ (?:of [\d,]+(?: \w+)?|so far)$")
"""The end of a stage, such as `, turn 12 of 40`, that changes too often for screen readers."""

_STAGE_POSITION = re.compile(r"([1-9]\d{0,3}) of ([1-9]\d{0,3})\b")


def current_stage(progress: Progress) -> str:
    """Return the stage of a running pipeline, else the phase."""
    if progress.outcome is not None or progress.phase != "Running" or not progress.stage:
        return progress.phase
    place = _stage_position(progress)
    if place is None:
        return progress.stage
    at, count = place
    if at == count and progress.states and progress.done >= sum(progress.states.values()):
        return COLLECTING
    return f"Stage {progress.stage}"


def fraction_reached(progress: Progress) -> float:
    """Return the fraction of a pipeline's stages reached: 0.5 in stage 2 of 4, else 1."""
    whole = progress.outcome is not None or podcast_fraction(progress) is not None
    place = None if whole else _stage_position(progress)
    return 1.0 if place is None else place[0] / place[1]


def podcast_steps(progress: Progress) -> tuple[Sequence[str], int] | None:
    """Return a podcast's stages, the current one with its detail, and the index of that one.

    For example `Outline`, `Dialogue`, `Speech, turn 12 of 40`, `Encoding`. None if the stage is
    unknown or not one of the contract's; the service's own text is displayed then.
    """
    place = _stage_position(progress)
    if progress.kind != "podcast" or place is None or place[1] != len(PODCAST):
        return None
    at = place[0] - 1
    detail = _stage_detail(progress)
    if not detail.casefold().startswith(PODCAST[at].casefold()):
        return None
    return [*PODCAST[:at], detail[:1].upper() + detail[1:], *PODCAST[at + 1 :]], at


def podcast_fraction(progress: Progress) -> float | None:
    """Return the fraction of a podcast completed: 0.575 at turn 12 of 40 in stage 3 of 4."""
    place = _stage_position(progress)
    if progress.kind != "podcast" or progress.outcome is not None or place is None:
        return None
    counted = _COUNT.search(_stage_detail(progress))
    within = min(int(counted[1]) / max(int(counted[2]), 1), 1.0) if counted else 0.0
    return (place[0] - 1 + within) / place[1]


def _stage_detail(progress: Progress) -> str:
    """Return the description of the stage after its position."""
    return _STAGE_POSITION.sub("", progress.stage, count=1).lstrip(": ")


def _stage_position(progress: Progress) -> tuple[int, int] | None:
    """Return k and n of a stage that the service describes as `k of n`."""
    match = _STAGE_POSITION.match(progress.stage)
    if match is None or int(match[1]) > int(match[2]):
        return None
    return int(match[1]), int(match[2])


MAX_PARTS = 50
"""Maximum number of rows; failed parts come first, then unfinished ones."""

WAITING_STATES = 5.0
"""Seconds without a change after which a row displays the time."""

_MARKS = {"Complete": "✓", "Failed": "✕", "Stopped": "■", "Deleted": "■", "In Queue": "○"}
_FIRST = ("Failed", "Stopped", "Deleted", "Running")
_LAST = ("In Queue", "Complete")
_OVER = ("Complete", "Failed", "Stopped", "Deleted")


def parts_html(parts: Sequence[Part]) -> str:
    """Return the rows of the parts, or an empty string if there are none."""
    if not parts:
        return ""
    visible = list(parts) if len(parts) <= MAX_PARTS else sorted(parts, key=_rank)[:MAX_PARTS]
    rows = [_row(part) for part in visible]
    if rest := len(parts) - len(visible):
        rows.append(div(f"… and {rest:,} more", MUTED))
    return div("".join(rows), "margin-top:6px")


def failure_lines(parts: Sequence[Part]) -> list[str]:
    """Return the parts that failed, were stopped, or are complete with a remark, by reason."""
    names: dict[str, list[str]] = {}
    for part in parts:
        if part.state in _OVER and (part.state != "Complete" or part.reason):
            names.setdefault(plain(part.reason or part.state), []).append(plain(part.name))
    return [f"  {', '.join(group)}: {reason}" for reason, group in names.items()]


def _row(part: Part) -> str:
    tint = STATES.get(part.state, NEUTRAL)
    mark = span(_MARKS.get(part.state, "●"), f"flex:0 0 14px;{color('color', *tint)}")
    name = span(escape(part.name), "overflow-wrap:break-word;min-width:0")
    status = span(escape(_part_text(part)), f"margin-left:auto;{MUTED}")
    wide = "flex:1 1 0;min-width:0;display:flex;flex-wrap:wrap;gap:0 8px"
    row = div(f"{mark} {div(f'{name} {status}', wide)}", "display:flex;gap:0 6px")
    return row + _part_reason(part) if part.reason else row


def _part_text(part: Part) -> str:
    if part.state in _OVER:
        return part.state
    status = part.stage or part.state
    return (
        f"{status}, no progress for {clock(part.unchanged)}"
        if part.unchanged >= WAITING_STATES
        else status
    )


def _part_reason(part: Part) -> str:
    tint = BAD if part.state in _OVER else NEUTRAL
    return div(
        escape(part.reason),
        f"margin:0 0 4px 20px;padding:0 8px;{edge(*tint)};overflow-wrap:break-word",
    )


def _rank(part: Part) -> int:
    """Sort key for truncated rows: failed, then unfinished, then complete."""
    if part.state in _FIRST:
        return _FIRST.index(part.state)
    return len(_FIRST) + 1 + _LAST.index(part.state) if part.state in _LAST else len(_FIRST)


LONG = 30.0
"""Seconds without a change after which the view displays the time."""

_PHASES = {
    "batch": ("Running", "Aggregating", "Complete"),
    **dict.fromkeys(
        ("job", "pipeline", "ingestion", "podcast"), ("In Queue", "Running", "Complete")
    ),
}

SUBMISSION = "submission"
"""The kind of a batch that is being sent: its jobs count as complete once they are sent."""

_STRIPES = (
    "opacity:0.6;background-image:repeating-linear-gradient("
    "-45deg,rgba(255,255,255,0.5) 0 6px,transparent 6px 12px)"
)
"""Stripes of an indeterminate bar, which the live view's style sheet animates."""

_FAILED_AFTER = {"AggregationFailed": ("Running",)}
_MAX_SEGMENTS = 8


class _Segment(NamedTuple):
    state: str
    number: int
    tint: tuple[str, str]


def render_html(progress: Progress, note: str = "", seen_at: str = "") -> str:
    """Return the view as HTML: name, phases, a bar by state, and the reason and note if any.

    Args:
        progress: the progress to render.
        note: an additional sentence about the watch.
        seen_at: the time of the snapshot, for a static view that may be seen much later.
    """
    if note:  # the watch has ended
        progress = replace(progress, rate=None)
    rows = [_title(progress), _phases(progress), _bar(progress), _legend(progress)]
    if _is_stalled(progress):
        rows.append(div(f"No progress for {clock(progress.unchanged)}.", MUTED))
    if progress.reason:
        rows.append(_reason(progress))
    rows.append(parts_html(progress.parts))
    if note:
        rows.append(div(escape(note), "margin-top:4px"))
    if seen_at and progress.outcome is None:
        rows.append(div(f"As of {escape(seen_at)}.", MUTED))
    style = "max-width:700px;padding:4px 0;font-size:13px;line-height:1.6"
    return div("".join(rows), f"{style};font-variant-numeric:tabular-nums")


def render_text(progress: Progress, note: str = "") -> str:
    """Return a one-line summary.

    For example `folds: Running, 180 of 250 complete, 8 Running (batch, watched 0:42)`, or for a
    transfer `folds: Fetching, 120 of 340 MB (0:12)`. A running pipeline shows its stage instead of
    its phase.
    """
    rate = [] if note else format_rate(progress)
    facts = [plain(current_stage(progress)), *format_counts(progress), *rate]
    line = f"{plain(progress.subject)}: {', '.join(facts)}"
    if progress.reason:
        line += f": {plain(progress.reason)}"
    kind = "" if progress.transferred is not None else f"{plain(progress.kind)}, "
    line += f" ({kind}{_time(progress)}"
    if _is_stalled(progress):
        line += f", no progress for {clock(progress.unchanged)}"
    return f"{line}){note and ' ' + plain(note)}"


def render_lines(progress: Progress, note: str = "") -> str:
    """Return the summary, followed by a line with the reason of each failed part."""
    return "\n".join([render_text(progress, note), *failure_lines(progress.parts)])


def announcement(progress: Progress) -> str:
    """Return the text for screen readers, which changes only with the phase, stage or reason."""
    stage = _RUNNING_COUNT.sub("", plain(current_stage(progress)))
    summary = f"{plain(progress.subject)}: {stage}"
    return f"{summary}, {plain(progress.reason)}" if progress.reason else summary


def resume_hint(progress: Progress | None, again: str) -> tuple[str, str]:
    """Return the message and the next step for a watch that was stopped."""
    subject = f"the {plain(progress.kind)}" if progress else "the service"
    return f"Watching stopped; {subject} continues.", f"`{plain(again)}` resumes watching."


def format_bytes(transferred: int, size: int | None) -> str:
    """Return bytes as `120 of 340 MB`, or as `120 MB` if the total is unknown."""
    most = max(transferred, size or 0)
    power = next((n for n in (3, 2, 1) if most >= 1000**n), 0)
    whole = most // 1000**power
    digits = 0 if power == 0 or whole >= 100 else 1 if whole >= 10 else 2
    amounts = [f"{n / 1000**power:,.{digits}f}" for n in (transferred, size) if n is not None]
    return f"{' of '.join(amounts)} {('bytes', 'kB', 'MB', 'GB')[power]}"


def format_counts(progress: Progress) -> list[str]:
    """Return the progress as parts by state, as jobs sent or as bytes; empty if it is unknown."""
    if progress.transferred is not None:
        is_known = progress.transferred > 0 or progress.size
        return [format_bytes(progress.transferred, progress.size)] if is_known else []
    if not _has_parts(progress) or not _total(progress):
        return []
    done = max(progress.done, 0)
    if progress.kind == SUBMISSION:
        return [f"{done:,} of {_total(progress):,} jobs sent"]
    rest = [f"{segment.number:,} {plain(segment.state)}" for segment in _segments(progress)]
    counts = (f"{done:,} of {_total(progress):,}", _growing_count(progress), "complete")
    others = (text for text in rest if not text.endswith(" Complete"))
    return [" ".join(filter(None, counts)), *others]


def format_rate(progress: Progress) -> list[str]:
    """Return the rate of a batch and the estimated remaining time: `12 jobs/min`."""
    if progress.rate is None or progress.remaining is None:
        return []
    for unit, seconds in (("s", 1), ("min", 60), ("h", 3600)):
        if (number := progress.rate * seconds) >= 1 or unit == "h":
            break
    rate = f"{number:,.0f}" if number >= 10 else f"{number:.2g}"
    return [f"{rate} jobs/{unit}", f"about {_approximate_time(progress.remaining)} left"]


def _approximate_time(seconds: float) -> str:
    """Return a rounded duration: `20 s`, `4 min`, `2 h 10 min`."""
    if seconds < 55:
        return f"{max(ceil(seconds / 5) * 5, 5)} s"
    minutes = ceil(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(ceil(minutes / 10) * 10, 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def _time(progress: Progress) -> str:
    if progress.transferred is not None:
        return clock(progress.elapsed)
    if progress.running is not None:
        return f"running {clock(progress.running)}"
    return f"watched {clock(progress.elapsed)}"


def _title(progress: Progress) -> str:
    name = span(escape(progress.subject), "font-weight:600;overflow-wrap:break-word;min-width:0")
    kind = escape(progress.kind)
    if _has_parts(progress) and (total := _total(progress)):
        kind += (
            f", {total:,} {so_far}" if (so_far := _growing_count(progress)) else f" of {total:,}"
        )
    times = " · ".join(filter(None, (", ".join(format_rate(progress)), _time(progress))))
    return div(
        f"{name} {span(kind, MUTED)} {span(escape(times), f'margin-left:auto;{MUTED}')}",
        "display:flex;flex-wrap:wrap;align-items:baseline;gap:0 8px",
    )


def _phases(progress: Progress) -> str:
    """Return the phases in a row: completed, current and future ones."""
    return div(
        " ".join(_phase(*mark) for mark in _marks(progress)),
        "display:flex;flex-wrap:wrap;gap:0 16px",
    )


def _marks(progress: Progress) -> list[tuple[str, str, tuple[str, str], bool]]:
    """Return mark, name, color and whether it is the current one, for each phase."""
    phase, outcome = progress.phase, progress.outcome
    if staged := _stage_marks(progress):
        return staged
    steps = _PHASES.get(progress.kind, ())
    if outcome in (Outcome.FAILED, Outcome.STOPPED):
        behind = _FAILED_AFTER.get(phase, ())
        now = ("✕", phase, BAD) if outcome is Outcome.FAILED else ("■", phase, WARN)
        return [*(("✓", name, GOOD, False) for name in behind), (*now, True)]
    now_in = current_stage(progress)
    if phase not in steps:
        if outcome is Outcome.COMPLETE:
            return [("✓", phase, GOOD, True)]
        return [("●", now_in, NEUTRAL if progress.transferred is None else BUSY, True)]
    at = steps.index(phase)
    if outcome is Outcome.COMPLETE:
        return [("✓", step, GOOD, i == at) for i, step in enumerate(steps)]
    return _marks_around(steps, at, ("●", now_in, BUSY))


def _marks_around(
    steps: Sequence[str], at: int, now: tuple[str, str, tuple[str, str]]
) -> list[tuple[str, str, tuple[str, str], bool]]:
    behind = [("✓", name, GOOD, False) for name in steps[:at]]
    return [*behind, (*now, True), *(("○", name, NEUTRAL, False) for name in steps[at + 1 :])]


def _stage_marks(progress: Progress) -> list[tuple[str, str, tuple[str, str], bool]]:
    """Return the marks of the stages instead of the phases, if known, also after a failure."""
    stages = podcast_steps(progress)
    outcome = progress.outcome
    if stages is None or outcome not in (None, Outcome.FAILED) or progress.phase == "In Queue":
        return []
    names, at = stages
    current = names[at]
    failed = ("✕", f"Failed in {current[:1].lower()}{current[1:]}", BAD)
    return _marks_around(names, at, ("●", current, BUSY) if outcome is None else failed)


def _phase(mark: str, phase: str, tint: tuple[str, str], here: bool) -> str:
    marked = f"{span(mark, color('color', *tint))} "
    now = f'<span class="labext-phase" style="font-weight:600">{marked}{escape(phase)}</span>'
    return now if here else span(f"{marked}{span(escape(phase), MUTED)}")


def _bar(progress: Progress) -> str:
    """Return a bar divided by state or bytes, else a single piece, pale until it has ended."""
    whole_bar = [_Segment("", 1, _is_complete(progress))]
    shares, total, done = _measured(progress) or (whole_bar, 1, None)
    is_indeterminate = done is None and progress.outcome is None and progress.phase != "In Queue"
    strength = "" if done is not None or progress.outcome else ";opacity:0.4"
    if is_indeterminate:
        strength = f";{_STRIPES}"
    total = max(total, 1)
    whole = 100 * fraction_reached(progress)
    pieces = "".join(
        div(
            "",
            f"flex:0 1 {whole * segment.number / total:.2f}%;min-width:2px;"
            f"{color('background-color', *segment.tint)}{strength}",
        )
        for segment in shares
    )
    shape = "display:flex;gap:1px;height:8px;border-radius:4px;overflow:hidden"
    now = int(progress.outcome is Outcome.COMPLETE) if done is None else done
    announced = ", ".join([current_stage(progress), *format_counts(progress)])
    return div(
        pieces,
        f"{shape};margin:6px 0;{TRACK}",
        f'class="labext-bar{" labext-indeterminate" if is_indeterminate else ""}" '
        f'role="progressbar" aria-label="{escape(progress.subject)}" '
        # Screen readers recognize an indeterminate bar by the missing value.
        + ("" if is_indeterminate else f'aria-valuemin="0" aria-valuemax="{total}" ')
        + ("" if is_indeterminate else f'aria-valuenow="{now}" ')
        + f'aria-valuetext="{escape(announced)}"',
    )


def _measured(progress: Progress) -> tuple[list[_Segment], int, int] | None:
    """Return the segments of the bar, its total and the part done; None if unknown."""
    if progress.transferred is not None:
        if not progress.size:
            return None
        done = min(max(progress.transferred, 0), progress.size)
        return [_Segment("", done, _is_complete(progress))], progress.size, done
    if (share := podcast_fraction(progress)) is not None:
        return [_Segment("", round(100 * share), _is_complete(progress))], 100, round(100 * share)
    if _has_parts(progress):
        return _segments(progress), _total(progress), max(progress.done, 0)
    return None


def _legend(progress: Progress) -> str:
    if progress.transferred is not None or progress.kind == SUBMISSION:
        return div(", ".join(format_counts(progress)), MUTED)
    if not _has_parts(progress):
        return ""
    entries = [
        span(
            f"{_square(item.tint)} {item.number:,} {escape(item.state)}",
            "overflow-wrap:break-word;min-width:0",
        )
        for item in _segments(progress)
    ]
    return div(" ".join(entries), "display:flex;flex-wrap:wrap;gap:0 16px")


def _square(tint: tuple[str, str]) -> str:
    return span("■", f"{color('color', *tint)};{COLORED}")


def _reason(progress: Progress) -> str:
    tint = BAD if progress.outcome is Outcome.FAILED else WARN
    return div(
        escape(progress.reason),
        f"margin:4px 0;padding:2px 8px;{edge(*tint)};overflow-wrap:break-word",
    )


def _segments(progress: Progress) -> list[_Segment]:
    """Return the non-zero counts in the bar's order; those beyond eight are combined."""
    order = {state: rank for rank, state in enumerate(STATES)}
    unknown = order["Pending"] - 0.5
    counted = [(s, n) for s, n in progress.states.items() if n > 0]
    counted.sort(key=lambda count: order.get(count[0], unknown))
    shares = [_Segment(s, n, STATES.get(s, NEUTRAL)) for s, n in counted]
    if len(shares) <= _MAX_SEGMENTS:
        return shares
    rest = sum(segment.number for segment in shares[_MAX_SEGMENTS - 1 :])
    return [*shares[: _MAX_SEGMENTS - 1], _Segment("in other states", rest, NEUTRAL)]


def _is_complete(progress: Progress) -> tuple[str, str]:
    ended: Mapping[Outcome | None, tuple[str, str]] = {
        Outcome.COMPLETE: GOOD,
        Outcome.FAILED: BAD,
        Outcome.STOPPED: WARN,
    }
    other = NEUTRAL if progress.transferred is None else BUSY
    return ended.get(progress.outcome) or STATES.get(progress.phase, other)


def _has_parts(progress: Progress) -> bool:
    least = {"batch": 0, "pipeline": 1}.get(progress.kind, 2)
    return _total(progress) >= least


def _growing_count(progress: Progress) -> str:
    """Return the label of a count that grows, since a pipeline's jobs appear stage by stage."""
    return "jobs so far" if progress.kind == "pipeline" and progress.outcome is None else ""


def _total(progress: Progress) -> int:
    """Return the number of parts, at least the sum of the counts."""
    return max(progress.total or 0, sum(n for n in progress.states.values() if n > 0))


def _is_stalled(progress: Progress) -> bool:
    return progress.outcome is None and progress.unchanged >= LONG
