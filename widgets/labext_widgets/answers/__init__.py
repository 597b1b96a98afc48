"""Answers with citations, while they stream and afterwards."""

from labext_widgets.answers.generated_text import Draft, GeneratedText, GeneratedTexts
from labext_widgets.answers.view import AnswerView, answer_view, stream_answer, stream_reply

__all__ = [
    "AnswerView",
    "Draft",
    "GeneratedText",
    "GeneratedTexts",
    "answer_view",
    "stream_answer",
    "stream_reply",
]
