"""Run the lab, jobs and nb services locally."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labext.sandbox.lifecycle import Sandbox, SandboxStatus

__all__ = ["Sandbox", "SandboxStatus"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from labext.sandbox import lifecycle

        return getattr(lifecycle, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
