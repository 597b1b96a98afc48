"""Each field of the service's operations has a place on a line of `%nb`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from labext_magics.core.grammar import ParsedLine

OPERATIONS = {
    # the operation, its parameters and the line that calls it (NB-18 and following)
    "GET /notebooks": ("archived order-by", "notebooks"),
    "POST /notebooks": ("description", "notebooks new NAME"),
    "GET /notebooks/{id}": ("", "notebooks show X"),
    "PUT /notebooks/{id}": ("name description archived", "notebooks edit X"),
    "DELETE /notebooks/{id}": ("delete-sources yes", "notebooks delete X"),
    "GET /notebooks/{id}/delete-preview": ("preview", "notebooks delete X"),
    "POST /notebooks/{id}/sources/{id}": ("", "notebooks link X Y"),
    "DELETE /notebooks/{id}/sources/{id}": ("", "notebooks unlink X Y"),
    "GET /sources": ("notebook all limit offset order-by", "sources"),
    "POST /sources": ("url title topic notebook sync async", "sources new FILE"),
    "POST /sources/json": ("url title topic notebook sync async", "source"),
    "GET /sources/{id}": ("text", "sources show X"),
    "GET /sources/{id}/status": ("", "sources status X"),
    "PUT /sources/{id}": ("title topic", "sources edit X"),
    "DELETE /sources/{id}": ("yes preview", "sources delete X"),
    "GET /sources/{id}/download": ("to", "sources download X"),
    "HEAD /sources/{id}/download": ("check", "sources download X"),
    "POST /sources/{id}/retry": ("wait", "sources retry X"),
    "GET /sources/{id}/insights": ("", "sources insights X"),
    "GET /notes": ("notebook all", "notes"),
    "POST /notes": ("title type notebook", "notes new TEXT"),
    "GET /notes/{id}": ("", "notes show X"),
    "PUT /notes/{id}": ("title type", "notes edit X"),
    "DELETE /notes/{id}": ("yes preview", "notes delete X"),
    "GET /chat/sessions": ("notebook all", "sessions"),
    "POST /chat/sessions": ("notebook title model", "sessions new"),
    "GET /chat/sessions/{id}": ("", "sessions show X"),
    "PUT /chat/sessions/{id}": ("title model", "sessions edit X"),
    "DELETE /chat/sessions/{id}": ("yes preview", "sessions delete X"),
    "POST /chat/execute": ("session no-sources no-notes model source note", "chat MESSAGE"),
    "POST /chat/context": ("notebook no-sources no-notes", "sessions context X"),
    "POST /search": (
        "type limit source note min-similarity no-sources no-notes notebook all",
        "search QUERY",
    ),
    "POST /search/ask": (
        "model limit source note min-similarity no-sources no-notes notebook all "
        "strategy-model answer-model final-answer-model",
        "ask QUESTION",
    ),
    "POST /search/ask/simple": ("simple", "ask QUESTION"),
    "GET /transformations": ("", "transformations"),
    "POST /transformations": (
        "prompt title description apply-default model",
        "transformations new X",
    ),
    "POST /transformations/execute": ("source note model save notebook", "transform X"),
    "GET /transformations/default-prompt": ("", "transformations prompt"),
    "PUT /transformations/default-prompt": ("set clear", "transformations prompt"),
    "GET /transformations/{id}": ("", "transformations show X"),
    "PUT /transformations/{id}": (
        "name prompt title description apply-default model no-model",
        "transformations edit X",
    ),
    "DELETE /transformations/{id}": ("yes preview", "transformations delete X"),
    "GET /models": ("type", "models"),
    "POST /models": ("type provider credential", "models new X --type llm --provider openai"),
    "DELETE /models/{id}": ("yes preview", "models delete X"),
    "POST /models/{id}/test": ("", "models test X"),
    "GET /models/defaults": ("", "models defaults"),
    "PUT /models/defaults": ("set clear", "models defaults"),
    "GET /models/providers": ("", "models providers"),
    "GET /models/discover/{provider}": ("", "models discover openai"),
    "POST /models/sync/{provider}": ("", "models sync openai"),
    "POST /models/sync": ("", "models sync"),
    "POST /models/auto-assign": ("", "models auto-assign"),
    "GET /models/count/{provider}": ("", "models count openai"),
    "GET /models/by-provider/{provider}": ("", "models by-provider openai"),
    "GET /credentials/status": ("", "credentials status"),
    "GET /credentials/env-status": ("", "credentials status"),
    "GET /credentials": ("provider", "credentials"),
    "GET /credentials/by-provider/{provider}": ("", "credentials by-provider openai"),
    "POST /credentials": ("name base-url no-key", "credentials new openai --name lab"),
    "GET /credentials/{id}": ("", "credentials show X"),
    "PUT /credentials/{id}": (
        "name base-url no-base-url new-key no-key",
        "credentials edit X",
    ),
    "DELETE /credentials/{id}": ("yes preview", "credentials delete X"),
    "POST /credentials/{id}/test": ("", "credentials test X"),
    "POST /credentials/{id}/discover": ("", "credentials discover X"),
    "POST /credentials/{id}/register-models": ("model all", "credentials register X"),
    # the schema of Open Notebook 1.14: what it has beyond the contract
    "GET /settings": ("", "settings"),
    "PUT /settings": ("set", "settings"),
    "GET /commands/jobs": ("command status limit", "commands"),
    "GET /commands/jobs/{id}": ("", "commands show command:1"),
    "POST /commands/jobs": ("set app", "commands run NAME"),
    "DELETE /commands/jobs/{id}": ("yes preview", "commands cancel command:1"),
    "GET /commands/registry/debug": ("", "commands kinds"),
    "GET /sources/{id}/insights of many": ("source notebook all", "insights"),
    "POST /sources/{id}/insights": ("source model", "insights new X --source Y"),
    "GET /insights/{id}": ("source", "insights show X"),
    "DELETE /insights/{id}": ("source yes preview", "insights delete X"),
    "POST /insights/{id}/save-as-note": ("notebook", "insights save X"),
    "POST /embed": ("", "sources embed X"),
    "POST /embed of a note": ("", "notes embed X"),
    "POST /embeddings/rebuild": ("mode no-sources no-notes no-insights", "embeddings rebuild"),
    "GET /embeddings/rebuild/{id}/status": ("", "embeddings status command:1"),
    "GET /sources/{id}/chat/sessions": ("source", "source-chats --source X"),
    "POST /sources/{id}/chat/sessions": ("title model new", "sources chat X MESSAGE"),
    "GET /sources/{id}/chat/sessions/{id}": ("source", "source-chats show X --source Y"),
    "PUT /sources/{id}/chat/sessions/{id}": ("title model", "source-chats edit X --source Y"),
    "DELETE /sources/{id}/chat/sessions/{id}": ("yes preview", "source-chats delete X --source Y"),
    "POST /sources/{id}/chat/sessions/{id}/messages": (
        "session model",
        "sources chat X MESSAGE",
    ),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_field_has_an_option(operation: str, parse: Callable[..., ParsedLine]) -> None:
    fields, line = OPERATIONS[operation]
    command = parse(line).command
    assert command is not None
    assert set(fields.split()) <= {option.name for option in command.options}
