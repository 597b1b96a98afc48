"""What a model of type `llm` answers to a conversation, wherever it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from labext.sandbox.nb.models import extractive, registry
from labext.sandbox.nb.models.line import Line
from labext.sandbox.nb.store import Model
from labext.sandbox.service import Site


def reply(
    site: Site,
    model: Model,
    messages: Sequence[Mapping[str, str]],
    line: Line | None = None,
    max_tokens: int | None = None,
) -> str:
    """A model's answer to a conversation.

    The built-in model is no language model: it returns key sentences of the last message.

    Args:
        site: where the service lives.
        model: of type `llm`.
        messages: `{"role": "system|user|assistant", "content": …}` each, the last one the user's.
        line: may be hung up while it waits.
        max_tokens: of the answer; None leaves it to the server.

    Raises:
        HTTPException: 502, the model's server failed; 422, it can't be asked.
        HungUp: nobody waits any more.
    """
    if registry.is_built_in(model):
        return extractive.summary(messages[-1]["content"])
    from labext.sandbox.nb.models import openai  # and with it requests, which takes its time

    return openai.chat(site, model, messages, line, max_tokens)
