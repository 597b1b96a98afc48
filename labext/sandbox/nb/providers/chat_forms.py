"""The wire forms of chat and embeddings: requests in, pieces of a reply out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar
from urllib.parse import quote

from labext.sandbox.nb.providers.servers import ProviderServer

Messages = Sequence[Mapping[str, str]]
"""Messages with `role` (`system`, `user`, `assistant`) and `content`."""

JsonRequest = tuple[str, dict[str, Any]]
"""The path and the body of a request."""


@dataclass(frozen=True)
class ChatRequest:
    """A request to a chat model; no tools are offered.

    Attributes:
        stream: whether to ask for a reply in pieces.
        swaps_token_limit: whether to send `max_tokens` as `max_completion_tokens`, or vice versa.
    """

    model: str
    messages: Messages
    max_tokens: int | None
    stream: bool
    swaps_token_limit: bool = False

    def without(self, option: str) -> ChatRequest:
        """Return the request without an option that the server refused; the same if it has none.

        Without the role `system`, its text is in front of the first message of the user.
        """
        match option:
            case "stream":
                return replace(self, stream=False)
            case "token_limit":
                return replace(self, swaps_token_limit=self.max_tokens is not None)
        roles = {"system": "user"}
        turns = [{**item, "role": roles.get(item["role"], item["role"])} for item in self.messages]
        return replace(self, messages=_split_system(turns)[1])


@dataclass(frozen=True)
class Piece:
    """A piece of a reply.

    Attributes:
        usage: the tokens and the cost as far as this piece states them; see `usage.Usage`.
        is_last: whether the reply is complete.
        is_truncated: whether it ends here because it reached the limit of its length.
        refusal: why the model does not answer, or a piece of that; empty if it does.
        error: the provider's message about a failure in the middle; empty if there is none.
    """

    text: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)
    is_last: bool = False
    refusal: str = ""
    error: str = ""
    is_truncated: bool = False


class WireForm(ABC):
    """The format of requests and responses of a provider's servers.

    Methods that parse raise KeyError, IndexError, TypeError, AttributeError or ValueError if the
    value has another form. `models` is the path of the list of models, and `cursor` its query
    parameter with the last model of the previous page.
    """

    models: ClassVar[str] = "/models"
    cursor: ClassVar[str] = "after"

    @abstractmethod
    def chat(self, server: ProviderServer, request: ChatRequest) -> JsonRequest:
        """Return the request for a reply."""

    @abstractmethod
    def parse_piece(self, value: Any) -> Piece:
        """Parse a value of a streamed reply."""

    def parse_reply(self, value: Any) -> Piece:
        """Parse a reply in one piece."""
        return self.parse_piece(value)

    def embed(self, server: ProviderServer, model: str, texts: Sequence[str]) -> JsonRequest:
        """Return the request for vectors; servers without embedding models reject it."""
        return model_path(server, model, "/embeddings"), {"model": model, "input": list(texts)}

    def parse_vectors(self, value: Any) -> list[Any]:
        """Parse the vectors, in the order of the texts."""
        raise KeyError(str(value)[:100])

    def models_path(self, server: ProviderServer) -> str:
        """Return the path of the list of models."""
        return model_path(server, None, self.models)

    def parse_models(self, value: Any) -> list[Any]:
        """Parse the names of the models; Together lists them without `data`."""
        rows = value if value and isinstance(value, list) else value["data"]
        return [row["id"] for row in rows or ()]

    def next_page(self, value: Any) -> dict[str, str]:
        """Return the query of the page that follows one of the list of models; empty at its end."""
        has_more = isinstance(value, dict) and value.get("has_more")
        return {self.cursor: value["data"][-1]["id"]} if has_more else {}


_WITHOUT_STREAM_OPTIONS = frozenset({"mistral"})
"""Providers that always state the usage of a streamed reply, and reject the option."""

_NEW_TOKEN_LIMIT = frozenset({"openai", "azure"})
"""Providers whose newer models reject `max_tokens`."""


class _OpenAIForm(WireForm):
    """OpenAI, Azure, most other providers and local servers: `/chat/completions`."""

    def chat(self, server: ProviderServer, request: ChatRequest) -> JsonRequest:
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
            is_new = (server.provider in _NEW_TOKEN_LIMIT) != request.swaps_token_limit
            body["max_completion_tokens" if is_new else "max_tokens"] = request.max_tokens
        return model_path(server, request.model, "/chat/completions"), body

    def parse_piece(self, value: Any) -> Piece:
        """Parse a value of a streamed reply; None is the mark of its end."""
        if value is None:
            return Piece(is_last=True)
        if error := value.get("error"):
            return _openai_failure(error)
        if not value.get("choices"):
            return Piece(usage=_openai_usage(value))
        choice = value["choices"][0]
        return _openai_piece(choice.get("delta") or choice.get("message") or {}, choice, value)

    def parse_reply(self, value: Any) -> Piece:
        choice = value["choices"][0]
        return _openai_piece(choice["message"], choice, value)

    def parse_vectors(self, value: Any) -> list[Any]:
        """Parse the vectors, which may come in any order."""
        rows = sorted(value["data"], key=lambda row: row.get("index") or 0)
        return [row["embedding"] for row in rows]


def model_path(server: ProviderServer, model: str | None, path: str) -> str:
    """Return the path below a server's address; on Azure, the model's deployment is part of it."""
    if server.provider != "azure":
        return path
    if server.api_version is None:
        return path if server.base_url.endswith("/v1") else f"/openai/v1{path}"
    deployment = "" if model is None else f"/deployments/{quote(model, safe='')}"
    return f"/openai{deployment}{path}?api-version={quote(server.api_version, safe='')}"


def _openai_piece(message: Any, choice: Any, value: Any) -> Piece:
    reason = choice.get("finish_reason")
    if error := choice.get("error") or (reason if reason in _FAILURES else None):
        return _openai_failure(error)
    refusal = message.get("refusal") or ""
    if not refusal and reason == "content_filter":
        refusal = "its content filter stopped the reply"
    content = message.get("content") or ""
    if not isinstance(content, str):  # given as parts
        content = "".join(part["text"] for part in content if part.get("type") == "text")
    is_last = reason is not None or bool(choice.get("message"))  # a reply in one piece
    usage = _openai_usage(value)
    return Piece(content, usage, is_last, str(refusal), is_truncated=reason in _LENGTH_LIMITS)


_FAILURES = ("error", "insufficient_system_resource")
_LENGTH_LIMITS = ("length", "model_length")


def _openai_failure(error: Any) -> Piece:
    text = (error.get("message") or error) if isinstance(error, dict) else error
    return Piece(error=str(text))


def _openai_usage(value: Any) -> dict[str, Any]:
    usage = value.get("usage") or (value.get("x_groq") or {}).get("usage") or {}
    return _count_tokens(
        usage.get("prompt_tokens"), usage.get("completion_tokens"), usage.get("cost")
    )


class _AnthropicForm(WireForm):
    """Anthropic's `/messages`."""

    models = "/models?limit=1000"
    cursor = "after_id"

    MAX_TOKENS = 4096
    """The length of a reply, which Anthropic requires to be limited."""

    def chat(self, server: ProviderServer, request: ChatRequest) -> JsonRequest:  # noqa: ARG002
        system, turns = _split_system(request.messages)
        body: dict[str, Any] = {
            "model": request.model,
            "messages": turns,
            "max_tokens": request.max_tokens or self.MAX_TOKENS,
            "stream": request.stream,
        }
        if system:
            body["system"] = system
        return "/messages", body

    def parse_piece(self, value: Any) -> Piece:
        match value["type"]:
            case "message_start":
                return Piece(usage=_anthropic_usage(value["message"].get("usage")))
            case "content_block_delta":
                delta = value["delta"]
                return Piece(delta["text"] if delta["type"] == "text_delta" else "")
            case "message_delta":
                return _anthropic_piece("", value, value["delta"])
            case "message_stop":
                return Piece(is_last=True)
            case "error":
                return Piece(error=str(value["error"]["message"]))
            case "message":
                return self.parse_reply(value)
        return Piece()

    def parse_reply(self, value: Any) -> Piece:
        text = "".join(block["text"] for block in value["content"] if block["type"] == "text")
        return replace(_anthropic_piece(text, value, value), is_last=True)


def _anthropic_piece(text: str, value: Any, stop: Any) -> Piece:
    reason = stop.get("stop_reason")
    refusal = "it declined for reasons of safety" if reason == "refusal" else ""
    usage = _anthropic_usage(value.get("usage"))
    return Piece(text, usage, refusal=refusal, is_truncated=reason in _ANTHROPIC_LIMITS)


_ANTHROPIC_LIMITS = ("max_tokens", "model_context_window_exceeded")


def _anthropic_usage(usage: Any) -> dict[str, Any]:
    usage = usage or {}
    cached = [
        usage.get(name) or 0 for name in ("cache_creation_input_tokens", "cache_read_input_tokens")
    ]
    tokens_in = usage.get("input_tokens")
    return _count_tokens(
        tokens_in + sum(cached) if isinstance(tokens_in, int) else None, usage.get("output_tokens")
    )


class _GoogleForm(WireForm):
    """Google's `/models/NAME:generateContent` and its relatives."""

    models = "/models?pageSize=1000"

    _REFUSALS = frozenset({"SAFETY", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII"})
    _FAILURES = frozenset({"OTHER", "LANGUAGE"})
    _METHODS = frozenset({"generateContent", "embedContent"})
    _ROLES: ClassVar = {"user": "user", "assistant": "model"}

    def chat(self, server: ProviderServer, request: ChatRequest) -> JsonRequest:  # noqa: ARG002
        system, turns = _split_system(request.messages)
        body: dict[str, Any] = {
            "contents": [
                {"role": self._ROLES[turn["role"]], "parts": [{"text": turn["content"]}]}
                for turn in turns
            ]
        }
        if system:
            body["systemInstruction"] = {"parts": [{"text": system}]}
        if request.max_tokens is not None:
            body["generationConfig"] = {"maxOutputTokens": request.max_tokens}
        method = "streamGenerateContent?alt=sse" if request.stream else "generateContent"
        return google_path(request.model, method), body

    def parse_piece(self, value: Any) -> Piece:
        if "error" in value:
            return Piece(error=str(value["error"]["message"]))
        usage = _google_usage(value.get("usageMetadata") or {})
        blocked = (value.get("promptFeedback") or {}).get("blockReason")
        if blocked:
            return Piece(usage=usage, is_last=True, refusal=f"the prompt was blocked ({blocked})")
        if not value.get("candidates"):
            return Piece(usage=usage)
        candidate = value["candidates"][0]
        parts = (candidate.get("content") or {}).get("parts") or []
        text = "".join(part["text"] for part in parts if "text" in part and not part.get("thought"))
        reason = candidate.get("finishReason")
        refusal = f"the reply was blocked ({reason})" if reason in self._REFUSALS else ""
        error = reason if reason in self._FAILURES else ""
        is_truncated = reason == "MAX_TOKENS"
        return Piece(text, usage, reason is not None, refusal, error, is_truncated)

    def parse_reply(self, value: Any) -> Piece:
        if "candidates" not in value and "promptFeedback" not in value:
            raise KeyError("candidates")
        return self.parse_piece(value)

    def embed(
        self,
        server: ProviderServer,  # noqa: ARG002
        model: str,
        texts: Sequence[str],
    ) -> JsonRequest:
        name = f"models/{model.removeprefix('models/')}"
        requests = [{"model": name, "content": {"parts": [{"text": text}]}} for text in texts]
        return google_path(model, "batchEmbedContents"), {"requests": requests}

    def parse_vectors(self, value: Any) -> list[Any]:
        return [row["values"] for row in value["embeddings"]]

    def parse_models(self, value: Any) -> list[Any]:
        """Parse the names of the models that generate or embed."""
        return [
            row["name"].removeprefix("models/")
            for row in value["models"]
            if not self._METHODS.isdisjoint(row.get("supportedGenerationMethods", self._METHODS))
        ]

    def next_page(self, value: Any) -> dict[str, str]:
        token = value.get("nextPageToken")
        return {"pageToken": token} if token else {}


def google_path(model: str, method: str) -> str:
    """Return the path of a method of one of Google's models."""
    return f"/models/{quote(model.removeprefix('models/'), safe='')}:{method}"


def _google_usage(usage: Any) -> dict[str, Any]:
    thoughts = usage.get("thoughtsTokenCount") or 0
    tokens_out = usage.get("candidatesTokenCount")
    return _count_tokens(
        usage.get("promptTokenCount"),
        tokens_out + thoughts if isinstance(tokens_out, int) else None,
    )


class _OllamaForm(WireForm):
    """Ollama's own form, which sets the length of the context: `/api/chat` and `/api/embed`."""

    models = "/api/tags"

    def chat(self, server: ProviderServer, request: ChatRequest) -> JsonRequest:
        num_ctx = server.num_ctx or _ollama_context(request)
        options = {"num_ctx": num_ctx, "num_predict": request.max_tokens}
        body: dict[str, Any] = {
            "model": request.model,
            "messages": [dict(message) for message in request.messages],
            "stream": request.stream,
        }
        if used := {name: value for name, value in options.items() if value is not None}:
            body["options"] = used
        return "/api/chat", body

    def parse_piece(self, value: Any) -> Piece:
        """Parse a value of a streamed reply, or a reply in one piece."""
        if value.get("error"):
            return Piece(error=str(value["error"]))
        usage = _count_tokens(value.get("prompt_eval_count"), value.get("eval_count"))
        is_truncated = value.get("done_reason") == "length"
        # Servers that imitate Ollama omit the content of a piece of reasoning, or send null.
        text, is_last = value["message"].get("content") or "", bool(value.get("done"))
        return Piece(text, usage, is_last, is_truncated=is_truncated)

    def embed(self, server: ProviderServer, model: str, texts: Sequence[str]) -> JsonRequest:
        body: dict[str, Any] = {"model": model, "input": list(texts)}
        if server.num_ctx is not None:
            body["options"] = {"num_ctx": server.num_ctx}
        return "/api/embed", body

    def parse_vectors(self, value: Any) -> list[Any]:
        return list(value["embeddings"])

    def parse_models(self, value: Any) -> list[Any]:
        return [row["name"] for row in value["models"] or ()]


def _ollama_context(request: ChatRequest) -> int | None:
    """Return the tokens of a context for a request; None if Ollama's default suffices.

    Ollama drops the beginning of a longer text without an error.
    """
    size = sum(len(message["content"].encode()) for message in request.messages)
    tokens = size // 3 + (request.max_tokens or 1024)
    return None if tokens <= 4096 else 1 << (tokens - 1).bit_length()


CHAT_FORMS: Mapping[str, WireForm] = {
    "anthropic": _AnthropicForm(),
    "google": _GoogleForm(),
    "ollama": _OllamaForm(),
    "openai": _OpenAIForm(),
}
"""The wire forms by name."""


def _split_system(messages: Messages) -> tuple[str, list[dict[str, str]]]:
    """Return the system message, and the others with successive ones of a role joined.

    For forms that separate the system message and require alternating roles.
    """
    system = "\n\n".join(item["content"] for item in messages if item["role"] == "system")
    turns: list[dict[str, str]] = []
    for item in messages:
        if item["role"] == "system":
            continue
        if turns and turns[-1]["role"] == item["role"]:
            turns[-1]["content"] += f"\n\n{item['content']}"
        else:
            turns.append(dict(item))
    return system, turns


def _count_tokens(tokens_in: Any, tokens_out: Any, cost: Any = None) -> dict[str, Any]:
    """Return the stated numbers as a piece's usage."""
    numbers = {"input_tokens": tokens_in, "output_tokens": tokens_out, "cost": cost}
    return {
        name: number
        for name, number in numbers.items()
        if isinstance(number, int | float)
        and not isinstance(number, bool)
        and 0 <= number < _MAX_TOKENS
    }


_MAX_TOKENS = 2**53
"""Larger numbers of tokens are implausible, and JSON parsers need not keep them."""
