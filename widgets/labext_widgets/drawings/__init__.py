"""Drawings of job results: restriction digests, RNA structures, primers and domains."""

from __future__ import annotations

from labext_widgets.drawings.digest import digest_view
from labext_widgets.drawings.domains import domains_view
from labext_widgets.drawings.primers import primers_view
from labext_widgets.drawings.rna import rna_view

__all__ = ["digest_view", "domains_view", "primers_view", "rna_view"]
