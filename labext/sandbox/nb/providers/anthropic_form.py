"""The wire form of Anthropic's messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labext.sandbox.nb.providers.servers import ProviderServer
from labext.sandbox.nb.providers.wire import ChatRequest, Piece, count_tokens, split_system

MAX_TOKENS = 4096
"""The length of a reply, which Anthropic requires to be limited."""


class AnthropicForm:
    """`/messages` and `/models`."""

    title = "Anthropic's server"

    def chat(self, server: ProviderServer, request: ChatRequest) -> tuple[str, dict[str, Any]]:
        """Return the path and the body of a request."""
        del server
        system, turns = split_system(request.messages)
        body: dict[str, Any] = {
            "model": request.model,
            "messages": turns,
            "max_tokens": request.max_tokens or MAX_TOKENS,
            "stream": request.stream,
        }
        if system:
            body["system"] = system
        return "/messages", body

    def parse_piece(self, value: Any) -> Piece:
        """Parse a value of a streamed reply."""
        match value["type"]:
            case "message_start":
                return Piece(usage=_parse_usage(value["message"].get("usage")))
            case "content_block_delta":
                delta = value["delta"]
                return Piece(delta["text"] if delta["type"] == "text_delta" else "")
            case "message_delta":
                usage = _parse_usage(value.get("usage"))
                return Piece(usage=usage, refusal=_parse_refusal(value["delta"]))
            case "message_stop":
                return Piece(is_last=True)
            case "error":
                return Piece(error=str(value["error"]["message"]))
            case "message":
                return self.parse_reply(value)
        return Piece()

    def parse_reply(self, value: Any) -> Piece:
        """Parse a reply in one piece."""
        text = "".join(block["text"] for block in value["content"] if block["type"] == "text")
        return Piece(text, _parse_usage(value.get("usage")), True, _parse_refusal(value))

    def embed(
        self, server: ProviderServer, model: str, texts: Sequence[str]
    ) -> tuple[str, dict[str, Any]]:
        """Return the path at which Anthropic answers that it has no embedding models."""
        del server
        return "/embeddings", {"model": model, "input": list(texts)}

    def parse_vectors(self, value: Any) -> list[Any]:
        """Raise KeyError: Anthropic has no embedding models."""
        raise KeyError(str(value)[:100])

    def models_path(self, server: ProviderServer) -> str:
        """Return the path of the list of models."""
        del server
        return "/models?limit=1000"

    def parse_models(self, value: Any) -> list[Any]:
        """Parse the names of the models."""
        return [row["id"] for row in value["data"]]


def _parse_refusal(value: Any) -> str:
    return "it declined for reasons of safety" if value.get("stop_reason") == "refusal" else ""


def _parse_usage(usage: Any) -> dict[str, Any]:
    usage = usage or {}
    cached = [
        usage.get(name) or 0 for name in ("cache_creation_input_tokens", "cache_read_input_tokens")
    ]
    tokens_in = usage.get("input_tokens")
    return count_tokens(
        tokens_in + sum(cached) if isinstance(tokens_in, int) else None, usage.get("output_tokens")
    )
