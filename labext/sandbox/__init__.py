"""Run the lab, jobs and nb services locally."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labext.sandbox.lifecycle import Sandbox
    from labext.sandbox.status import SandboxStatus

__all__ = ["Sandbox", "SandboxStatus"]


if not TYPE_CHECKING:  # which would accept any name

    def __getattr__(name: str) -> Any:
        if name == "Sandbox":
            from labext.sandbox.lifecycle import Sandbox

            return Sandbox
        if name == "SandboxStatus":
            from labext.sandbox.status import SandboxStatus

            return SandboxStatus
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
