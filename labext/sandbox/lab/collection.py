"""The real sequences that the platform comes with, as they are filed; see data/README.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from labext.sandbox.lab import identifiers, reading
from labext.sandbox.lab.fragments import as_part, stretch
from labext.sandbox.lab.records import Entry, Registration, Schema

DATA = Path(__file__).parent / "data"

VECTORS = "Vectors"
DIGESTS = "Digests"
COLD = "Cold-regulated genes"
CACTI = "Cactus rpl16 introns"
ORCHIDS = "Orchid ITS regions"
REFERENCES = "Reference sequences"

ECO_RI = "GAATTC"


@dataclass(frozen=True)
class Filed:
    """A sequence of the collection; `archived` says why it is out of use."""

    entry: Entry
    archived: str | None = None


def schema(tenant: str, name: str) -> Schema:
    """A tenant's schema of this name."""
    return Schema(identifiers.of("ts", tenant, name), name)


def sequence_id(tenant: str, folder: str, place: int) -> str:
    """The id of a folder's sequence, by its place in the collection."""
    return identifiers.of("seq", tenant, folder, place)


def registry_id(tenant: str) -> str:
    """Return the id of a tenant's registry; each has one."""
    return identifiers.of("src", tenant, "Registry")


def vectors(tenant: str) -> list[Filed]:
    """Three plasmids, and one that was archived."""
    pbad30 = _plasmid(
        tenant, "pBAD30.gb", 1, "pBAD30", {"Selection markers": ["ampicillin"], "Origin": "p15A"}
    )
    kanmx6 = _plasmid(
        tenant,
        "pFA6a-kanMX6.gb",
        2,
        "plasmid pFA6a-kanMX6",
        {"Selection markers": ["kanamycin", "ampicillin"], "Origin": "ColE1"},
        accession="Addgene 39296",
    )
    ppcp1 = _plasmid(tenant, "NC_005816.gb", 3, "Yersinia pestis plasmid pPCP1", {})
    draft = Entry("plasmid pBAD30, bases alone", pbad30.bases, circular=True)
    return [Filed(pbad30), Filed(kanmx6), Filed(ppcp1), Filed(draft, "Made in error")]


def digests(tenant: str) -> list[Filed]:
    """Two plasmids opened at their only EcoRI site."""
    found = []
    for place, filed in enumerate(vectors(tenant)[:2]):
        entry = filed.entry
        cut = entry.bases.upper().index(ECO_RI) + 1  # G^AATTC
        bases, marks = stretch(entry, cut, len(entry.bases))
        source = sequence_id(tenant, VECTORS, place)
        name = f"plasmid {entry.name.removeprefix('plasmid ')}, cut with EcoRI"
        parts = [as_part(source, len(bases))]
        found.append(Filed(Entry(name, bases, marks=marks, parts=parts)))
    return found


def cold_genes(tenant: str) -> list[Filed]:
    """Six genes of the cold response, by the names that the records give them."""
    names = ("cor6.6", "kin2", "kin1", "csp14", "kin", "BN28a")
    entries = reading.entries(DATA / "cor6_6.gb")
    found = []
    for name, entry in zip(names, entries, strict=True):
        told = entry.custom
        fields = {each: told[each] for each in ("Organism", "Accession", "Molecule type")}
        custom = {"Definition": told["Definition"]}
        found.append(
            Filed(
                replace(
                    entry,
                    name=name,
                    schema=schema(tenant, "Gene"),
                    fields={"Gene": name} | fields,
                    custom=custom,
                )
            )
        )
    return found


def cacti(tenant: str) -> list[Filed]:
    """Seven introns of a chloroplast gene, each of another cactus."""
    return _regions(tenant, "opuntia.fasta", "rpl16", 2, "rpl16 intron")


def orchids(tenant: str) -> list[Filed]:
    """The ribosomal ITS regions of 94 orchids; two species are there twice."""
    return _regions(tenant, "ls_orchid.fasta", "ITS", 1, "ITS1, 5.8S rRNA, ITS2")


def references(tenant: str) -> list[Filed]:
    """What a clinic compares with: the plasmid, and the stretch of it that tests look for."""
    plasmid = vectors(tenant)[2].entry
    (pla,) = (each for each in plasmid.marks.translations if each["name"] == "pla")
    bases, marks = stretch(plasmid, pla["start"], pla["end"] - pla["start"])
    source = sequence_id(tenant, REFERENCES, 0)
    target = Entry(
        "pPCP1 pla, target of the test", bases, marks=marks, parts=[as_part(source, len(bases))]
    )
    return [Filed(plasmid), Filed(target)]


FOLDERS: Mapping[str, Callable[[str], list[Filed]]] = {
    VECTORS: vectors,
    DIGESTS: digests,
    COLD: cold_genes,
    CACTI: cacti,
    ORCHIDS: orchids,
    REFERENCES: references,
}
"""What is in a folder of this name, for a tenant."""


def _plasmid(
    tenant: str, file: str, number: int, name: str, fields: Mapping[str, Any], accession: str = ""
) -> Entry:
    (entry,) = reading.entries(DATA / file)
    told = entry.custom
    accession = told.get("Accession", accession)
    known = {
        "Organism": told.get("Organism"),
        "Accession": accession or None,
        "Selection markers": None,
        "Origin": None,
    }
    return replace(
        entry,
        name=name,
        aliases=[accession] if accession else [],
        schema=schema(tenant, "Plasmid"),
        fields=known | dict(fields),
        custom={"Definition": told["Definition"]} if "Definition" in told else {},
        registration=Registration(registry_id(tenant), f"VEC{number:03}"),
    )


def _regions(tenant: str, file: str, suffix: str, words: int, marker: str) -> list[Filed]:
    """Records named by the species, which the first words of their descriptions are."""
    found = []
    for entry in reading.entries(DATA / file):
        description = entry.custom["Description"]
        species = " ".join(description.split()[:words])
        accession = entry.name.split("|")[3]  # gi|NUMBER|emb|ACCESSION|LOCUS
        fields = {"Organism": species, "Accession": accession, "Marker": marker}
        found.append(
            Filed(
                replace(
                    entry,
                    name=f"{species} {suffix}",
                    aliases=[accession],
                    schema=schema(tenant, "Marker region"),
                    fields=fields,
                )
            )
        )
    return found
