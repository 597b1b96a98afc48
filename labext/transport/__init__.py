"""One synchronous way to speak HTTP for the three clients.

Signing in, pacing, retries by what each operation allows, timeouts, TLS, streaming both ways, and
errors that never hold a secret.
"""

from labext.transport.failure import Failure
from labext.transport.operation import Operation, Repeat
from labext.transport.pacing import Rate
from labext.transport.reply import Reply
from labext.transport.transport import Transport

__all__ = ["Failure", "Operation", "Rate", "Repeat", "Reply", "Transport"]
