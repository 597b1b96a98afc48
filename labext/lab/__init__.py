"""The client for the laboratory data platform: DNA sequences, and who may see them.

`client` is what a user holds.

- Signing in: the package `auth`; `address` (of a tenant), `identity` (who is calling).
- Looking: the package `sequences`. `standing`: how much may be seen, and how often asked.
- Keeping: `seqrecords` (Biopython), and the package `files` (FASTA, GenBank).
- `operations` and `failures`: what is asked, and what a refusal means.
"""

from labext.lab.auth import ApiKey, ClientCredentials, IdToken
from labext.lab.client import LabClient
from labext.lab.identity import Identity

__all__ = ["ApiKey", "ClientCredentials", "IdToken", "Identity", "LabClient"]
