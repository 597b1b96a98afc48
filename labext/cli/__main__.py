"""Run the command `labext` by `python -m labext.cli`."""

from __future__ import annotations

import sys

from labext.cli import main

sys.exit(main())
