"""Drawings of job results: restriction digests, RNA structures, primers and domains."""

from __future__ import annotations

from labext_widgets.drawings.digest import DigestView, digest_view
from labext_widgets.drawings.domains import DomainsView, domains_view
from labext_widgets.drawings.primers import PrimersView, primers_view
from labext_widgets.drawings.rna import RnaView, rna_view

__all__ = [
    "DigestView",
    "DomainsView",
    "PrimersView",
    "RnaView",
    "digest_view",
    "domains_view",
    "primers_view",
    "rna_view",
]
