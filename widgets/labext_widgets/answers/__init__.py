"""An answer with its citations: as it streams, and when it is looked at again.

- `stream`: draws the events of an answer as they come. `view`: what a user holds afterwards.
- `told`: what has come of an answer so far.
- `drawing`: that as HTML, out of `markdown` and `passages`. `words`: the same as plain text.
- `marks`: the marks in the text, numbered, and which citation each one is.
- `written`: a text that a model has made of another, without citations.
- `documents`: insights, chats and the texts of sources.

The live view is `js/answer.js`.
"""

from labext_widgets.answers.stream import answer
from labext_widgets.answers.view import AnswerView, answered
from labext_widgets.answers.written import Written, WrittenTexts

__all__ = ["AnswerView", "Written", "WrittenTexts", "answer", "answered"]
