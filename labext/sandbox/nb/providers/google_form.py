"""The wire form of Google's Gemini models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from labext.sandbox.nb.providers.servers import ProviderServer
from labext.sandbox.nb.providers.wire import ChatRequest, Piece, count_tokens, split_system

_REFUSALS = frozenset({"SAFETY", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII"})
_ROLES = {"user": "user", "assistant": "model"}


class GoogleForm:
    """`/models/NAME:generateContent` and its relatives."""

    title = "Google's server"

    def chat(self, server: ProviderServer, request: ChatRequest) -> tuple[str, dict[str, Any]]:
        """Return the path and the body of a request."""
        del server
        system, turns = split_system(request.messages)
        body: dict[str, Any] = {
            "contents": [
                {"role": _ROLES[turn["role"]], "parts": [{"text": turn["content"]}]}
                for turn in turns
            ]
        }
        if system:
            body["systemInstruction"] = {"parts": [{"text": system}]}
        if request.max_tokens is not None:
            body["generationConfig"] = {"maxOutputTokens": request.max_tokens}
        method = "streamGenerateContent?alt=sse" if request.stream else "generateContent"
        return f"{_model_path(request.model)}:{method}", body

    def parse_piece(self, value: Any) -> Piece:
        """Parse a value of a streamed reply."""
        if "error" in value:
            return Piece(error=str(value["error"]["message"]))
        usage = _parse_usage(value.get("usageMetadata") or {})
        blocked = (value.get("promptFeedback") or {}).get("blockReason")
        if blocked:
            return Piece(usage=usage, is_last=True, refusal=f"the prompt was blocked ({blocked})")
        if not value.get("candidates"):
            return Piece(usage=usage)
        candidate = value["candidates"][0]
        parts = (candidate.get("content") or {}).get("parts") or []
        text = "".join(part["text"] for part in parts if "text" in part and not part.get("thought"))
        reason = candidate.get("finishReason")
        refusal = f"the reply was blocked ({reason})" if reason in _REFUSALS else ""
        return Piece(text, usage, reason is not None, refusal)

    def parse_reply(self, value: Any) -> Piece:
        """Parse a reply in one piece."""
        if "candidates" not in value and "promptFeedback" not in value:
            raise KeyError("candidates")
        return self.parse_piece(value)

    def embed(
        self, server: ProviderServer, model: str, texts: Sequence[str]
    ) -> tuple[str, dict[str, Any]]:
        """Return the path and the body of a request for vectors."""
        del server
        name = f"models/{model.removeprefix('models/')}"
        requests = [{"model": name, "content": {"parts": [{"text": text}]}} for text in texts]
        return f"{_model_path(model)}:batchEmbedContents", {"requests": requests}

    def parse_vectors(self, value: Any) -> list[Any]:
        """Parse the vectors, in the order of the texts."""
        return [row["values"] for row in value["embeddings"]]

    def models_path(self, server: ProviderServer) -> str:
        """Return the path of the list of models."""
        del server
        return "/models?pageSize=1000"

    def parse_models(self, value: Any) -> list[Any]:
        """Parse the names of the models."""
        return [row["name"].removeprefix("models/") for row in value["models"]]


def _model_path(model: str) -> str:
    return f"/models/{quote(model.removeprefix('models/'), safe='')}"


def _parse_usage(usage: Any) -> dict[str, Any]:
    thoughts = usage.get("thoughtsTokenCount") or 0
    tokens_out = usage.get("candidatesTokenCount")
    return count_tokens(
        usage.get("promptTokenCount"),
        tokens_out + thoughts if isinstance(tokens_out, int) else None,
    )
