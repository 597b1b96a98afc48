"""A `Progress` as a picture in HTML and as one line of text.

The picture is the same in the live view and in the saved notebook. Names, states and reasons come
from a service: they are shown, never obeyed.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import NamedTuple

from labext.progress import Outcome, Progress
from labext_widgets import parts, stages
from labext_widgets.markup import FAINT, MUTED, clock, colour, div, edge, escape, plain, span
from labext_widgets.tints import BAD, BUSY, GOOD, NEUTRAL, STATES, WARN

LONG = 30.0
"""Seconds without a change after which the picture says so."""

_PHASES = {
    "batch": ("Running", "Aggregating", "Complete"),
    "job": ("In Queue", "Running", "Complete"),
    "pipeline": ("In Queue", "Running", "Complete"),
    "ingestion": ("In Queue", "Running", "Complete"),
    "podcast": ("In Queue", "Running", "Complete"),
}
_STRIPES = (
    "opacity:0.6;background-image:repeating-linear-gradient("
    "-45deg,rgba(255,255,255,0.5) 0 6px,transparent 6px 12px)"
)
"""Of a bar without a length. They stand still here, and the live view's style sheet moves them."""

_FAILED_AFTER = {"AggregationFailed": ("Running",)}
_MANY = 8


class _Share(NamedTuple):
    state: str
    number: int
    tint: tuple[str, str]


def html(progress: Progress, note: str = "", seen: str = "") -> str:
    """Return the picture: name, phases, a bar by state, a reason and a note where there is one.

    Args:
        progress: what to draw.
        note: one more sentence, about the watching and not about what is watched.
        seen: when this was seen; for a picture that may be looked at much later.
    """
    rows = [_title(progress), _phases(progress), _bar(progress), _legend(progress)]
    if _stands_still(progress):
        rows.append(div(f"Nothing has changed for {clock(progress.unchanged)}.", MUTED))
    if progress.reason:
        rows.append(_reason(progress))
    rows.append(parts.html(progress.parts))
    if note:
        rows.append(div(escape(note), "margin-top:4px"))
    if seen and progress.outcome is None:
        rows.append(div(f"As seen {escape(seen)}.", MUTED))
    style = "max-width:700px;padding:4px 0;font-size:13px;line-height:1.6"
    return div("".join(rows), f"{style};font-variant-numeric:tabular-nums")


def text(progress: Progress, note: str = "") -> str:
    """Return one line.

    `folds: Running, 180 of 250 complete, 8 Running (batch, watched 0:42)`, or, where bytes move,
    `folds: Fetching, 120 of 340 MB (0:12)`. A pipeline that runs says its stage for its phase.
    """
    said = [plain(stages.here(progress)), *tally(progress), *pace(progress)]
    line = f"{plain(progress.subject)}: {', '.join(said)}"
    if progress.reason:
        line += f": {plain(progress.reason)}"
    kind = "" if progress.moved is not None else f"{plain(progress.kind)}, "
    line += f" ({kind}{_time(progress)}"
    if _stands_still(progress):
        line += f", nothing has changed for {clock(progress.unchanged)}"
    return f"{line}){note and ' ' + plain(note)}"


def whole(progress: Progress, note: str = "") -> str:
    """Return the line, and below it one for every part that failed, with its reason."""
    return "\n".join([text(progress, note), *parts.failures(progress.parts)])


def announcement(progress: Progress) -> str:
    """Return what a screen reader is told, which changes with the phase or the stage alone."""
    said = f"{plain(progress.subject)}: {plain(stages.here(progress))}"
    return f"{said}, {plain(progress.reason)}" if progress.reason else said


def how_to_go_on(seen: Progress | None, again: str) -> tuple[str, str]:
    """Return what a watch that was stopped says: what goes on, and the line that takes it up."""
    subject = f"the {plain(seen.kind)}" if seen else "what was watched"
    return f"Watching stopped; {subject} goes on.", f"`{plain(again)}` takes it up again."


def amount(moved: int, size: int | None) -> str:
    """Return bytes as `120 of 340 MB`, or as `120 MB` where the whole is not known."""
    most = max(moved, size or 0)
    power = next((n for n in (3, 2, 1) if most >= 1000**n), 0)
    whole = most // 1000**power
    digits = 0 if power == 0 or whole >= 100 else 1 if whole >= 10 else 2
    shown = [f"{n / 1000**power:,.{digits}f}" for n in (moved, size) if n is not None]
    return f"{' of '.join(shown)} {('bytes', 'kB', 'MB', 'GB')[power]}"


def tally(progress: Progress) -> list[str]:
    """Return how far it is: parts in their states, or bytes; nothing where that isn't known."""
    if progress.moved is not None:
        known = progress.moved > 0 or progress.size
        return [amount(progress.moved, progress.size)] if known else []
    if not _has_parts(progress) or not _total(progress):
        return []
    done = max(progress.done, 0)
    rest = [f"{each.number:,} {plain(each.state)}" for each in _shares(progress)]
    return [
        " ".join(
            filter(None, (f"{done:,} of {_total(progress):,}", _so_far(progress), "complete"))
        ),
        *(each for each in rest if not each.endswith(" Complete")),
    ]


def pace(progress: Progress) -> list[str]:
    """Return how fast a batch's jobs end, and how long the others will take: `12 jobs/min`."""
    if progress.rate is None or progress.remaining is None:
        return []
    for unit, seconds in (("s", 1), ("min", 60), ("h", 3600)):
        if (number := progress.rate * seconds) >= 1 or unit == "h":
            break
    shown = f"{number:,.0f}" if number >= 10 else f"{number:.2g}"
    return [f"{shown} jobs/{unit}", f"about {_roughly(progress.remaining)} left"]


def _roughly(seconds: float) -> str:
    """Return seconds as a time that does not claim to be exact: `20 s`, `4 min`, `2 h 10 min`."""
    if seconds < 55:
        return f"{max(ceil(seconds / 5) * 5, 5)} s"
    minutes = ceil(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(ceil(minutes / 10) * 10, 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def _time(progress: Progress) -> str:
    if progress.moved is not None:
        return clock(progress.elapsed)
    if progress.running is not None:
        return f"running {clock(progress.running)}"
    return f"watched {clock(progress.elapsed)}"


def _title(progress: Progress) -> str:
    name = span(escape(progress.subject), "font-weight:600;overflow-wrap:break-word;min-width:0")
    kind = escape(progress.kind)
    if _has_parts(progress) and (total := _total(progress)):
        kind += f", {total:,} {so_far}" if (so_far := _so_far(progress)) else f" of {total:,}"
    times = " · ".join(filter(None, (", ".join(pace(progress)), _time(progress))))
    return div(
        f"{name} {span(kind, MUTED)} {span(escape(times), f'margin-left:auto;{MUTED}')}",
        "display:flex;flex-wrap:wrap;align-items:baseline;gap:0 8px",
    )


def _phases(progress: Progress) -> str:
    """The phases apart: those behind, the one it is in, those to come."""
    return div(
        " ".join(_phase(*each) for each in _marks(progress)),
        "display:flex;flex-wrap:wrap;gap:0 16px",
    )


def _marks(progress: Progress) -> list[tuple[str, str, tuple[str, str], bool]]:
    """(mark, phase, colour, whether it is in this one), in order."""
    phase, outcome = progress.phase, progress.outcome
    if staged := _stage_marks(progress):
        return staged
    steps = _PHASES.get(progress.kind, ())
    if outcome in (Outcome.FAILED, Outcome.STOPPED):
        behind = _FAILED_AFTER.get(phase, ())
        now = ("✕", phase, BAD) if outcome is Outcome.FAILED else ("■", phase, WARN)
        return [*(("✓", each, GOOD, False) for each in behind), (*now, True)]
    if phase not in steps:
        if outcome is Outcome.COMPLETE:
            return [("✓", phase, GOOD, True)]
        return [("●", phase, NEUTRAL if progress.moved is None else BUSY, True)]
    at, now_in = steps.index(phase), stages.here(progress)
    if outcome is Outcome.COMPLETE:
        return [("✓", each, GOOD, i == at) for i, each in enumerate(steps)]
    return [
        ("✓", each, GOOD, False)
        if i < at
        else ("●", now_in, BUSY, True)
        if i == at
        else ("○", each, NEUTRAL, False)
        for i, each in enumerate(steps)
    ]


def _stage_marks(progress: Progress) -> list[tuple[str, str, tuple[str, str], bool]]:
    """The stages instead of the phases, where they are known: also of what failed in one."""
    known = stages.steps(progress)
    outcome = progress.outcome
    if known is None or outcome not in (None, Outcome.FAILED) or progress.phase == "In Queue":
        return []
    names, at = known
    here = names[at]
    failed = ("✕", f"Failed in {here[:1].lower()}{here[1:]}", BAD)
    now = ("●", here, BUSY) if outcome is None else failed
    behind = [("✓", each, GOOD, False) for each in names[:at]]
    return [*behind, (*now, True), *(("○", each, NEUTRAL, False) for each in names[at + 1 :])]


def _phase(mark: str, phase: str, tint: tuple[str, str], here: bool) -> str:
    marked = f"{span(mark, colour('color', *tint))} "
    now = f'<span class="labext-now" style="font-weight:600">{marked}{escape(phase)}</span>'
    return now if here else span(f"{marked}{span(escape(phase), MUTED)}")


def _bar(progress: Progress) -> str:
    """A bar stacked by state, or of bytes; else one piece, pale until it has ended."""
    shares, total, done = _measured(progress) or ([_Share("", 1, _whole(progress))], 1, None)
    is_indeterminate = done is None and progress.outcome is None and progress.phase != "In Queue"
    strength = "" if done is not None or progress.outcome else ";opacity:0.4"
    if is_indeterminate:
        strength = f";{_STRIPES}"
    total = max(total, 1)
    whole = 100 * stages.reached(progress)
    pieces = "".join(
        div(
            "",
            f"flex:0 1 {whole * each.number / total:.2f}%;min-width:2px;"
            f"{colour('background-color', *each.tint)}{strength}",
        )
        for each in shares
    )
    shape = "display:flex;gap:1px;height:8px;border-radius:4px;overflow:hidden"
    now = int(progress.outcome is Outcome.COMPLETE) if done is None else done
    return div(
        pieces,
        f"{shape};margin:6px 0;{FAINT}",
        f'class="labext-bar{" labext-indeterminate" if is_indeterminate else ""}" '
        f'role="progressbar" aria-label="{escape(progress.subject)}" '
        # Without a value, which is how a screen reader knows that it is indeterminate.
        + ("" if is_indeterminate else f'aria-valuemin="0" aria-valuemax="{total}" ')
        + ("" if is_indeterminate else f'aria-valuenow="{now}" ')
        + f'aria-valuetext="{escape(", ".join([stages.here(progress), *tally(progress)]))}"',
    )


def _measured(progress: Progress) -> tuple[list[_Share], int, int] | None:
    """The pieces of the bar, the whole, and how much of it is done; None if that isn't known."""
    if progress.moved is not None:
        if not progress.size:
            return None
        done = min(max(progress.moved, 0), progress.size)
        return [_Share("", done, _whole(progress))], progress.size, done
    if (share := stages.share(progress)) is not None:
        return [_Share("", round(100 * share), _whole(progress))], 100, round(100 * share)
    if _has_parts(progress):
        return _shares(progress), _total(progress), max(progress.done, 0)
    return None


def _legend(progress: Progress) -> str:
    if progress.moved is not None:
        return div(", ".join(tally(progress)), MUTED)
    if not _has_parts(progress):
        return ""
    entries = [
        span(
            f"{span('■', colour('color', *each.tint))} {each.number:,} {escape(each.state)}",
            "overflow-wrap:break-word;min-width:0",
        )
        for each in _shares(progress)
    ]
    return div(" ".join(entries), "display:flex;flex-wrap:wrap;gap:0 16px")


def _reason(progress: Progress) -> str:
    tint = BAD if progress.outcome is Outcome.FAILED else WARN
    return div(
        escape(progress.reason),
        f"margin:4px 0;padding:2px 8px;{edge(*tint)};overflow-wrap:break-word",
    )


def _shares(progress: Progress) -> list[_Share]:
    """The counts that are above none, in the bar's order; more than eight are drawn together."""
    order = {state: rank for rank, state in enumerate(STATES)}
    unknown = order["Pending"] - 0.5
    counted = [(s, n) for s, n in progress.states.items() if n > 0]
    counted.sort(key=lambda each: order.get(each[0], unknown))
    shares = [_Share(s, n, STATES.get(s, NEUTRAL)) for s, n in counted]
    if len(shares) <= _MANY:
        return shares
    rest = sum(each.number for each in shares[_MANY - 1 :])
    return [*shares[: _MANY - 1], _Share("in other states", rest, NEUTRAL)]


def _whole(progress: Progress) -> tuple[str, str]:
    ended: Mapping[Outcome | None, tuple[str, str]] = {
        Outcome.COMPLETE: GOOD,
        Outcome.FAILED: BAD,
        Outcome.STOPPED: WARN,
    }
    other = NEUTRAL if progress.moved is None else BUSY
    return ended.get(progress.outcome) or STATES.get(progress.phase, other)


def _has_parts(progress: Progress) -> bool:
    least = {"batch": 0, "pipeline": 1}.get(progress.kind, 2)
    return _total(progress) >= least


def _so_far(progress: Progress) -> str:
    """Return words for a count that grows: a pipeline's jobs come stage by stage."""
    return "jobs so far" if progress.kind == "pipeline" and progress.outcome is None else ""


def _total(progress: Progress) -> int:
    """How many parts there are, never less than are counted."""
    return max(progress.total or 0, sum(n for n in progress.states.values() if n > 0))


def _stands_still(progress: Progress) -> bool:
    return progress.outcome is None and progress.unchanged >= LONG
