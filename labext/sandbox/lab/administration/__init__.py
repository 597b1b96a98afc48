"""What the platform's web interface and developer console are elsewhere, for its runner.

Every function of this package takes an `Administration` first (`labext.sandbox.administration`),
and most then the tenant's name; what they return is plain, of what JSON knows.

`people` makes users, `apps` service accounts, `credentials` what both sign in with, `places` what
they may be granted, `grants` those grants; `network` and `providers` are for enterprise accounts;
`log` reads the audit log, `sequences` files sequences. `finding` looks up what is named.
"""

from __future__ import annotations

from functools import partial

from labext.sandbox import administration
from labext.sandbox.administration import Administration, Record
from labext.sandbox.lab.app import service

__all__ = ["Administration", "Record", "opened"]

opened = partial(administration.opened, service=service)
"""The platform of the sandbox in a folder; see `labext.sandbox.administration.opened`."""
