"""Administer a tenant of the laboratory platform: its web interface and developer console.

`people` has users, apps and their credentials; `places` what they are granted; `access` IP ranges,
the identity provider and the log; `tenants` looks up what is named.
"""

from __future__ import annotations

from functools import partial

from labext.sandbox import administration
from labext.sandbox.lab.administration.access import Access
from labext.sandbox.lab.administration.people import People
from labext.sandbox.lab.administration.places import Places
from labext.sandbox.lab.app import service


class LabAdministration(People, Places, Access):
    """A tenant of the laboratory platform, with the calls of its operator."""


opened = partial(administration.opened, service=service, administration=LabAdministration)
"""Open the platform of the sandbox in a folder; see `labext.sandbox.administration.opened`."""
