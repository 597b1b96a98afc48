"""Client for the lab platform: DNA sequences, folders and sign-in."""

from labext.lab.account import Identity
from labext.lab.auth import ApiKey, ClientCredentials, IdToken
from labext.lab.client import LabClient

__all__ = ["ApiKey", "ClientCredentials", "IdToken", "Identity", "LabClient"]
