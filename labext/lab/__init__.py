"""Client for the lab platform: DNA sequences, folders and sign-in."""

from labext.http.rate_limiter import RateLimitStatus
from labext.lab.account import AccountStatus, Identity
from labext.lab.auth import ApiKey, ClientCredentials, IdToken
from labext.lab.client import LabClient

__all__ = [
    "AccountStatus",
    "ApiKey",
    "ClientCredentials",
    "IdToken",
    "Identity",
    "LabClient",
    "RateLimitStatus",
]
