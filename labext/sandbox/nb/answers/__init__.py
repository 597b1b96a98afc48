"""Answers from the sources: passages are looked for, and a model makes an answer that cites them.

`asking` goes the way of a question: a strategy, an answer to each of its searches, a final answer.
What a model does on that way is a `Writer` (`writing`): `extracted` by the built-in model
and what it finds of `worth`, `prompted` by a language model with its `prompts`; `choosing` tells
which. `citations` says what an answer stands on, and `routes` serves it,
also to the chat, which asks the same writers.
"""
