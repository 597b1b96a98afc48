"""What Open Notebook says of a refusal, said plainly, with a line of `%nb` where it names menus.

Its words lead to pages that a notebook has not ("Settings → Models"), repeat themselves, or show an
object of its own program (real services, section nb). Other servers say none of this.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class _Saying(NamedTuple):
    """What it says, what that means, and what mends it; all with the groups of `words`."""

    words: str
    plain: str
    step: str | None = None


_SET = "Set one: `%nb models defaults --set {slot}=NAME`."
_SAYINGS = (
    _Saying(r"Object with id (?P<id>\S+) not found - .*", "There is no {id}."),
    _Saying(
        r"Model with ID (?P<id>\S+) not found\.?", "There is no model {id}.", "See `%nb models`."
    ),
    _Saying(
        r"No model configured for .*type=(?P<slot>\w+)\. Please go to .*",
        "No model is set for {slot}.",
        _SET,
    ),
    _Saying(
        r"(?P<what>\w[\w ]* requires an embedding model\.) Please configure .*",
        "{what}",
        _SET.format(slot="embedding"),
    ),
    _Saying(
        r"Model is not a LanguageModel: .*",
        "The model is none that writes text.",
        "Name another one: `%nb models --type llm`.",
    ),
    _Saying(
        r"default_(?P<slot>\w+)_model is required and cannot be cleared.*",
        "The slot {slot} can't be cleared, only given another model.",
        "Give it another: `%nb models defaults --set {slot}=NAME`.",
    ),
    _Saying(
        r"(?P<what>Authentication failed\.) Please check your API key in .*",
        "{what}",
        "Give it another: `%nb credentials edit NAME --new-key`.",
    ),
    _Saying(
        r"(?:AI service error: )*(?P<what>The AI provider is temporarily unavailable\.) Please .*",
        "{what}",
        "Try again in a few minutes, or look at the model: `%nb models test NAME`.",
    ),
    _Saying(
        r"(?P<what>Rate limit exceeded\.) Please .*",
        "{what}",
        "Wait a little and try again, or use another model: `%nb models`.",
    ),
    _Saying(
        r"(?:AI service error: )*(?P<what>Invalid json output): .*",
        "The model did not answer as it was asked to ({what}).",
        "Use another model: `%nb models --type llm`.",
    ),
    _Saying(
        r"Encryption key not configured\. Set (?P<name>\w+) .*",
        "It has no key to encrypt what it stores.",
        "Whoever runs it sets {name} and starts it again; then see `%nb credentials status`.",
    ),
    _Saying(
        r".*invalid string provided for parse\..*",
        "It knows no identifier of that form.",
        "Give the title, or an identifier such as `notebook:abc123`: `%nb notebooks`.",
    ),
    _Saying(
        r"(?P<what>Failed to submit podcast generation job)\.?",
        "{what}.",
        "See that its profiles are there: `%nb profiles`.",
    ),
    _Saying(
        r"(?P<what>No answer generated)\.?",
        "{what}.",
        "Ask in other words, or by another model: `%nb models --type llm`.",
    ),
    _Saying(
        r"(?P<what>Error creating source)\.?",
        "It could not read the source.",
        "See whether the file opens elsewhere, then `%nb add` it again.",
    ),
)


def reason(words: object) -> str | None:
    """Return why something failed, plainly and with what mends it; None without a reason."""
    if not isinstance(words, str) or not words.strip():
        return None
    return " ".join(filter(None, plainly(words)))


def plainly(words: str) -> tuple[str, str | None]:
    """Return a server's words said plainly, and what mends it; as they are where they are plain."""
    for saying in _SAYINGS:
        found = re.fullmatch(saying.words, words.strip(), re.DOTALL)
        if found:
            groups = found.groupdict()
            step = saying.step
            return saying.plain.format(**groups), step.format(**groups) if step else None
    return words, None
