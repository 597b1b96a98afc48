"""The wire forms of chat: requests in, pieces of a reply out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from labext.sandbox.nb.providers.servers import ProviderServer

Messages = Sequence[Mapping[str, str]]
"""Messages with `role` (`system`, `user`, `assistant`) and `content`."""


@dataclass(frozen=True)
class ChatRequest:
    """A request to a chat model; no tools are offered to it.

    Attributes:
        model: the provider's name of the model.
        messages: the conversation.
        max_tokens: the maximum length of the reply; None for the model's own.
        stream: whether the reply is sent in pieces.
    """

    model: str
    messages: Messages
    max_tokens: int | None
    stream: bool


@dataclass(frozen=True)
class Piece:
    """A piece of a reply.

    Attributes:
        text: the words.
        usage: the tokens and the cost as far as this piece states them; see `usage.Usage`.
        is_last: whether the reply is complete.
        refusal: why the model does not answer; empty if it does.
        error: the provider's message about a failure in the middle; empty if there is none.
    """

    text: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)
    is_last: bool = False
    refusal: str = ""
    error: str = ""


class WireForm(Protocol):
    """How the servers of a provider are asked, and how they answer.

    Methods that parse raise KeyError, IndexError, TypeError, AttributeError or ValueError if the
    value has another form.
    """

    title: str
    """Its name in messages, such as `an OpenAI-compatible server`."""

    def chat(self, server: ProviderServer, request: ChatRequest) -> tuple[str, dict[str, Any]]:
        """Return the path and the body of a request."""

    def parse_piece(self, value: Any) -> Piece:
        """Parse a value of a streamed reply."""

    def parse_reply(self, value: Any) -> Piece:
        """Parse a reply in one piece."""

    def embed(
        self, server: ProviderServer, model: str, texts: Sequence[str]
    ) -> tuple[str, dict[str, Any]]:
        """Return the path and the body of a request for vectors."""

    def parse_vectors(self, value: Any) -> list[Any]:
        """Parse the vectors, in the order of the texts."""

    def models_path(self, server: ProviderServer) -> str:
        """Return the path of the list of models."""

    def parse_models(self, value: Any) -> list[Any]:
        """Parse the names of the models."""


def split_system(messages: Messages) -> tuple[str, list[dict[str, str]]]:
    """Return the system message, and the others with successive ones of a role joined.

    For forms that keep the system message apart and want the roles to alternate.
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


def count_tokens(tokens_in: Any, tokens_out: Any, cost: Any = None) -> dict[str, Any]:
    """Return the stated numbers as a piece's usage."""
    numbers = {"input_tokens": tokens_in, "output_tokens": tokens_out, "cost": cost}
    return {
        name: number
        for name, number in numbers.items()
        if isinstance(number, int | float) and not isinstance(number, bool) and number >= 0
    }
