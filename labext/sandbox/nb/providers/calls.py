"""Call the models of any provider: chat, embeddings, speech, transcription, lists of models."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb.cancellation import CancelToken
from labext.sandbox.nb.providers import servers
from labext.sandbox.nb.providers.anthropic_form import AnthropicForm
from labext.sandbox.nb.providers.google_form import GoogleForm
from labext.sandbox.nb.providers.ollama_form import OllamaForm
from labext.sandbox.nb.providers.openai_form import OpenAIForm, model_path
from labext.sandbox.nb.providers.reply_filter import ReplyFilter
from labext.sandbox.nb.providers.servers import ProviderServer, remove_key, server_of_model
from labext.sandbox.nb.providers.transport import (
    FormPayload,
    JsonPayload,
    request_bytes,
    request_json,
    stream_json,
)
from labext.sandbox.nb.providers.usage import Monitor
from labext.sandbox.nb.providers.wire import ChatRequest, Messages, Piece, WireForm
from labext.sandbox.nb.tables import Model
from labext.sandbox.nb.text import segmentation

BATCH_SIZE = 100
"""Texts per embedding request; Google accepts no more."""

_AUDIO_MAGIC = re.compile(rb"RIFF|ID3|OggS|fLaC|\xff[\xe0-\xff]")
"""First bytes of audio files: WAV, MP3, OGG, FLAC."""

_MAX_NAME_LENGTH = 500

_FORMS: Mapping[str, WireForm] = {
    "anthropic": AnthropicForm(),
    "google": GoogleForm(),
    "ollama": OllamaForm(),
    "openai": OpenAIForm(),
}

_PARSE_ERRORS = (KeyError, IndexError, TypeError, AttributeError, ValueError)


def wire_form(server: ProviderServer) -> WireForm:
    """Return the form in which a server is asked."""
    return _FORMS[server.form]


def chat(
    site: Site,
    model: Model,
    messages: Messages,
    cancel_token: CancelToken | None = None,
    max_tokens: int | None = None,
    monitor: Monitor | None = None,
) -> str:
    """Return a model's reply to a conversation; stream it if the monitor wants the words.

    Raises:
        HTTPException: 502 if its server failed or the model refused; 429 if it is rate-limited; 422
            if it has no server or its key can't be read.
        CallCancelledError: if the call was cancelled.
    """
    server = server_of_model(site, model)
    on_words = None if monitor is None else monitor.on_words
    request = ChatRequest(model.name, messages, max_tokens, on_words is not None)
    reply = ReplyFilter(server)
    usage: dict[str, Any] = {}
    for piece in _chat_pieces(server, request, cancel_token):
        usage |= piece.usage
        words = reply.feed(segmentation.encodable(piece.text))
        if piece.refusal:
            raise servers.refused(server, model.name, piece.refusal)
        if words and on_words is not None:
            on_words(words)
    text = reply.finish()
    if not text:
        raise servers.invalid_response(server, "")
    if monitor is not None:
        monitor.usage.add(usage)
    return text


def _chat_pieces(
    server: ProviderServer, request: ChatRequest, cancel_token: CancelToken | None
) -> Iterator[Piece]:
    """Yield the pieces of a complete reply.

    Raises:
        HTTPException: as `chat`; the reply may break off after some pieces.
    """
    form = wire_form(server)
    path, body = form.chat(server, request)
    payload = JsonPayload(body)
    if not request.stream:
        yield _parse(server, form.parse_reply, request_json(server, path, payload, cancel_token))
        return
    is_complete = False
    for value in stream_json(server, path, payload, cancel_token):
        piece: Piece = _parse(server, form.parse_piece, value)
        if piece.error:
            raise servers.failed_in_reply(server, request.model, piece.error)
        is_complete = is_complete or piece.is_last
        yield piece
    if not is_complete:
        raise servers.cut_reply(server)


def _parse(server: ProviderServer, parse: Any, value: Any) -> Any:
    try:
        return parse(value)
    except _PARSE_ERRORS:
        raise servers.invalid_response(server, json.dumps(value), wire_form(server).title) from None


def embed(
    site: Site, model: Model, texts: Sequence[str], cancel_token: CancelToken | None = None
) -> list[list[float]]:
    """Return one vector per text, all of the same length.

    Raises:
        HTTPException: as `chat`.
        CallCancelledError: if the call was cancelled.
    """
    server = server_of_model(site, model)
    form = wire_form(server)
    vectors: list[list[float]] = []
    for start in range(0, len(texts), BATCH_SIZE):
        batch = texts[start : start + BATCH_SIZE]
        path, body = form.embed(server, model.name, batch)
        answer = request_json(server, path, JsonPayload(body), cancel_token)
        rows = _parse(
            server, lambda value: [*map(_parse_vector, form.parse_vectors(value))], answer
        )
        vectors += rows
        if len(rows) != len(batch) or len({len(vector) for vector in vectors}) != 1:
            raise servers.invalid_response(server, json.dumps(answer), form.title)
    return vectors


def synthesize(
    site: Site, model: Model, text: str, voice: str, cancel_token: CancelToken | None = None
) -> bytes:
    """Return the speech of a text as an audio file.

    Returns:
        A WAV file, or MP3, OGG or FLAC from servers without WAV.

    Raises:
        HTTPException: as `chat`.
        CallCancelledError: if the call was cancelled.
    """
    server = server_of_model(site, model)
    body = {"model": model.name, "input": text, "voice": voice, "response_format": "wav"}
    path = model_path(server, model.name, "/audio/speech")
    sound = request_bytes(
        server, path, JsonPayload(body), cancel_token, accept="audio/wav, audio/*"
    )
    if not _AUDIO_MAGIC.match(sound):
        raise servers.invalid_response(server, sound.decode("utf-8", "replace"))
    return sound


def transcribe(
    site: Site, model: Model, path: Path, cancel_token: CancelToken | None = None
) -> tuple[str, tuple[float, ...]]:
    """Return the speech in an audio file, and the probability of each word if the server states it.

    The text is empty if nobody speaks.

    Raises:
        HTTPException: as `chat`.
        CallCancelledError: if the call was cancelled.
        OSError: if the file can't be read.
    """
    server = server_of_model(site, model)
    # Other models of OpenAI reject a format with the probabilities of segments.
    response_format = "verbose_json" if "whisper" in model.name.lower() else "json"
    form = FormPayload({"model": model.name, "response_format": response_format}, "file", path)
    address = model_path(server, model.name, "/audio/transcriptions")
    answer = request_json(server, address, form, cancel_token)
    text = answer.get("text") if isinstance(answer, dict) else None
    if not isinstance(text, str):
        raise servers.invalid_response(server, json.dumps(answer))
    cleaned = remove_key(server, segmentation.encodable(text).strip())
    return cleaned, tuple(_word_probabilities(answer.get("segments"), len(cleaned.split())))


def _word_probabilities(segments: Any, count: int) -> Iterator[float]:
    """Yield the probability of each of `count` words, by those of the segments of a transcript.

    Nothing is yielded if a segment has none. The words of a segment have the same probability.
    """
    try:
        logs = [
            (len(str(segment["text"]).split()), float(segment["avg_logprob"]))
            for segment in segments
        ]
    except _PARSE_ERRORS:
        return
    probabilities = [min(math.exp(min(log, 0.0)), 1.0) for words, log in logs for _ in range(words)]
    if probabilities and len(probabilities) != count:
        yield from [sum(probabilities) / len(probabilities)] * count
    else:
        yield from probabilities


def list_models(server: ProviderServer) -> list[str]:
    """Return the names of a server's models, in its order.

    Raises:
        HTTPException: 502 if it failed.
    """
    form = wire_form(server)
    names = _parse(server, form.parse_models, request_json(server, form.models_path(server)))
    texts = [name for name in names if isinstance(name, str)]
    return [name for name in dict.fromkeys(texts) if _is_valid_name(server, name)]


def _is_valid_name(server: ProviderServer, name: str) -> bool:
    """Return whether a model name of a server can be stored and does not contain its key."""
    return (
        0 < len(name) <= _MAX_NAME_LENGTH
        and name.isprintable()
        and name == name.strip()
        and name == remove_key(server, name)
    )


def _parse_vector(value: Any) -> list[float]:
    if not value or any(isinstance(v, bool) or not isinstance(v, int | float) for v in value):
        raise ValueError
    return [float(number) for number in value]
