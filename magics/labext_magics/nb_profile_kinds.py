"""The two kinds of profiles, and which one a line means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from labext import wording
from labext.errors import ConflictError, NotFoundError
from labext_magics import kinds
from labext_magics.dispatch import Call
from labext_magics.grammar import Parameter
from labext_magics.line import quote

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.records import Record

KindName = Literal["episode", "speaker"]
BOTH: tuple[KindName, ...] = ("episode", "speaker")


def group(call: Call, kind: KindName) -> Any:
    """Return the client's methods for profiles of a kind."""
    return call.nb.episode_profiles if kind == "episode" else call.nb.speaker_profiles


def found(call: Call, named: str, kind: KindName | None) -> tuple[KindName, Record]:
    """Return the profile that a name or an identifier means, and its kind.

    Raises:
        NotFoundError: none is called so; a near name is told.
        ConflictError: one of each kind is, and the line doesn't say which.
    """
    hits: list[tuple[KindName, Record]] = []
    for each in BOTH if kind is None else (kind,):
        fits = [record for record in group(call, each).iter() if named in _called(record)]
        hits += [(each, record) for record in fits]
    if len(hits) > 1:
        raise ConflictError(
            f"There is an episode profile {named} and a speaker profile {named}.",
            f"Add `--kind {' or `--kind '.join(f'{each}`' for each in BOTH)}.",
        )
    if not hits:
        of = "" if kind is None else f"{kind} "
        names = [n for each in ((kind,) if kind else BOTH) for n in group(call, each).names()]
        raise NotFoundError(
            f"There is no {of}profile {wording.shown(named)}{wording.did_you_mean(named, names)}.",
            "`%nb profiles` lists those there are.",
        )
    return hits[0]


def _called(record: Record) -> tuple[str, str]:
    return str(record["id"]), str(record["name"])


def check_free(call: Call, kind: KindName, name: str) -> None:
    """Raise ConflictError if a profile of a kind is called so already."""
    if name in group(call, kind).names():
        raise ConflictError(
            f"There is {wording.article(kind)} profile {name} already.",
            f"Take another name, or see it with `%nb profiles show {quote(name)}`.",
        )


def row(call: Call, kind: KindName, record: Record) -> pd.DataFrame:
    """Return all that is known of one profile, in a row."""
    from labext_magics import nb_profile_rows

    return nb_profile_rows.one(call.nb, kind, record)


KIND = Parameter("kind", kinds.choice(*BOTH), "only profiles of this kind")
