"""One pacer for all who share an allowance."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from labext.transport.pacing import Pacer, new_pacer
from labext.transport.session import origin
from labext.transport.window import Rate

_shared: WeakValueDictionary[tuple[Any, str], Pacer] = WeakValueDictionary()
_sharing = threading.Lock()


def shared(
    address: str,
    identity: str,
    rate: Rate | None,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Pacer:
    """Return the one pacer of everybody in this process who asks a service as an identity.

    A service counts an identity's requests together, whichever client or thread sends them (lab
    platform contract, Limits: per user or per app). A pacer lives as long as somebody holds it.

    Args:
        address: the service's; its origin counts.
        identity: who asks, as text that tells identities apart and is no secret.
        rate: the limit to keep. Where clients name different ones the strictest holds for all,
            until the service names its own. None is no pacing, and shares nothing.
        clock: seconds, ever rising. A pacer with a clock of its own is not shared.
        sleep: waits for seconds.
    """
    if rate is None or clock is not time.monotonic or sleep is not time.sleep:
        return new_pacer(rate, clock, sleep)
    key = origin(address), identity
    with _sharing:
        pacer = _shared.get(key)
        if pacer is None:
            pacer = _shared[key] = Pacer(rate)
        else:
            pacer.keep(rate)
    return pacer
