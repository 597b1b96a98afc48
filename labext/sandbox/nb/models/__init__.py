"""Models: the built-in ones, and those of any OpenAI-compatible server (contract, Models).

`routes` serves them and `bodies` says what is sent and answered. `registry` knows which there are
and what each is used for, `keeping` makes and deletes them, `overview` counts them, `trial` tries
one by a real call (`trial_process`), and `ranking` gives empty slots the best.

`chatting` asks one of type `llm`, wherever it runs. `extractive` is the built-in one; it takes a
text apart into `words` and `prose`. `openai` is the client of a server: `reaching` finds the server
(`provider`) and its key by a credential or by the `environment`, of which `variables` has the
names; `exchange` is one call, and `sending` its body. `line` hangs a call up, and `leaving` does
that when nobody waits any more.

`providers` are those that can be asked, at addresses that `locating` lets pass; `discovery` asks
for their models, whose types come of `guessing`. `encryption` keeps the keys, `steps` says what to
do next, `titles` names what was given no name.
"""
