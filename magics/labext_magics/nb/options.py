"""Arguments and options shared by `%nb` commands."""

from __future__ import annotations

from dataclasses import replace

from labext_magics.core import value_types
from labext_magics.core.grammar import Parameter

IN_NOTEBOOK = Parameter(
    "notebook", value_types.NOTEBOOK, "use this notebook instead of the one in use"
)
INTO_NOTEBOOK = Parameter(
    "notebook", value_types.NOTEBOOK, "the target notebook; by default the one in use"
)
ALL = Parameter("all", None, "in all notebooks, not only the one in use", dest="all_notebooks")

TITLE = Parameter("title", value_types.text_type("TITLE"), "the title")
TOPIC = Parameter("topic", value_types.text_type("TOPIC"), "the topic")
DESCRIPTION = Parameter("description", value_types.text_type(), "the description")
LIMIT = Parameter("limit", value_types.INTEGER, "maximum number of results")
PASSAGES = replace(LIMIT, help="maximum number of passages")
OFFSET = Parameter("offset", value_types.NON_NEGATIVE, "number of results to skip")
MODEL = Parameter("model", value_types.MODEL, "the model to use", dest="model_override")

SOURCES = Parameter("source", value_types.SOURCE, "only this source", many=True, dest="sources")
NOTES = Parameter("note", value_types.NOTE, "only this note", many=True, dest="notes")
NO_SOURCES = Parameter("no-sources", None, "exclude sources")
NO_NOTES = Parameter("no-notes", None, "exclude notes")
MIN_SIMILARITY = Parameter("min-similarity", value_types.SIMILARITY, "minimum similarity")

ONE_NOTEBOOK = Parameter(
    "NOTEBOOK", value_types.NOTEBOOK, "a notebook, by its name or id", required=True
)
ONE_SOURCE = Parameter("SOURCE", value_types.SOURCE, "a source, by its title or id", required=True)
ONE_NOTE = Parameter("NOTE", value_types.NOTE, "a note, by its title or id", required=True)
ONE_CHAT = Parameter("SESSION", value_types.CHAT, "a chat, by its title or id", required=True)
SOME_SOURCES = replace(ONE_SOURCE, many=True, dest="sources")
SOME_NOTES = replace(ONE_NOTE, many=True, dest="notes")
SOME_CHATS = replace(ONE_CHAT, many=True, dest="sessions")
ONE_EPISODE = Parameter(
    "EPISODE", value_types.EPISODE, "an episode, by its name or id", required=True
)
SOME_EPISODES = replace(ONE_EPISODE, many=True, dest="episodes")
SPEAKERS = Parameter(
    "speakers", value_types.SPEAKERS, "the speakers: speaker profiles; the first one starts"
)
ONE_PROFILE = Parameter(
    "PROFILE", value_types.PODCAST_PROFILE, "a profile, by its name or id", required=True
)
SOME_PROFILES = replace(ONE_PROFILE, many=True, dest="profiles")
ONE_TRANSFORMATION = Parameter(
    "TRANSFORMATION",
    value_types.TRANSFORMATION,
    "a transformation, by its name or id",
    required=True,
)
SOME_TRANSFORMATIONS = replace(ONE_TRANSFORMATION, many=True, dest="transformations")
