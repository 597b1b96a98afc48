"""All restriction enzymes that Biopython has, by name: a thousand, gone through once.

Importing this takes Biopython, so nothing imports it but what needs an enzyme, and the fork server,
whose children then find the table made.
"""

from __future__ import annotations

from typing import Any

from Bio.Restriction import AllEnzymes

ENZYMES: dict[str, Any] = {str(enzyme).lower(): enzyme for enzyme in AllEnzymes}
"""Biopython's classes by their names in lower case."""
