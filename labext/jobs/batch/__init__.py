"""Batches: many jobs of one tool, also more than the service takes at once.

A frame or a mapping becomes a `plan` (`planning`, `tables`), which is held against what the service
has (`presence`), written down (`journal` with `journal_rows` and `sendlog`) and sent
(`submission`), which ends in a `report`; `unfinished` lists what broke off. `parts` and `folding`
see a batch that was split as one.
"""
