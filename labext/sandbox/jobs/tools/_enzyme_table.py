"""Restriction enzymes of Biopython by lower-case name, imported only when needed."""

from __future__ import annotations

from typing import Any

from Bio.Restriction import AllEnzymes

ENZYMES: dict[str, Any] = {str(enzyme).lower(): enzyme for enzyme in AllEnzymes}
"""Biopython's classes by their names in lower case."""
