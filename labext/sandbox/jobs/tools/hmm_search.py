"""Searches sequences for the family of an alignment, profile or sequence (HMMER, by PyHMMER)."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labext.sandbox.jobs.tool import Parameter, Score, Settings, Tool, ToolError
from labext.sandbox.jobs.tools import _fasta, _hmmer, _letters, _values

MOST_TARGETS = 20_000
MOST_RESIDUES = 10_000_000
LONGEST_PROTEIN = 20_000
MOST_CELLS = {"protein": 800_000_000, "DNA": 300_000_000}
"""The most products of the profile's length and the targets' letters: half a minute where every
target is a member, or DNA is full of copies; an ordinary search of that size takes a second or two.
DNA that is one short repeat over tens of thousands of bases takes HMMER longer than that: its time
grows with the square of the repeat, and the service's time limit ends it."""


@dataclass(frozen=True)
class _Request:
    molecule: str
    evalue: float
    inclusion: float


def _read(settings: Settings) -> _Request:
    values = TOOL.with_defaults(settings)
    query, targets = _values.text(values, "query"), _values.text(values, "targets")
    evalue = _values.number(values, "evalue", 1e-300, 1000)
    request = _Request(
        _values.choice(values, "molecule", tuple(_hmmer.LETTERS)),
        evalue,
        min(evalue, _values.number(values, "inclusion", 1e-300, 1000)),
    )
    if query.lstrip().startswith(">"):
        _hmmer.fasta(query, request.molecule)
    if targets.lstrip().startswith(">"):
        _targets(targets, request.molecule)
    return request


def _targets(text: str, molecule: str) -> dict[str, str]:
    records = _fasta.records(text, "targets", _hmmer.LETTERS[molecule], _hmmer.KIND[molecule])
    if len(records) > MOST_TARGETS:
        raise ToolError(f"targets: there are {len(records):,}, and {MOST_TARGETS:,} are the most.")
    total = sum(map(len, records.values()))
    if total > MOST_RESIDUES:
        raise ToolError(
            f"targets: they have {total:,} letters, and {MOST_RESIDUES:,} are the most."
        )
    if molecule == "protein":
        for name, letters in records.items():
            _letters.check_length(f"targets, {name}", letters, 1, LONGEST_PROTEIN)
    return records


TOOL = Tool(
    name="hmm_search",
    display_name="Profile search",
    description=(
        "Searches proteins or DNA for relatives of an alignment, a profile hidden Markov model or "
        "one sequence with HMMER's statistics, DNA on both strands. Gives each domain found with "
        "its E-values, bit scores and places as CSV, the domains that count as members aligned to "
        "the profile as FASTA, and the profile. A search is stopped after a minute, which DNA that "
        "repeats a few letters over tens of thousands can take."
    ),
    github="https://github.com/althonos/pyhmmer",
    paper="https://doi.org/10.1371/journal.pcbi.1002195",
    parameters=(
        Parameter(
            "query",
            required=True,
            type="file",
            content=("{molecule}", "{molecule} alignment"),
            description=(
                "An alignment (FASTA with gaps, or Stockholm), a profile of HMMER 3, or one "
                f"sequence (FASTA); at most {_hmmer.LONGEST:,} columns and {_hmmer.MOST_ROWS:,} "
                "rows."
            ),
        ),
        Parameter(
            "targets",
            required=True,
            type="file",
            content=("{molecule}", "{molecule} alignment"),
            description=(
                f"FASTA, at most {MOST_TARGETS:,} sequences and {MOST_RESIDUES:,} letters; times "
                f"the profile's length at most {MOST_CELLS['protein']:,} for proteins and "
                f"{MOST_CELLS['DNA']:,} for DNA."
            ),
        ),
        Parameter(
            "molecule",
            default="protein",
            options=tuple(_hmmer.LETTERS),
            description="What both are, in the IUPAC letters.",
        ),
        Parameter(
            "evalue",
            type="number",
            default=10.0,
            description=(
                "The largest E-value that is listed, of a target and of a domain: the hits as "
                "good as this that chance would give among these targets."
            ),
        ),
        Parameter(
            "inclusion",
            default=0.01,
            description="The largest E-value that counts as a member of the family.",
        ),
    ),
    requires=("pyhmmer",),
    preload=("pyhmmer.plan7",),
    extra="tools",
    seconds=60.0,
    passes=("domains.fasta",),
    passes_content="{molecule}",
    check=_values.fault(_read),
)


def run(settings: Settings, inputs: Mapping[str, Path], out: Path) -> Score:
    """Write `hits.csv`, `profile.hmm` and, where there are members, `domains.fasta`.

    The score: `hits`, the targets listed, and how many of them are `members`; `domains` listed;
    `best_evalue` and `best_score` (bits) of the first hit, absent without one.
    """
    request = _read(settings)
    targets = _targets(_text(inputs["targets"]), request.molecule)
    hmm = _hmmer.profile(_text(inputs["query"]), request.molecule)
    cells, most = hmm.M * sum(map(len, targets.values())), MOST_CELLS[request.molecule]
    if cells > most:
        raise ToolError(
            f"targets: their letters times the {hmm.M} of the profile are {cells:,}, and {most:,} "
            "are the most."
        )
    with (out / "profile.hmm").open("wb") as file:
        hmm.write(file)
    hits = _hmmer.search(hmm, targets, request.molecule, request.evalue, request.inclusion)
    found = [hit for hit in hits.reported if any(domain.reported for domain in hit.domains)]
    rows = [row for hit in found for row in _rows(hit)]
    with (out / "hits.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, _COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    if any(row["member"] == "yes" for row in rows):
        with (out / "domains.fasta").open("wb") as file:
            hits.to_msa(hmm.alphabet).write(file, "afa")
    score: Score = {
        "targets": len(targets),
        "hits": len({hit.name for hit in found}),
        "members": len({row["target"] for row in rows if row["member"] == "yes"}),
        "domains": len(rows),
        "profile_length": hmm.M,
    }
    if found:
        score["best_evalue"] = float(f"{found[0].evalue:.3g}")
        score["best_score"] = round(float(found[0].score), 2)
    return score


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


_COLUMNS = (
    *("target", "length", "evalue", "score", "bias", "domain", "domains", "domain_evalue"),
    *("domain_score", "domain_bias", "profile_start", "profile_end", "start", "end"),
    *("envelope_start", "envelope_end", "strand", "member"),
)


def _rows(hit: Any) -> list[dict[str, object]]:
    """A row a domain; places from 1, both ends within; on the strand - start is above end."""
    domains = list(hit.domains.reported)
    rows = []
    for place, domain in enumerate(domains, 1):
        aligned = domain.alignment
        # Of DNA each hit is one domain, and HMMER gives the bias of that.
        bias = hit.bias if domain.strand is None else domain.bias
        values = (
            *(hit.name, hit.length, f"{hit.evalue:.3g}", f"{hit.score:.2f}", f"{bias:.2f}"),
            *(place, len(domains), f"{domain.i_evalue:.3g}", f"{domain.score:.2f}"),
            *(f"{domain.bias:.2f}", aligned.hmm_from, aligned.hmm_to),
            *(aligned.target_from, aligned.target_to, domain.env_from, domain.env_to),
            *(domain.strand or "", "yes" if hit.included and domain.included else "no"),
        )
        rows.append(dict(zip(_COLUMNS, values, strict=True)))
    return rows
