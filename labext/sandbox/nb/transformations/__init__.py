"""Transformations: prompts that make something of a text (contract, Transformations).

`keeping` has them, `instructions` the default prompt, `seed` those that are there from the
start, and `routes` serves them. `running` has a model make something of a text, in `parts` where it
is long; the built-in one does by `picking` sentences, which a prompt's `asks` tell it to.
`ingesting` runs those that make insights of every new source.
"""
