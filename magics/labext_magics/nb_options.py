"""Arguments and options that commands of `%nb` share."""

from __future__ import annotations

from dataclasses import replace

from labext_magics import kinds
from labext_magics.grammar import Parameter

IN_NOTEBOOK = Parameter("notebook", kinds.NOTEBOOK, "this notebook's, not those of the one in use")
INTO_NOTEBOOK = Parameter("notebook", kinds.NOTEBOOK, "into this notebook, not the one in use")
ALL = Parameter("all", None, "not only the notebook in use", dest="every")

TITLE = Parameter("title", kinds.text("TITLE"), "what it is called")
TOPIC = Parameter("topic", kinds.text("TOPIC"), "what it is about")
DESCRIPTION = Parameter("description", kinds.text(), "what it is for")
LIMIT = Parameter("limit", kinds.WHOLE, "at most this many")
OFFSET = Parameter("offset", kinds.FROM_ZERO, "leave out this many at the beginning")
MODEL = Parameter("model", kinds.MODEL, "the model that answers", dest="model_override")

SOURCES = Parameter("source", kinds.SOURCE, "only this source", many=True, dest="sources")
NOTES = Parameter("note", kinds.NOTE, "only this note", many=True, dest="notes")
NO_SOURCES = Parameter("no-sources", None, "leave the sources out")
NO_NOTES = Parameter("no-notes", None, "leave the notes out")
MIN_SIMILARITY = Parameter(
    "min-similarity", kinds.SIMILARITY, "leave out what is less alike than this"
)

ONE_NOTEBOOK = Parameter(
    "NOTEBOOK", kinds.NOTEBOOK, "a notebook, by its name or its id", required=True
)
ONE_SOURCE = Parameter("SOURCE", kinds.SOURCE, "a source, by its title or its id", required=True)
ONE_NOTE = Parameter("NOTE", kinds.NOTE, "a note, by its title or its id", required=True)
ONE_CHAT = Parameter("SESSION", kinds.CHAT, "a chat, by its title or its id", required=True)
SOME_SOURCES = replace(ONE_SOURCE, many=True, dest="sources")
SOME_NOTES = replace(ONE_NOTE, many=True, dest="notes")
SOME_CHATS = replace(ONE_CHAT, many=True, dest="sessions")
ONE_EPISODE = Parameter(
    "EPISODE", kinds.EPISODE, "an episode, by its name or its id", required=True
)
SOME_EPISODES = replace(ONE_EPISODE, many=True, dest="episodes")
SPEAKERS = Parameter("speakers", kinds.SPEAKERS, "who speaks: speaker profiles, the first begins")
ONE_PROFILE = Parameter(
    "PROFILE", kinds.PODCAST_PROFILE, "a profile, by its name or its id", required=True
)
SOME_PROFILES = replace(ONE_PROFILE, many=True, dest="profiles")
ONE_TRANSFORMATION = Parameter(
    "TRANSFORMATION",
    kinds.TRANSFORMATION,
    "a transformation, by its name or its id",
    required=True,
)
SOME_TRANSFORMATIONS = replace(ONE_TRANSFORMATION, many=True, dest="transformations")
