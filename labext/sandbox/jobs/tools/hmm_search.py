"""Search sequences with a profile HMM (HMMER 3, using PyHMMER)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from labext.sandbox.jobs.tools import _inputs, _outputs
from labext.sandbox.jobs.tools.tool import Parameter, Score, Settings, Tool, ToolError

ALPHABETS = {"protein": _inputs.PROTEIN + "BZXJUO", "DNA": _inputs.DNA + "URYSWKMBDHVN"}
MAX_QUERY_LENGTH = 1000
MAX_QUERY_ROWS = 1000
SEED = 42
"""HMMER's default seed; HMMER calibrates profiles with random sequences."""


def read_query(text: str, molecule: str) -> dict[str, str]:
    """Read a single sequence or the rows of an alignment from FASTA, with - for gaps."""
    rows = _inputs.parse_fasta(text, "query", ALPHABETS[molecule], MAX_QUERY_ROWS, aligned=True)
    for name, letters in rows.items():
        _inputs.check_length(f"query, {name}", letters, 1, MAX_QUERY_LENGTH)
    return rows


def build_profile(text: str, molecule: str) -> Any:
    """Build a profile (`pyhmmer.plan7.HMM`) from an alignment or sequence, or parse a profile."""
    from pyhmmer.errors import AlphabetMismatch, UnexpectedError

    content = text.lstrip("\ufeff \r\n\t")
    try:
        if content.startswith(">"):
            profile = _profile_from_fasta(content, molecule)
        elif content.startswith("# STOCKHOLM"):
            profile = _profile_from_stockholm(content, molecule)
        elif content.startswith("HMMER3"):
            profile = _profile_from_file(content)
        else:
            raise ToolError("query: it is not FASTA, a Stockholm alignment or a HMMER 3 profile.")
    except AlphabetMismatch:
        profile = None
    except (ValueError, UnexpectedError, EOFError) as error:
        message = " ".join(str(error).split()).rstrip(".")
        raise ToolError(f"query: HMMER could not build a profile from it: {message}.") from None
    if profile is None or profile.alphabet != _alphabet(molecule):
        raise ToolError(f"query: the profile is not a {molecule} profile, as required by molecule.")
    if profile.M > MAX_QUERY_LENGTH:
        raise ToolError(
            f"query: the profile has {profile.M:,} columns; at most {MAX_QUERY_LENGTH:,} are "
            "allowed."
        )
    return profile


@cache
def _alphabet(molecule: str) -> Any:
    """Return a shared alphabet, since a profile does not keep its alphabet alive."""
    from pyhmmer.easel import Alphabet

    return Alphabet.amino() if molecule == "protein" else Alphabet.dna()


def _profile_from_fasta(text: str, molecule: str) -> Any:
    from pyhmmer.easel import TextMSA, TextSequence

    rows = [
        TextSequence(name=name, sequence=letters)
        for name, letters in read_query(text, molecule).items()
    ]
    if len(rows) == 1:
        (row,) = rows
        letters = row.sequence.replace("-", "")
        return _build_from_query(TextSequence(name=row.name, sequence=letters), molecule)
    return _build_from_query(TextMSA(name="query", sequences=rows), molecule)


def _profile_from_stockholm(text: str, molecule: str) -> Any:
    from pyhmmer.easel import MSAFile

    source = BytesIO(text.encode())
    with MSAFile(source, "stockholm", digital=True, alphabet=_alphabet(molecule)) as file:
        alignments = list(file)
    if len(alignments) != 1:
        raise ToolError(f"query: it has {len(alignments)} alignments; exactly one is required.")
    (alignment,) = alignments
    if len(alignment) > MAX_QUERY_LENGTH or len(alignment.sequences) > MAX_QUERY_ROWS:
        raise ToolError(
            f"query: it has {len(alignment):,} columns and {len(alignment.sequences):,} rows; "
            f"at most {MAX_QUERY_LENGTH:,} and {MAX_QUERY_ROWS:,} are allowed."
        )
    alignment.name = alignment.name or "query"
    return _build_from_query(alignment, molecule)


def _profile_from_file(text: str) -> Any:
    from pyhmmer.plan7 import HMMFile

    with HMMFile(BytesIO(text.encode())) as file:
        profiles = list(file)
    if len(profiles) != 1:
        raise ToolError(f"query: it has {len(profiles)} profiles; exactly one is required.")
    return profiles[0]


def _build_from_query(query: Any, molecule: str) -> Any:
    from pyhmmer.plan7 import Background, Builder

    alphabet = _alphabet(molecule)
    builder, background = Builder(alphabet, seed=SEED), Background(alphabet)
    digital = query.digitize(alphabet) if hasattr(query, "digitize") else query
    if hasattr(digital, "sequences"):
        profile, _, _ = builder.build_msa(digital, background)
    else:
        profile, _, _ = builder.build(digital, background)
    # Removed, so that the same settings produce an identical file.
    profile.creation_time = None
    profile.command_line = None
    return profile


def search_profile(
    hmm: Any, targets: dict[str, str], molecule: str, evalue: float, inclusion: float
) -> Any:
    """Search the targets; return the hits (`pyhmmer.plan7.TopHits`), best first.

    DNA is searched in windows and on both strands, as nhmmer does (doi
    10.1093/bioinformatics/btt403).
    """
    from pyhmmer.easel import DigitalSequenceBlock, TextSequence
    from pyhmmer.plan7 import LongTargetsPipeline, Pipeline

    texts = (TextSequence(name=name, sequence=letters) for name, letters in targets.items())
    block = DigitalSequenceBlock(hmm.alphabet, [text.digitize(hmm.alphabet) for text in texts])
    pipeline = Pipeline if molecule == "protein" else LongTargetsPipeline
    return pipeline(
        hmm.alphabet, seed=SEED, E=evalue, domE=evalue, incE=inclusion, incdomE=inclusion
    ).search_hmm(hmm, block)


MAX_TARGETS = 20_000
MAX_RESIDUES = 10_000_000
MAX_PROTEIN_LENGTH = 20_000
MAX_CELLS = {"protein": 800_000_000, "DNA": 300_000_000}
"""Limit of the profile's length times the letters of the targets. At the limit, a search takes one
or two seconds, and half a minute if all targets match. Long tandem repeats in DNA take longer,
since the time grows with the square of the repeat's length; the time limit stops these searches."""


@dataclass(frozen=True)
class _Request:
    molecule: str
    evalue: float
    inclusion: float


def _read_request(settings: Settings) -> _Request:
    values = TOOL.with_defaults(settings)
    query, targets = _inputs.read_text(values, "query"), _inputs.read_text(values, "targets")
    evalue = _inputs.read_number(values, "evalue", 1e-300, 1000)
    request = _Request(
        _inputs.read_choice(values, "molecule", tuple(ALPHABETS)),
        evalue,
        min(evalue, _inputs.read_number(values, "inclusion", 1e-300, 1000)),
    )
    if query.lstrip().startswith(">"):
        read_query(query, request.molecule)
    if targets.lstrip().startswith(">"):
        _read_targets(targets, settings, request.molecule)
    return request


def _read_targets(text: str, settings: Settings, molecule: str) -> dict[str, str]:
    records = _inputs.parse_fasta(text, "targets", ALPHABETS[molecule], MAX_TARGETS)
    _inputs.check_default_molecule(settings, "targets", "".join(records.values()))
    total = sum(map(len, records.values()))
    if total > MAX_RESIDUES:
        raise ToolError(
            f"targets: they have {total:,} letters; at most {MAX_RESIDUES:,} are allowed."
        )
    if molecule == "protein":
        for name, letters in records.items():
            _inputs.check_length(f"targets, {name}", letters, 1, MAX_PROTEIN_LENGTH)
    return records


TOOL = Tool(
    name="hmm_search",
    display_name="Profile search",
    description=(
        "Searches proteins or DNA (both strands) with an alignment, a profile hidden Markov "
        "model or a single sequence, using HMMER. Returns each domain with its E-values, bit "
        "scores and positions as CSV, the domains below the inclusion threshold aligned to "
        "the profile as FASTA, and the profile. A search is stopped after a minute, which "
        "long repetitive DNA can reach."
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
                f"sequence (FASTA); at most {MAX_QUERY_LENGTH:,} columns and {MAX_QUERY_ROWS:,} "
                "rows."
            ),
        ),
        Parameter(
            "targets",
            required=True,
            type="file",
            content=("{molecule}", "{molecule} alignment"),
            description=(
                f"FASTA, at most {MAX_TARGETS:,} sequences and {MAX_RESIDUES:,} letters; times "
                f"the profile's length at most {MAX_CELLS['protein']:,} for proteins and "
                f"{MAX_CELLS['DNA']:,} for DNA."
            ),
        ),
        Parameter(
            "molecule",
            default="protein",
            options=tuple(ALPHABETS),
            description="The type of query and targets, in IUPAC letters.",
        ),
        Parameter(
            "evalue",
            type="number",
            default=10.0,
            description=(
                "Maximum E-value of the listed targets and domains: the number of hits with "
                "such a score that are expected by chance among these targets."
            ),
        ),
        Parameter(
            "inclusion",
            default=0.01,
            description="Maximum E-value of the domains that are included in the alignment.",
        ),
    ),
    requires=("pyhmmer",),
    preload=("pyhmmer.plan7",),
    extra="tools",
    seconds=60.0,
    passes=("domains.fasta",),
    figures=("hits.csv",),
    passes_content="{molecule}",
    read=_read_request,
)


def run(settings: Settings, inputs: Mapping[str, Path], out: Path) -> Score:
    """Write `hits.csv` and `profile.hmm`, and `domains.fasta` if there are members.

    The score: number of `targets`, `hits`, `members` (hits below the inclusion threshold) and
    `domains`; `best_evalue` and `best_score` (bits) of the first hit, omitted without hits.
    """
    request = _read_request(settings)
    targets = _read_targets(
        _inputs.read_file(inputs["targets"], "targets"), settings, request.molecule
    )
    hmm = build_profile(_inputs.read_file(inputs["query"], "query"), request.molecule)
    cells, max_cells = hmm.M * sum(map(len, targets.values())), MAX_CELLS[request.molecule]
    if cells > max_cells:
        raise ToolError(
            f"targets: their letters times the profile length {hmm.M} are {cells:,}; at most "
            f"{max_cells:,} are allowed."
        )
    with (out / "profile.hmm").open("wb") as file:
        hmm.write(file)
    hits = search_profile(hmm, targets, request.molecule, request.evalue, request.inclusion)
    reported = [hit for hit in hits.reported if any(domain.reported for domain in hit.domains)]
    rows = [row for hit in reported for row in _domain_rows(hit)]
    _outputs.write_csv(out / "hits.csv", _COLUMNS, (row.values() for row in rows))
    if any(row["member"] == "yes" for row in rows):
        with (out / "domains.fasta").open("wb") as file:
            hits.to_msa(hmm.alphabet).write(file, "afa")
    score: Score = {
        "targets": len(targets),
        "hits": len({hit.name for hit in reported}),
        "members": len({row["target"] for row in rows if row["member"] == "yes"}),
        "domains": len(rows),
        "profile_length": hmm.M,
    }
    if reported:
        score["best_evalue"] = float(f"{reported[0].evalue:.3g}")
        score["best_score"] = round(float(reported[0].score), 2)
    return score


_COLUMNS = (
    *("target", "length", "evalue", "score", "bias", "domain", "domains", "domain_evalue"),
    *("domain_score", "domain_bias", "profile_start", "profile_end", "start", "end"),
    *("envelope_start", "envelope_end", "strand", "member"),
)


def _domain_rows(hit: Any) -> list[dict[str, object]]:
    """Return one row per domain; positions from 1, inclusive; start > end on the - strand."""
    domains = list(hit.domains.reported)
    rows = []
    for number, domain in enumerate(domains, 1):
        aligned = domain.alignment
        # For DNA, every hit has exactly one domain and HMMER reports the bias of the hit.
        bias = hit.bias if domain.strand is None else domain.bias
        values = (
            *(hit.name, hit.length, f"{hit.evalue:.3g}", f"{hit.score:.2f}", f"{bias:.2f}"),
            *(number, len(domains), f"{domain.i_evalue:.3g}", f"{domain.score:.2f}"),
            *(f"{domain.bias:.2f}", aligned.hmm_from, aligned.hmm_to),
            *(aligned.target_from, aligned.target_to, domain.env_from, domain.env_to),
            *(domain.strand or "", "yes" if hit.included and domain.included else "no"),
        )
        rows.append(dict(zip(_COLUMNS, values, strict=True)))
    return rows
