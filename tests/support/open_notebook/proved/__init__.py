"""Proofs that the backend's requests equal recorded ones."""

from open_notebook.proved import chats, extensions, models, notebooks, podcasts, sources

PROOFS = tuple(
    proof
    for module in (notebooks, sources, chats, models, podcasts, extensions)
    for proof in module.PROOFS
)
