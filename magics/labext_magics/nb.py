"""`%nb`: what can be said on its line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from labext_magics import (
    nb_add,
    nb_chat,
    nb_commands,
    nb_connect,
    nb_credentials,
    nb_embeddings,
    nb_episodes,
    nb_insights,
    nb_links,
    nb_model_setup,
    nb_models,
    nb_notebooks,
    nb_notes,
    nb_podcast,
    nb_processing,
    nb_profiles,
    nb_search,
    nb_sessions,
    nb_settings,
    nb_source_chats,
    nb_sources,
    nb_transform,
    nb_transformations,
)
from labext_magics.grammar import Command, Magic


def _under(heading: str, *groups: Iterable[Command]) -> list[Command]:
    return [replace(command, heading=heading) for group in groups for command in group]


MAGIC = Magic(
    "nb",
    "Notebooks and knowledge: sources, notes, search, answers, chat, transformations, podcasts.",
    [
        *_under(
            "What is said most",
            nb_notebooks.SHORTCUTS,
            nb_add.SHORTCUTS,
            nb_notes.SHORTCUTS,
            nb_search.SHORTCUTS,
            nb_chat.SHORTCUTS,
            nb_transform.SHORTCUTS,
            nb_podcast.SHORTCUTS,
            nb_episodes.SHORTCUTS,
        ),
        *_under("Notebooks", nb_notebooks.COMMANDS),
        *_under(
            "Sources",
            nb_sources.COMMANDS,
            nb_processing.COMMANDS,
            nb_embeddings.OF_SOURCES,
            nb_source_chats.OF_SOURCES,
            nb_links.OF_SOURCES,
            nb_insights.COMMANDS,
        ),
        *_under("Notes", nb_notes.COMMANDS, nb_embeddings.OF_NOTES),
        *_under("Chats", nb_sessions.COMMANDS, nb_source_chats.COMMANDS),
        *_under("Transformations", nb_transformations.COMMANDS),
        *_under("Podcasts", nb_episodes.COMMANDS, nb_profiles.COMMANDS),
        *_under("Models", nb_models.COMMANDS),
        *_under("Credentials", nb_credentials.COMMANDS),
        *_under(
            "The service",
            nb_connect.COMMANDS,
            nb_settings.COMMANDS,
            nb_commands.COMMANDS,
            nb_embeddings.COMMANDS,
        ),
    ],
    advise=nb_model_setup.advise,
)
