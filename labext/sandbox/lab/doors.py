"""Where the platform is reached: an address for each tenant, and one for the identity provider."""

from __future__ import annotations

CAMPUS, CLINIC = "campus", "clinic"
"""The tenants: an enterprise account with an identity provider, and one without."""

TENANTS = {CAMPUS: "lab", CLINIC: "lab-clinic"}
"""Each tenant's door; the first is the one that the sandbox hands out."""

PROVIDER = "lab-oidc"
"""The identity provider's door."""

DOORS = (*TENANTS.values(), PROVIDER)
