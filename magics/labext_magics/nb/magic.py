"""Declaration of the `%nb` magic."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from labext.errors import LabextError
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Magic
from labext_magics.nb import (
    add,
    chat,
    commands,
    connect,
    credentials,
    embeddings,
    evaluate,
    export,
    insights,
    model_setup,
    models,
    notebooks,
    notes,
    podcasts,
    processing,
    profiles,
    scope,
    search,
    setup_hints,
    sources,
    transformations,
    view,
)


def _adapt_error(call: Call, error: LabextError) -> LabextError:
    return setup_hints.add_model_hint(call, scope.name_deleted_notebook(call, error))


def _with_heading(heading: str, *groups: Iterable[Command]) -> list[Command]:
    return [replace(command, heading=heading) for group in groups for command in group]


MAGIC = Magic(
    "nb",
    "Notebooks and knowledge: sources, notes, search, answers, chat, transformations, podcasts.",
    [
        *_with_heading(
            "Most used",
            notebooks.SHORTCUTS,
            add.SHORTCUTS,
            notes.SHORTCUTS,
            search.SHORTCUTS,
            evaluate.SHORTCUTS,
            export.SHORTCUTS,
            view.SHORTCUTS,
            chat.SHORTCUTS,
            transformations.SHORTCUTS,
            podcasts.SHORTCUTS,
        ),
        *_with_heading("Notebooks", notebooks.COMMANDS),
        *_with_heading(
            "Sources",
            sources.COMMANDS,
            processing.COMMANDS,
            embeddings.SOURCE_COMMANDS,
            chat.SOURCE_CHAT_COMMANDS,
            notebooks.SOURCE_LINK_COMMANDS,
            insights.COMMANDS,
        ),
        *_with_heading("Notes", notes.COMMANDS, embeddings.NOTE_COMMANDS),
        *_with_heading("Chats", chat.SESSION_COMMANDS, chat.SOURCE_CHATS_COMMANDS),
        *_with_heading("Transformations", transformations.COMMANDS),
        *_with_heading("Podcasts", podcasts.COMMANDS, profiles.COMMANDS),
        *_with_heading("Models", models.COMMANDS, model_setup.COMMANDS),
        *_with_heading("Credentials", credentials.COMMANDS),
        *_with_heading(
            "The service",
            connect.COMMANDS,
            connect.SETTINGS_COMMANDS,
            commands.COMMANDS,
            embeddings.COMMANDS,
        ),
    ],
    adapt_error=_adapt_error,
)
