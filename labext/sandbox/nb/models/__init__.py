"""Models: the built-in ones, and those of any OpenAI-compatible server.

`registry` knows which there are and what each is used for. `chatting` asks one of type `llm`,
wherever it runs: `extractive` is the built-in one, `openai` the client of a server, `provider` such
a server and `exchange` one call of it. `line` hangs a call up, and `leaving` does that when nobody
waits any more. `encryption` keeps the keys, `titles` names what was given no name, `words` takes a
text apart.
"""
