"""Administer a tenant of the laboratory platform."""

from __future__ import annotations

from functools import partial

from labext.sandbox.core import administration
from labext.sandbox.lab.administration.accounts import AccountAdministration
from labext.sandbox.lab.administration.projects import ProjectAdministration
from labext.sandbox.lab.administration.tenants import SecurityAdministration
from labext.sandbox.lab.app import service


class LabAdministration(AccountAdministration, ProjectAdministration, SecurityAdministration):
    """Administration of a tenant of the laboratory platform."""


open_administration = partial(
    administration.open_administration, service=service, administration=LabAdministration
)
"""Open the administration of the platform in a data folder; see `core.administration`."""
