"""`%nb`: what can be said on its line."""

from __future__ import annotations

from labext_magics.grammar import Magic

MAGIC = Magic("nb", "Notebooks and knowledge: sources, notes, search, answers, chat.", [])
