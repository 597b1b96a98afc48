"""One synchronous way to speak HTTP for the three clients.

Signing in, pacing, retries by what each operation allows, timeouts, TLS, streaming both ways, and
errors that never hold a secret.

A client declares each `operation`. `transport` makes a `call` of it, waits for its turn (`pacing`),
sends it over a `session` and follows redirects (`exchange`). What came is a `reply`, a refusal
(`failure`) or nothing (`lost`); `verdict` says what follows from the last two, `retries` how often.
Pacing counts one's own requests (`window`), follows what the service says of its limit
(`rate_headers`), and is one for all clients of an identity (`sharing`).
`download` fetches to disk, by way of `partial`; `store` uploads to a presigned address, both on the
transport's `terms`. `events` and `multipart` are forms of bodies.
"""

from labext.transport.failure import Failure
from labext.transport.operation import Operation, Repeat
from labext.transport.reply import Reply
from labext.transport.transport import Transport
from labext.transport.window import Rate

__all__ = ["Failure", "Operation", "Rate", "Repeat", "Reply", "Transport"]
