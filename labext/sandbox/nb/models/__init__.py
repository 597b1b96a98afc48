"""Models: the built-in ones, and those of any OpenAI-compatible server."""
