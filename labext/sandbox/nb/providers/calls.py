"""Call the models of any provider: chat, embeddings, speech, transcription, lists of models."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from labext.sandbox.core.service_protocol import Site
from labext.sandbox.nb import errors
from labext.sandbox.nb.cancellation import CancelToken
from labext.sandbox.nb.providers import servers
from labext.sandbox.nb.providers.chat_forms import (
    CHAT_FORMS,
    ChatRequest,
    Messages,
    Piece,
    WireForm,
)
from labext.sandbox.nb.providers.servers import ProviderServer, remove_key, server_of_model
from labext.sandbox.nb.providers.speech_forms import SPEECH_FORMS, SpeechForm, word_probabilities
from labext.sandbox.nb.providers.transport import (
    JsonPayload,
    ModelRequest,
    request_bytes,
    request_json,
    stream_json,
)
from labext.sandbox.nb.providers.usage import Monitor
from labext.sandbox.nb.tables import Model
from labext.sandbox.nb.text import segmentation

BATCH_SIZE = 100
"""Texts per embedding request; Google accepts no more."""

_AUDIO_MAGIC = re.compile(rb"RIFF|ID3|OggS|fLaC|\xff[\xe0-\xff]")
"""First bytes of audio files: WAV, MP3, OGG, FLAC."""

_MAX_NAME_LENGTH = 500
_MAX_PAGES = 50
"""Maximum number of pages of a list of models."""

_VECTOR_LENGTHS = (1e-15, 1e15)
"""Shortest and longest vector: outside, its squares are no numbers of single precision."""

_PARSE_ERRORS = (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError)

_BEGIN, _END = "<think>", "</think>"
_THINKING = re.compile(rf"(?s)\A(?:\s*{_BEGIN}.*?(?:{_END}\s*|\Z)|(?:(?!{_BEGIN}).)*?{_END}\s*)")
"""The reasoning that some models put before their answer; without its end, there is no answer.

Its beginning is missing if the server adds it to the prompt.
"""


class ReplyFilter:
    """Collects the pieces of a reply, and returns the words that can be shown already."""

    def __init__(self, server: ProviderServer) -> None:
        self._server = server
        self._text = ""
        self._begun = False
        self._pending = ""
        self._half = ""

    def feed(self, piece: str) -> str:
        """Add a piece; return the words that it completes."""
        piece = self._whole_characters(piece)
        self._text += piece
        if self._begun:
            self._pending += piece
        elif not self._is_reasoning():
            self._pending = _THINKING.sub("", self._text).lstrip()
            self._begun = bool(self._pending)
        withheld = _common_end(self._pending, self._server.key or "")
        ready = self._pending[: len(self._pending) - withheld]
        self._pending = self._pending[len(ready) :]
        return remove_key(self._server, ready)

    def finish(self) -> str:
        """Return the whole reply."""
        return remove_key(self._server, _THINKING.sub("", self._text).strip())

    def _whole_characters(self, piece: str) -> str:
        """Return a piece without the first half of a character, of which the next has the other.

        Servers that count in UTF-16, as in JavaScript, divide characters such as emoji.
        """
        text = self._half + piece
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        units = text[: len(text) - len(self._half)].encode("utf-16-le", "surrogatepass")
        return segmentation.encodable(units.decode("utf-16-le", "surrogatepass"))

    def _is_reasoning(self) -> bool:
        """Return whether the reply has only reasoning so far, or perhaps its beginning."""
        start = self._text.lstrip()
        return _BEGIN.startswith(start) or (start.startswith(_BEGIN) and _END not in start)


def _common_end(text: str, key: str) -> int:
    """Return the length of the end of a text that may be the beginning of the key."""
    longest = min(len(text), len(key) - 1)
    return next((n for n in range(longest, 0, -1) if key.startswith(text[-n:])), 0)


def wire_form(server: ProviderServer) -> WireForm:
    """Return the wire form of a server."""
    form = CHAT_FORMS.get(server.form)
    if form is None:
        raise errors.not_configured(
            f"The models of {server.provider} only process speech.",
            "Choose a model of another provider.",
        )
    return form


TRUNCATED = "\n\n*The reply ends here, because the model reached the limit of its length.*"
"""Added to replies for users, those with a monitor; titles and summaries have no place for it."""


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
    if monitor is not None and monitor.usage.calls:
        server = replace(server, max_wait=max(server.max_wait, servers.NEXT_CALL_WAIT_SECONDS))
    on_words = None if monitor is None else monitor.on_words
    request = ChatRequest(model.name, messages, max_tokens, on_words is not None)
    reply = ReplyFilter(server)
    usage: dict[str, Any] = {}
    refusal, is_truncated = "", False
    for piece in _chat_pieces(server, request, cancel_token):
        usage |= piece.usage
        refusal += piece.refusal
        is_truncated = is_truncated or piece.is_truncated
        words = reply.feed(piece.text)
        if words and on_words is not None:
            on_words(words)
    if refusal:
        raise servers.refused(server, model.name, refusal)
    text = reply.finish()
    if not text:
        error = servers.invalid_response(server, "")
        raise servers.length_limit_reached(server, model.name) if is_truncated else error
    if monitor is not None:
        monitor.usage.add(usage)
        monitor.is_truncated = is_truncated
        if is_truncated and max_tokens is None:
            text += TRUNCATED
            if on_words is not None:
                on_words(TRUNCATED)
    return text


def _chat_pieces(
    server: ProviderServer, request: ChatRequest, cancel_token: CancelToken | None
) -> Iterator[Piece]:
    """Yield the pieces of a reply; a server that refuses an option is asked again without it."""
    try:
        yield from _complete_pieces(server, request, cancel_token)
    except servers.OptionRefusedError as error:
        changed = request.without(error.option)
        if changed == request:
            raise
        yield from _chat_pieces(server, changed, cancel_token)


def _complete_pieces(
    server: ProviderServer, request: ChatRequest, cancel_token: CancelToken | None
) -> Iterator[Piece]:
    """Yield the pieces of a complete reply."""
    form = wire_form(server)
    path, body = form.chat(server, request)
    call = ModelRequest(path, JsonPayload(body))
    is_complete = not request.stream
    if request.stream:
        values = stream_json(server, call, cancel_token)
    else:
        values = iter([request_json(server, call, cancel_token)])
    for value in values:
        is_failure = isinstance(value, dict) and bool(value.get("error"))
        parse = form.parse_piece if request.stream or is_failure else form.parse_reply
        piece: Piece = _parse(server, parse, value)
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
        raise servers.invalid_response(server, json.dumps(value)) from None


def embed(
    site: Site, model: Model, texts: Sequence[str], cancel_token: CancelToken | None = None
) -> list[list[float]]:
    """Return one vector per text, all of the same length."""
    server = server_of_model(site, model)
    form = wire_form(server)
    vectors: list[list[float]] = []
    for start in range(0, len(texts), BATCH_SIZE):
        batch = texts[start : start + BATCH_SIZE]
        vectors += _embed_batch(server, form, model.name, batch, cancel_token)
    if len({len(vector) for vector in vectors}) > 1:
        raise servers.invalid_response(server, json.dumps(vectors))
    return vectors


def _embed_batch(
    server: ProviderServer,
    form: WireForm,
    model: str,
    texts: Sequence[str],
    cancel_token: CancelToken | None,
) -> list[list[float]]:
    """Return one vector per text; a batch that the server finds too large is halved."""
    path, body = form.embed(server, model, texts)
    try:
        answer = request_json(server, ModelRequest(path, JsonPayload(body)), cancel_token)
    except servers.RequestTooLongError:
        if len(texts) == 1:
            raise
        middle = len(texts) // 2
        halves = (texts[:middle], texts[middle:])
        return [
            vector
            for half in halves
            for vector in _embed_batch(server, form, model, half, cancel_token)
        ]
    rows = _parse(server, lambda value: [*map(_parse_vector, form.parse_vectors(value))], answer)
    if len(rows) != len(texts):
        raise servers.invalid_response(server, json.dumps(answer))
    return [*rows]


def synthesize(
    site: Site, model: Model, text: str, voice: str, cancel_token: CancelToken | None = None
) -> bytes:
    """Return the speech of a text as a WAV file, or MP3, OGG or FLAC from servers without WAV."""
    server = server_of_model(site, model)
    form = _speech_form(server)
    request = form.speak(server, model.name, text, voice)
    content = request_bytes(server, request, cancel_token)
    try:
        sound = form.parse_sound(content)
    except _PARSE_ERRORS:
        sound = b""
    if not _AUDIO_MAGIC.match(sound):
        raise servers.invalid_response(server, content.decode("utf-8", "replace"))
    return sound


def list_voices(site: Site, model: Model) -> dict[str, str]:
    """Return the names of the voices of a model's server, by their identifiers.

    Empty if the server does not list its voices; `default_voices` has those that it probably has.
    """
    server = server_of_model(site, model)
    form = _speech_form(server)
    if form.voices:
        return {}
    voices: dict[str, str] = _parse(
        server, form.parse_voices, request_json(server, ModelRequest(form.voices_path()))
    )
    return voices


def default_voices(site: Site, model: Model) -> Sequence[str]:
    """Return the identifiers of voices of a model's server for speakers without one."""
    return _speech_form(server_of_model(site, model)).voices or [*list_voices(site, model)]


def _speech_form(server: ProviderServer) -> SpeechForm:
    form = SPEECH_FORMS.get(server.form)
    if form is None:
        raise errors.not_configured(
            f"The provider {server.provider} has no speech models.",
            "Choose a model of another provider.",
        )
    return form


def transcribe(
    site: Site, model: Model, path: Path, cancel_token: CancelToken | None = None
) -> tuple[str, tuple[float, ...]]:
    """Return the speech in an audio file, and the probability of each word if the server states it.

    The text is empty if there is no speech.
    """
    server = server_of_model(site, model)
    form = _speech_form(server)
    request = form.hear(server, model.name, path)
    answer = request_json(server, request, cancel_token)
    recognized, segments = _parse(server, form.parse_text, answer)
    if not isinstance(recognized, str):
        raise servers.invalid_response(server, json.dumps(answer))
    text = remove_key(server, segmentation.encodable(recognized).strip())
    return text, word_probabilities(text, segments)


def list_models(server: ProviderServer) -> list[str]:
    """Return the names of a server's models on all pages of its list, in its order."""
    form: Any = CHAT_FORMS.get(server.form) or SPEECH_FORMS[server.form]
    first_page = path = form.models_path(server)
    names: dict[str, None] = {}
    for _ in range(_MAX_PAGES):
        value = request_json(server, ModelRequest(path))
        page = [name for name in _parse(server, form.parse_models, value) if isinstance(name, str)]
        is_new = not names.keys() >= set(page)
        names |= dict.fromkeys(page)
        query = _parse(server, form.next_page, value) if is_new else {}
        if not query:
            break
        path = f"{first_page}{'&' if '?' in first_page else '?'}{urlencode(query)}"
    return [name for name in names if _is_valid_name(server, name)]


def _is_valid_name(server: ProviderServer, name: str) -> bool:
    """Return whether a model name of a server can be stored and does not contain its key."""
    return (
        0 < len(name) <= _MAX_NAME_LENGTH
        and name.isprintable()
        and name == name.strip()
        and name == remove_key(server, name)
    )


def _parse_vector(value: Any) -> list[float]:
    numbers = [number for number in value if type(number) in (int, float)]
    shortest, longest = _VECTOR_LENGTHS
    if len(numbers) != len(value) or not shortest < math.hypot(*numbers) < longest:
        raise ValueError  # among them vectors of zeros, which are similar to none
    return [float(number) for number in numbers]
