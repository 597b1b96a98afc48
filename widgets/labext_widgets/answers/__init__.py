"""Answers with citations, while they stream and afterwards."""

from labext_widgets.answers.generated_text import GeneratedText, GeneratedTexts
from labext_widgets.answers.view import AnswerView, answer_view, stream_answer

__all__ = ["AnswerView", "GeneratedText", "GeneratedTexts", "answer_view", "stream_answer"]
