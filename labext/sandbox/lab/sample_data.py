"""Bundled sample sequences, and fragments and point mutants generated from them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate, count, islice
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from labext.sandbox.core.database import Database, count_rows
from labext.sandbox.lab import tables
from labext.sandbox.lab.endpoints import CAMPUS
from labext.sandbox.lab.sequences import importing
from labext.sandbox.lab.sequences.features import LOCATION_FIELD, SequenceFeatures
from labext.sandbox.lab.sequences.importing import insert_rows
from labext.sandbox.lab.sequences.records import (
    FilingContext,
    Registration,
    Schema,
    SequenceEntry,
    sequence_row,
    tenant_registry_id,
)
from labext.sandbox.lab.tables import (
    Folder,
    Organization,
    Project,
    Record,
    Tenant,
    User,
    format_timestamp,
)


def extract_subsequence(
    entry: SequenceEntry, start: int, length: int
) -> tuple[str, SequenceFeatures]:
    """Return the bases of a region and its features, with positions relative to its start.

    `start` counts from 0. In a circular sequence the region may span the origin.
    """
    bases, features = entry.bases, entry.features
    extended = bases + bases[: start + length - len(bases)] if entry.circular else bases
    annotations, translations, primers = (
        [*_features_within(records, start, length, len(bases))]
        for records in (features.annotations, features.translations, features.primers)
    )
    part = SequenceFeatures(annotations, translations, primers)
    return extended[start : start + length], part


def part_record(source_id: str, length: int) -> Record:
    """Return the part record of a sequence that is a region of another sequence."""
    return {"start": 0, "end": length, "strand": 1, "sequenceId": source_id}


def _features_within(
    features: Iterable[Record], start: int, length: int, total: int
) -> Iterable[Record]:
    for feature in features:
        first = (feature["start"] - start) % total
        span = (feature["end"] - feature["start"]) % total or total
        if first + span <= length:
            yield _shift_feature(feature, first, span, start, total)


def _shift_feature(feature: Record, first: int, span: int, offset: int, total: int) -> Record:
    shifted = feature | {"start": first, "end": first + span}
    if "customFields" in feature:
        shifted["customFields"] = [
            item for item in feature["customFields"] if item["name"] != LOCATION_FIELD
        ]
    if "bindPosition" in feature:
        shifted["bindPosition"] = (feature["bindPosition"] - offset) % total
    if "regions" in feature:
        shifted["regions"] = [
            {
                "start": (start := (region["start"] - offset) % total),
                "end": start + region["end"] - region["start"],
            }
            for region in feature["regions"]
        ]
    return shifted


DATA_FOLDER = Path(__file__).parent / "data"

VECTORS = "Vectors"
DIGESTS = "Digests"
COLD_GENES = "Cold-regulated genes"
CACTI = "Cactus rpl16 introns"
ORCHIDS = "Orchid ITS regions"
REFERENCES = "Reference sequences"

ECO_RI = "GAATTC"


def sample_schema(tenant: str, name: str) -> Schema:
    """Return a schema of a tenant."""
    return Schema(tables.stable_identifier("ts", tenant, name), name)


def sample_sequence_id(tenant: str, folder: str, index: int) -> str:
    """Return the id of a sample sequence by its index in the folder."""
    return tables.stable_identifier("seq", tenant, folder, index)


def load_vectors(tenant: str) -> list[SequenceEntry]:
    """Load three plasmids, and an archived draft of one."""
    pbad30 = _load_plasmid(
        tenant, "pBAD30.gb", 1, "pBAD30", {"Selection markers": ["ampicillin"], "Origin": "p15A"}
    )
    fields = {"Selection markers": ["kanamycin", "ampicillin"], "Origin": "ColE1"}
    kanmx6 = _load_plasmid(
        tenant, "pFA6a-kanMX6.gb", 2, "plasmid pFA6a-kanMX6", fields, accession="Addgene 39296"
    )
    ppcp1 = _load_plasmid(tenant, "NC_005816.gb", 3, "Yersinia pestis plasmid pPCP1", {})
    draft = SequenceEntry(
        "plasmid pBAD30, bases alone", pbad30.bases, circular=True, archived="Made in error"
    )
    return [pbad30, kanmx6, ppcp1, draft]


def load_digests(tenant: str) -> list[SequenceEntry]:
    """Load two plasmids that are linearized at their only EcoRI site."""
    digests = []
    for index, entry in enumerate(load_vectors(tenant)[:2]):
        cut = entry.bases.upper().index(ECO_RI) + 1  # G^AATTC
        bases, features = extract_subsequence(entry, cut, len(entry.bases))
        source = sample_sequence_id(tenant, VECTORS, index)
        name = f"plasmid {entry.name.removeprefix('plasmid ')}, cut with EcoRI"
        parts = [part_record(source, len(bases))]
        digests.append(SequenceEntry(name, bases, features=features, parts=parts))
    return digests


def load_cold_genes(tenant: str) -> list[SequenceEntry]:
    """Load six genes of the cold response."""
    names = ("cor6.6", "kin2", "kin1", "csp14", "kin", "BN28a")
    entries = importing.read_sequences(DATA_FOLDER / "cor6_6.gb")
    genes, schema = [], sample_schema(tenant, "Gene")
    for name, entry in zip(names, entries, strict=True):
        annotations = entry.custom
        columns = ("Organism", "Accession", "Molecule type")
        fields = {"Gene": name} | {column: annotations[column] for column in columns}
        custom = {"Definition": annotations["Definition"]}
        genes.append(replace(entry, name=name, schema=schema, fields=fields, custom=custom))
    return genes


def load_cacti(tenant: str) -> list[SequenceEntry]:
    """Load the introns of a chloroplast gene from seven cacti."""
    return _load_regions(tenant, "opuntia.fasta", "rpl16", 2, "rpl16 intron")


def load_orchids(tenant: str) -> list[SequenceEntry]:
    """Load the ribosomal ITS regions of 94 orchids; two species occur twice."""
    return _load_regions(tenant, "ls_orchid.fasta", "ITS", 1, "ITS1, 5.8S rRNA, ITS2")


def load_references(tenant: str) -> list[SequenceEntry]:
    """Load the reference sequences of a clinic: a plasmid and the region targeted by a test."""
    plasmid = load_vectors(tenant)[2]
    (pla,) = (
        translation for translation in plasmid.features.translations if translation["name"] == "pla"
    )
    bases, features = extract_subsequence(plasmid, pla["start"], pla["end"] - pla["start"])
    parts = [part_record(sample_sequence_id(tenant, REFERENCES, 0), len(bases))]
    name = "pPCP1 pla, target of the test"
    return [plasmid, SequenceEntry(name, bases, features=features, parts=parts)]


SAMPLE_FOLDERS: Mapping[str, Callable[[str], list[SequenceEntry]]] = {
    VECTORS: load_vectors,
    DIGESTS: load_digests,
    COLD_GENES: load_cold_genes,
    CACTI: load_cacti,
    ORCHIDS: load_orchids,
    REFERENCES: load_references,
}
"""Loaders of the sample sequences by folder name; the argument is the tenant."""


def _load_plasmid(
    tenant: str, file: str, number: int, name: str, fields: Mapping[str, Any], accession: str = ""
) -> SequenceEntry:
    (entry,) = importing.read_sequences(DATA_FOLDER / file)
    annotations = entry.custom
    accession = annotations.get("Accession", accession)
    defaults = {
        "Organism": annotations.get("Organism"),
        "Accession": accession or None,
        "Selection markers": None,
        "Origin": None,
    }
    return replace(
        entry,
        name=name,
        aliases=[accession] if accession else [],
        schema=sample_schema(tenant, "Plasmid"),
        fields=defaults | dict(fields),
        custom={"Definition": annotations["Definition"]} if "Definition" in annotations else {},
        registration=Registration(tenant_registry_id(tenant), f"VEC{number:03}"),
    )


def _load_regions(
    tenant: str, file: str, suffix: str, words: int, marker: str
) -> list[SequenceEntry]:
    """Load sequences, named by the species in the first words of their description."""
    regions, schema = [], sample_schema(tenant, "Marker region")
    for entry in importing.read_sequences(DATA_FOLDER / file):
        description = entry.custom["Description"]
        species = " ".join(description.split()[:words])
        accession = entry.name.split("|")[3]  # gi|NUMBER|emb|ACCESSION|LOCUS
        fields = {"Organism": species, "Accession": accession, "Marker": marker}
        name, aliases = f"{species} {suffix}", [accession]
        regions.append(replace(entry, name=name, aliases=aliases, schema=schema, fields=fields))
    return regions


GENERATED_FOLDER = "Fragments and mutants"

FRAGMENT_LENGTH = 500
"""Length of a fragment in bases."""

EARLIEST_CREATED = datetime(2026, 1, 1, tzinfo=UTC)
"""Creation time of the first fragment; earlier than all samples, so that these lead every list."""

_MAX_MUTATIONS = 3
_INSERT_BATCH_SIZE = 5000
"""Rows per transaction."""


@dataclass(frozen=True)
class SequenceGenerator:
    """Generates the sequences that fill a folder.

    Attributes:
        sources: the ids and the sequences from which fragments are generated.
        weights: cumulative lengths of the sources, so that longer sources give more fragments.
        numbers: the numbers without a sequence.
    """

    context: FilingContext
    sources: Sequence[tuple[str, SequenceEntry]]
    weights: Sequence[int]
    numbers: Iterator[int]

    @classmethod
    def of(cls, session: Session) -> SequenceGenerator | None:
        """Create the generator; None if an administrator has removed the folder or its owner."""
        folder = session.get(Folder, tables.stable_identifier("lib", CAMPUS, GENERATED_FOLDER))
        creator = session.get(User, tables.stable_identifier("ent", CAMPUS, "teacher"))
        if folder is None or creator is None:
            return None
        existing_ids = {*session.scalars(select(tables.Sequence.id).filter_by(folder_id=folder.id))}
        sources = _source_sequences()
        return cls(
            FilingContext.of(session, folder, creator),
            sources,
            [*accumulate(len(entry.bases) for _, entry in sources)],
            (number for number in count() if _generated_id(number) not in existing_ids),
        )

    def rows(self, limit: int) -> list[Record]:
        """Return the next rows, at most `limit`."""
        return [self._row(number) for number in islice(self.numbers, limit)]

    def _row(self, number: int) -> Record:
        # Seeded, so that a number always gives the same sequence.
        rng = random.Random(number)  # noqa: S311
        ((source_id, source),) = rng.choices(self.sources, cum_weights=self.weights)
        fragment = _random_fragment(rng, source_id, source, number)
        created = format_timestamp(EARLIEST_CREATED + timedelta(seconds=number))
        return sequence_row(fragment, self.context, _generated_id(number), created)


def fill_campus(database: Database, target: int | None) -> None:
    """Add sequences until `campus` has at least `target`."""
    generator: SequenceGenerator | None = None
    while target is not None:
        with database.write() as session:
            missing = target - _count_sequences(session)
            if missing <= 0:
                return
            generator = generator or SequenceGenerator.of(session)
            if generator is None:
                return
            insert_rows(session, generator.rows(min(missing, _INSERT_BATCH_SIZE)))


def _count_sequences(session: Session) -> int:
    folders = (
        select(Folder.id).join(Project).join(Organization).join(Tenant).where(Tenant.name == CAMPUS)
    )
    return count_rows(session, tables.Sequence, tables.Sequence.folder_id.in_(folders))


def _generated_id(number: int) -> str:
    return tables.stable_identifier("seq", CAMPUS, GENERATED_FOLDER, number)


def _source_sequences() -> list[tuple[str, SequenceEntry]]:
    """Return the samples that are long enough, not archived and not parts of others."""
    return [
        (sample_sequence_id(CAMPUS, folder, index), entry)
        for folder in (VECTORS, COLD_GENES, CACTI, ORCHIDS)
        for index, entry in enumerate(SAMPLE_FOLDERS[folder](CAMPUS))
        if entry.archived is None and len(entry.bases) >= FRAGMENT_LENGTH
    ]


def _random_fragment(
    rng: random.Random, source_id: str, entry: SequenceEntry, number: int
) -> SequenceEntry:
    """Return a fragment of the source; every other one has substitutions."""
    start = rng.randrange(
        len(entry.bases) if entry.circular else len(entry.bases) - FRAGMENT_LENGTH + 1
    )
    bases, features = extract_subsequence(entry, start, FRAGMENT_LENGTH)
    changes = [*_random_substitutions(rng, bases)] if number % 2 else []
    for position, _, after in changes:
        bases = f"{bases[:position]}{after}{bases[position + 1 :]}"
    notes = [
        f"{before.upper()}{position + 1}{after.upper()}" for position, before, after in changes
    ]
    return SequenceEntry(
        " ".join([f"{entry.name.removeprefix('plasmid ')} from {start + 1}", *notes, f"#{number}"]),
        bases,
        features=_unaffected_features(features, [position for position, *_ in changes]),
        parts=[part_record(source_id, FRAGMENT_LENGTH)],
        schema=sample_schema(CAMPUS, "Fragment"),
        fields={"Source": entry.name, "First base": start + 1, "Mutations": notes},
    )


def _unaffected_features(features: SequenceFeatures, changed: Sequence[int]) -> SequenceFeatures:
    """Return the features without the translations and primers that contain changed bases."""

    def is_unaffected(feature: Record) -> bool:
        return not any(feature["start"] <= position < feature["end"] for position in changed)

    return SequenceFeatures(
        features.annotations,
        [*filter(is_unaffected, features.translations)],
        [*filter(is_unaffected, features.primers)],
    )


def _random_substitutions(rng: random.Random, bases: str) -> Iterator[tuple[int, str, str]]:
    """Yield substitutions: the 0-based position, the old base and the new base."""
    for position in sorted(rng.sample(range(len(bases)), rng.randint(1, _MAX_MUTATIONS))):
        before = bases[position]
        letters = "acgt" if before.islower() else "ACGT"
        yield position, before, rng.choice([letter for letter in letters if letter != before])
