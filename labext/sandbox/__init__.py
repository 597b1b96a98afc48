"""The local services: three small but real servers on loopback, and what they share.

`Sandbox` starts, stops and describes them. Importing this package costs nothing and works on every
platform; the servers themselves need the `sandbox` extra and Linux or macOS.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labext.sandbox.control import Sandbox, SandboxStatus

__all__ = ["Sandbox", "SandboxStatus"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from labext.sandbox import control

        return getattr(control, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
