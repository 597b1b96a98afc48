"""The built-in model: it writes nothing of its own, it picks sentences of the text it is given.

No language model comes with the service. What this one says stands in the sources word for word,
and is named as what it is: `model: extractive`.
"""

from __future__ import annotations

from labext.sandbox.nb.models import prose

NAME = "extractive"


def summary(text: str, sentences: int) -> str:
    """The sentences that say most of a text, at most so many, in the text's order.

    Each stands in the text word for word, but for line ends, which are blanks here.
    """
    return " ".join(each.text for each in prose.telling(prose.statements(text), sentences))
