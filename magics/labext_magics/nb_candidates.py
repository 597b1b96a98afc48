"""What completion offers of things that a notebook service may have beyond the contract."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labext.nb import NotebookClient
    from labext_magics.session import Session

Found = tuple[Sequence[str], str]

STATES = ("new", "running", "completed", "failed", "canceled")
"""What a command may be (real services, section nb)."""


def beyond(session: Session, typed: Mapping[str, str]) -> Mapping[str, Callable[[str], Found]]:
    """Return what finds the values of a kind, knowing what is typed before it.

    Args:
        session: of this shell.
        typed: the values of the line so far.
    """

    def named(key: str, look: Callable[[NotebookClient], Sequence[str]]) -> Sequence[str]:
        return session.names.get(f"nb/{key}", lambda: look(session.nb()))

    def insights(_: str) -> Found:
        within = session.notebook.id if session.notebook is not None else None
        return named(f"insights/{within or ''}", lambda nb: nb.insights.names(within)), "insight"

    def source_chats(_: str) -> Found:
        source = typed.get("source") or typed.get("SOURCE")
        if not source:
            return [], "chat"

        def look(nb: NotebookClient) -> Sequence[str]:
            within = session.notebook.id if session.notebook is not None else None
            return nb.source_chats.names(nb.sources.find(source, within))

        return named(f"source_chats/{source}", look), "chat"

    def commands(_: str) -> Found:
        return named(
            "commands", lambda nb: [str(each["job_id"]) for each in nb.commands.iter()]
        ), "command"

    def kinds(_: str) -> Found:
        return named(
            "kinds", lambda nb: [str(e) for e in nb.commands.kinds()["command"]]
        ), "command"

    def settings(fragment: str) -> Found:
        name, equals, _ = fragment.partition("=")
        if not equals:
            return [f"{each}=" for each in named("settings", lambda nb: nb.settings.names())], (
                "setting"
            )
        return [f"{name}={each}" for each in named(f"settings/{name}", _values(name))], "value"

    return {
        "insights": insights,
        "source_chats": source_chats,
        "commands": commands,
        "command_kinds": kinds,
        "command_states": lambda _: (STATES, "state"),
        "service_settings": settings,
    }


def _values(name: str) -> Callable[[NotebookClient], Sequence[str]]:
    """Return what gives the values that a setting may have, as far as they are known."""

    def look(nb: NotebookClient) -> Sequence[str]:
        from labext.nb.beyond.records import WORDS

        known = name.replace("-", "_")
        return WORDS.get(known) or (
            ("yes", "no") if isinstance(nb.settings.get().get(known), bool) else ()
        )

    return look
