"""Build the reference as HTML pages; run by `labext docs` in a separate process."""

from __future__ import annotations

import sys

# nbformat imports jsonschema, which compiles 39 grammars with it, for two seconds, to check the
# format of IRIs. Notebooks have none.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
