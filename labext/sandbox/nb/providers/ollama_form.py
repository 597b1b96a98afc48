"""Ollama's own wire form, which sets the length of the context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labext.sandbox.nb.providers.servers import ProviderServer
from labext.sandbox.nb.providers.wire import ChatRequest, Piece, count_tokens


class OllamaForm:
    """`/api/chat`, `/api/embed` and `/api/tags`."""

    title = "an Ollama server"

    def chat(self, server: ProviderServer, request: ChatRequest) -> tuple[str, dict[str, Any]]:
        """Return the path and the body of a request."""
        options = {"num_ctx": server.num_ctx, "num_predict": request.max_tokens}
        body: dict[str, Any] = {
            "model": request.model,
            "messages": [dict(message) for message in request.messages],
            "stream": request.stream,
        }
        if used := {name: value for name, value in options.items() if value is not None}:
            body["options"] = used
        return "/api/chat", body

    def parse_piece(self, value: Any) -> Piece:
        """Parse a value of a streamed reply."""
        if value.get("error"):
            return Piece(error=str(value["error"]))
        usage = count_tokens(value.get("prompt_eval_count"), value.get("eval_count"))
        return Piece(value["message"]["content"], usage, bool(value.get("done")))

    def parse_reply(self, value: Any) -> Piece:
        """Parse a reply in one piece."""
        return self.parse_piece(value)

    def embed(
        self, server: ProviderServer, model: str, texts: Sequence[str]
    ) -> tuple[str, dict[str, Any]]:
        """Return the path and the body of a request for vectors."""
        body: dict[str, Any] = {"model": model, "input": list(texts)}
        if server.num_ctx is not None:
            body["options"] = {"num_ctx": server.num_ctx}
        return "/api/embed", body

    def parse_vectors(self, value: Any) -> list[Any]:
        """Parse the vectors, in the order of the texts."""
        return list(value["embeddings"])

    def models_path(self, server: ProviderServer) -> str:
        """Return the path of the list of models."""
        del server
        return "/api/tags"

    def parse_models(self, value: Any) -> list[Any]:
        """Parse the names of the models."""
        return [row["name"] for row in value["models"]]
