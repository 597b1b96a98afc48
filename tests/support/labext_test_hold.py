"""The job service with a fork server that starts no process while a file `hold` exists."""

from __future__ import annotations

from labext_test_tools import PreloadingService

service = PreloadingService("labext_test_holding")
