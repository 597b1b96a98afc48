"""The client of any OpenAI-compatible server: chat completions and embeddings.

Source of the shapes: OpenAI's API reference, which Ollama, vLLM, llama.cpp, LM Studio and others
follow: POST `{base}/chat/completions` and `{base}/embeddings`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from labext.sandbox.nb import faults
from labext.sandbox.nb.limits import limit
from labext.sandbox.nb.models import words
from labext.sandbox.nb.models.encryption import key_of
from labext.sandbox.nb.models.exchange import post
from labext.sandbox.nb.models.line import Line
from labext.sandbox.nb.models.provider import Provider, nonsense, without_key
from labext.sandbox.nb.store import Credential, Model
from labext.sandbox.service import Site

BATCH = 128
"""Texts whose embeddings are asked for at once."""

_THOUGHTS = re.compile(r"(?s)\A\s*<think>.*?</think>\s*")
"""What models that reason aloud put before their answer."""


def chat(
    site: Site, model: Model, messages: Sequence[Mapping[str, str]], line: Line | None = None
) -> str:
    """What a model answers to a conversation.

    Args:
        site: has the key.
        model: of type `llm`.
        messages: `{"role": "system|user|assistant", "content": …}` each.
        line: may be hung up while it waits.

    Raises:
        HTTPException: 502, its server failed; 422, it has no server, or no key that can be read.
        HungUp: nobody waits any more.
    """
    provider = provider_of(site, model)
    body = {"model": model.name, "messages": [dict(each) for each in messages], "stream": False}
    answer = post(provider, "/chat/completions", body, line)
    try:
        text = _text(answer["choices"][0]["message"]["content"])
    except (KeyError, IndexError, TypeError):
        raise nonsense(provider, json.dumps(answer)) from None
    text = words.encodable(_THOUGHTS.sub("", text)).strip()
    if not text:
        raise nonsense(provider, "")
    return without_key(provider, text)


def embed(site: Site, model: Model, texts: Sequence[str]) -> list[list[float]]:
    """The vectors of texts, one each, all of one length.

    Raises:
        HTTPException: as `chat`.
    """
    provider = provider_of(site, model)
    vectors: list[list[float]] = []
    for start in range(0, len(texts), BATCH):
        batch = list(texts[start : start + BATCH])
        answer = post(provider, "/embeddings", {"model": model.name, "input": batch})
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            vectors += [_vector(row["embedding"]) for row in rows]
        except (KeyError, TypeError, ValueError):
            raise nonsense(provider, json.dumps(answer)) from None
        if len(rows) != len(batch) or len({len(vector) for vector in vectors}) != 1:
            raise nonsense(provider, json.dumps(answer))
    return vectors


def provider_of(site: Site, model: Model) -> Provider:
    """The server of a model, with its key.

    Raises:
        HTTPException: 422, it has none, or a key that can't be read.
    """
    with site.database.read() as session:
        found = model.credential_id and session.get(Credential, model.credential_id)
        if not found or not found.base_url:
            raise faults.unconfigured(
                f"The model {model.name} has no server. Set another model, or add it again: "
                "`labext sandbox nb models add NAME --type TYPE --base-url URL`."
            )
        seconds = limit(session, "model_seconds")
    return Provider(found.name, found.base_url.rstrip("/"), key_of(site, found), seconds)


def _text(content: Any) -> str:
    """The text of a message: a string, or the parts of one."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    return "".join(part["text"] for part in content if part.get("type") == "text")


def _vector(value: Any) -> list[float]:
    if not value or any(isinstance(v, bool) or not isinstance(v, int | float) for v in value):
        raise ValueError
    return [float(number) for number in value]
