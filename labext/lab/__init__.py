"""The client for the laboratory data platform: DNA sequences, and who may see them.

`client` is what a user holds.

- Signing in: the package `auth`; `address` (of a tenant), `identity` (who is calling).
- Lists: `listing` asks for the pages that `paging` reads; `filters` with `filterkinds`, `matching`
  and `times`; `fields` (of a record), `columns` (which of them), `records` (the frame), `rowviews`
  (how it is shown).
- `lookup`: one sequence by its name or ID. `standing`: how much may be seen, and how often asked.
- Files: `seqrecords` (Biopython), `files` (FASTA, GenBank), and what these two stand on.
- `operations` and `failures`: what is asked, and what a refusal means.
"""

from labext.lab.auth import ApiKey, ClientCredentials, IdToken
from labext.lab.client import LabClient
from labext.lab.identity import Identity

__all__ = ["ApiKey", "ClientCredentials", "IdToken", "Identity", "LabClient"]
