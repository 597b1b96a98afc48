"""Conversations about a notebook: sessions, what is said in them, and what a model is given.

`sessions` keeps them, `talking` has a message answered by a writer of `labext.sandbox.nb.answers`,
`context` tells how much there is to be talked about.
"""
