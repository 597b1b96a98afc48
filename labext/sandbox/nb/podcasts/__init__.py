"""Podcasts: what is said about a notebook, by whom, and its sound (contract, Podcasts).

`routes` and `profile_routes` take requests apart, `bodies` and `profile_bodies` say what is sent
and answered. `speaker_profiles` and `episode_profiles` keep the profiles (`profiles` has what they
share), `seed` those that are there from the start.

`generating` looks at an order and puts it into the queue (`tasks`); a process of its own makes the
episode (`execution`) and leaves it (`results`): it gathers the `material`, has it written
(`writing`) and spoken (`labext.sandbox.nb.speech`) by the `cast`, as a `script` says it. `records`
tells how far an episode is, `audio` hands out its sound, which `files` keeps, and `removing`
deletes it.

`writing` asks a language model (`prompting`), or has the built-in one put the sources' own
sentences together (`composing`).
"""
