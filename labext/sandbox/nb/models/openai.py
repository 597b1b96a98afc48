"""The client of any OpenAI-compatible server: its chat, its vectors, its speech, its hearing.

Source of the shapes: OpenAI's API reference, which Ollama, vLLM, llama.cpp, LM Studio and others
follow: POST `{base}/chat/completions`, `{base}/embeddings`, `{base}/audio/speech` and
`{base}/audio/transcriptions`, GET `{base}/models`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from labext.sandbox.nb.models.exchange import fetched, told
from labext.sandbox.nb.models.line import Line
from labext.sandbox.nb.models.provider import Provider, nonsense, without_key
from labext.sandbox.nb.models.reaching import provider_of
from labext.sandbox.nb.models.sending import Form, Json
from labext.sandbox.nb.store import Model
from labext.sandbox.nb.text import tokens
from labext.sandbox.service import Site

BATCH = 128
"""Texts whose embeddings are asked for at once."""

_THOUGHTS = re.compile(r"(?s)\A\s*<think>.*?</think>\s*")
"""What models that reason aloud put before their answer."""

_SOUNDS = re.compile(rb"RIFF|ID3|OggS|fLaC|\xff[\xe0-\xff]")
"""How files of sound begin: WAV, MP3, OGG, FLAC."""

_LONGEST_NAME = 500


def chat(
    site: Site,
    model: Model,
    messages: Sequence[Mapping[str, str]],
    line: Line | None = None,
    max_tokens: int | None = None,
) -> str:
    """What a model answers to a conversation.

    Args:
        site: has the key.
        model: of type `llm`.
        messages: `{"role": "system|user|assistant", "content": …}` each.
        line: may be hung up while it waits.
        max_tokens: of the answer; None leaves it to the server.

    Raises:
        HTTPException: 502, its server failed; 422, it has no server, or no key that can be read.
        HungUp: nobody waits any more.
    """
    provider = provider_of(site, model)
    turns = [dict(each) for each in messages]
    body: dict[str, Any] = {"model": model.name, "messages": turns, "stream": False}
    if max_tokens is not None:
        body["max_tokens"] = max_tokens
    answer = told(provider, "/chat/completions", Json(body), line)
    try:
        text = _text(answer["choices"][0]["message"]["content"])
    except (KeyError, IndexError, TypeError):
        raise nonsense(provider, json.dumps(answer)) from None
    text = tokens.encodable(_THOUGHTS.sub("", text)).strip()
    if not text:
        raise nonsense(provider, "")
    return without_key(provider, text)


def embed(
    site: Site, model: Model, texts: Sequence[str], line: Line | None = None
) -> list[list[float]]:
    """The vectors of texts, one each, all of one length.

    Raises:
        HTTPException: as `chat`.
        HungUp: nobody waits any more.
    """
    provider = provider_of(site, model)
    vectors: list[list[float]] = []
    for start in range(0, len(texts), BATCH):
        batch = list(texts[start : start + BATCH])
        body = Json({"model": model.name, "input": batch})
        answer = told(provider, "/embeddings", body, line)
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            vectors += [_vector(row["embedding"]) for row in rows]
        except (KeyError, TypeError, ValueError):
            raise nonsense(provider, json.dumps(answer)) from None
        if len(rows) != len(batch) or len({len(vector) for vector in vectors}) != 1:
            raise nonsense(provider, json.dumps(answer))
    return vectors


def speech(site: Site, model: Model, text: str, voice: str, line: Line | None = None) -> bytes:
    """A text, spoken.

    Args:
        site: has the key.
        model: of type `tts`.
        text: what is said.
        voice: the server's name of who says it: `alloy`.
        line: may be hung up while it waits.

    Returns:
        a WAV file, or what else a server that knows no WAV makes: MP3, OGG or FLAC.

    Raises:
        HTTPException: as `chat`.
        HungUp: nobody waits any more.
    """
    provider = provider_of(site, model)
    body = {"model": model.name, "input": text, "voice": voice, "response_format": "wav"}
    sound = fetched(provider, "/audio/speech", Json(body), line, accept="audio/wav, audio/*")
    if not _SOUNDS.match(sound):
        raise nonsense(provider, sound.decode("utf-8", "replace"))
    return sound


def transcription(site: Site, model: Model, path: Path, line: Line | None = None) -> str:
    """What is said in a file of sound; empty where nobody speaks.

    Args:
        site: has the key.
        model: of type `stt`.
        path: the file; its suffix tells the server its format.
        line: may be hung up while it waits.

    Raises:
        HTTPException: as `chat`.
        HungUp: nobody waits any more.
        OSError: the file can't be read.
    """
    provider = provider_of(site, model)
    form = Form({"model": model.name, "response_format": "json"}, "file", path)
    answer = told(provider, "/audio/transcriptions", form, line)
    text = answer.get("text") if isinstance(answer, dict) else None
    if not isinstance(text, str):
        raise nonsense(provider, json.dumps(answer))
    return without_key(provider, tokens.encodable(text).strip())


def listed(provider: Provider) -> list[str]:
    """The names of the models that a server has, in its order.

    Raises:
        HTTPException: 502, it failed.
    """
    answer = told(provider, "/models")
    try:
        names = [row["id"] for row in answer["data"]]
    except (KeyError, TypeError):
        raise nonsense(provider, json.dumps(answer)) from None
    texts = [name for name in names if isinstance(name, str)]
    return [name for name in dict.fromkeys(texts) if _is_name(provider, name)]


def _is_name(provider: Provider, name: str) -> bool:
    """Whether a model can be kept by what a server calls it, which is not its key."""
    return (
        0 < len(name) <= _LONGEST_NAME
        and name.isprintable()
        and name == name.strip()
        and name == without_key(provider, name)
    )


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
