"""Administer a tenant of the laboratory platform."""

from __future__ import annotations

from functools import partial

from labext.sandbox.core import administration
from labext.sandbox.lab.administration.accounts import AccountAdministration
from labext.sandbox.lab.administration.projects import ProjectAdministration
from labext.sandbox.lab.administration.tenants import SecurityAdministration
from labext.sandbox.lab.app import service


class LabAdministration(AccountAdministration, ProjectAdministration, SecurityAdministration):
    """A tenant of the laboratory platform, with the calls of its operator."""


open_administration = partial(
    administration.open_administration, service=service, administration=LabAdministration
)
"""Open the platform of the sandbox in a folder; see `core.administration`."""
