"""The wire form of OpenAI, Azure, and most other providers and local servers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from labext.sandbox.nb.providers.servers import ProviderServer
from labext.sandbox.nb.providers.wire import ChatRequest, Piece, count_tokens

_WITHOUT_STREAM_OPTIONS = frozenset({"mistral"})
"""Providers that state the usage of a streamed reply unasked, and reject the question."""

_NEW_TOKEN_LIMIT = frozenset({"openai", "azure"})
"""Providers whose newer models reject `max_tokens`."""


class OpenAIForm:
    """`/chat/completions`, `/embeddings` and `/models`."""

    title = "an OpenAI-compatible server"

    def chat(self, server: ProviderServer, request: ChatRequest) -> tuple[str, dict[str, Any]]:
        """Return the path and the body of a request."""
        body: dict[str, Any] = {
            "model": request.model,
            "messages": [dict(message) for message in request.messages],
            "stream": request.stream,
        }
        if request.stream and server.provider not in _WITHOUT_STREAM_OPTIONS:
            body["stream_options"] = {"include_usage": True}
        if server.provider == "openrouter":
            body["usage"] = {"include": True}
        if request.max_tokens is not None:
            is_new = server.provider in _NEW_TOKEN_LIMIT
            body["max_completion_tokens" if is_new else "max_tokens"] = request.max_tokens
        return model_path(server, request.model, "/chat/completions"), body

    def parse_piece(self, value: Any) -> Piece:
        """Parse a value of a streamed reply; None is the mark of its end."""
        if value is None:
            return Piece(is_last=True)
        if value.get("error"):
            return Piece(error=_error_text(value["error"]))
        usage = _parse_usage(value)
        if not value.get("choices"):
            return Piece(usage=usage)
        choice = value["choices"][0]
        delta = choice.get("delta") or choice.get("message") or {}
        return _build_piece(delta, choice, usage)

    def parse_reply(self, value: Any) -> Piece:
        """Parse a reply in one piece."""
        choice = value["choices"][0]
        return _build_piece(choice["message"], choice, _parse_usage(value))

    def embed(
        self, server: ProviderServer, model: str, texts: Sequence[str]
    ) -> tuple[str, dict[str, Any]]:
        """Return the path and the body of a request for vectors."""
        body = {"model": model, "input": list(texts)}
        return model_path(server, model, "/embeddings"), body

    def parse_vectors(self, value: Any) -> list[Any]:
        """Parse the vectors, which may come in any order."""
        rows = sorted(value["data"], key=lambda row: row["index"])
        return [row["embedding"] for row in rows]

    def models_path(self, server: ProviderServer) -> str:
        """Return the path of the list of models."""
        return model_path(server, None, "/models")

    def parse_models(self, value: Any) -> list[Any]:
        """Parse the names of the models."""
        return [row["id"] for row in value["data"]]


def model_path(server: ProviderServer, model: str | None, path: str) -> str:
    """Return the path below a server's address; on Azure, the model's deployment is part of it."""
    if server.provider != "azure":
        return path
    if server.api_version is None:
        return path if server.base_url.endswith("/v1") else f"/openai/v1{path}"
    deployment = "" if model is None else f"/deployments/{quote(model, safe='')}"
    return f"/openai{deployment}{path}?api-version={quote(server.api_version, safe='')}"


def _build_piece(message: Any, choice: Any, usage: dict[str, Any]) -> Piece:
    reason = choice.get("finish_reason")
    refusal = message.get("refusal") or ""
    if not refusal and reason == "content_filter":
        refusal = "its content filter stopped the reply"
    return Piece(
        _message_text(message.get("content")),
        usage,
        reason is not None,
        str(refusal),
    )


def _message_text(content: Any) -> str:
    """Return the text of a message, given as a string or as parts."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part["text"] for part in content if part.get("type") == "text")


def _parse_usage(value: Any) -> dict[str, Any]:
    usage = value.get("usage") or (value.get("x_groq") or {}).get("usage") or {}
    return count_tokens(
        usage.get("prompt_tokens"), usage.get("completion_tokens"), usage.get("cost")
    )


def _error_text(error: Any) -> str:
    return str(error.get("message") or error) if isinstance(error, dict) else str(error)
