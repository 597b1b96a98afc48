"""nbval, without an import of two seconds."""

from __future__ import annotations

import sys

# jsonschema checks the format of IRIs with it, and compiles 39 grammars for that; notebooks have no
# IRIs. Without it the format is not checked.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

pytest_plugins = ("nbval.plugin",)
