"""`python -m labext.cli` is the command `labext`."""

from __future__ import annotations

import sys

from labext.cli import main

sys.exit(main())
