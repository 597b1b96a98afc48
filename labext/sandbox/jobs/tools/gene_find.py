"""Find genes in prokaryotic and viral DNA (Prodigal, using Pyrodigal)."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from labext.dna import reverse_complement
from labext.sandbox.jobs.tools import _inputs, _outputs
from labext.sandbox.jobs.tools.tool import Parameter, Score, Settings, Tool, ToolError

MAX_SEQUENCES = 2000
MAX_BASES = {"single": 10_000_000, "meta": 2_000_000}
"""Limits by mode, at which a job takes about 30 seconds."""
MIN_TRAINING_BASES, GOOD_TRAINING_BASES = 20_000, 100_000
"""Minimum and recommended number of bases for training a model, from Prodigal."""
TABLES = (4, 11, 25)


@dataclass(frozen=True)
class _Request:
    mode: str
    table: int
    closed: bool


def _read_request(settings: Settings) -> _Request:
    values = TOOL.with_defaults(settings)
    text = _inputs.read_text(values, "sequences")
    mode = _inputs.read_choice(values, "mode", ("auto", "single", "meta"))
    if mode != "single" and "translationTable" in settings:
        raise ToolError("translationTable: it applies only if mode is single.")
    table = _inputs.read_integer(values, "translationTable", 1, 33) if mode == "single" else 11
    if table not in TABLES:
        tables = ", ".join(map(str, TABLES))
        raise ToolError(f"translationTable: {table} is not one of {tables}.")
    request = _Request(mode, table, _inputs.read_flag(values, "closedEnds"))
    if text.lstrip().startswith(">"):
        _read_records(text, request)
    return request


def _read_records(text: str, request: _Request) -> tuple[dict[str, str], str]:
    """Return the sequences by name, and the mode to use."""
    records = _inputs.parse_fasta(text, "sequences", _inputs.IUPAC_DNA, MAX_SEQUENCES)
    bases = sum(map(len, records.values()))
    mode = request.mode
    if mode == "auto":
        mode = "single" if bases >= GOOD_TRAINING_BASES else "meta"
    if mode == "single" and bases < MIN_TRAINING_BASES:
        raise ToolError(
            f"mode: single needs at least {MIN_TRAINING_BASES:,} bases, not {bases:,}; use meta."
        )
    if bases > MAX_BASES[mode]:
        raise ToolError(
            f"sequences: they have {bases:,} bases; at most {MAX_BASES[mode]:,} are allowed in "
            f"mode {mode}."
        )
    return records, mode


TOOL = Tool(
    name="gene_find",
    display_name="Gene finding",
    description=(
        "Finds the protein-coding genes of bacteria, archaea and their viruses in DNA, and "
        "returns them as GFF3 and CSV, with their DNA and proteins as FASTA. For a genome, a "
        "model is trained on its own sequence; for short sequences, such as plasmids and "
        "metagenome contigs, the best of fifty pretrained models is used. Genes do not span "
        "runs of 50 or more N; every sequence is treated as linear."
    ),
    github="https://github.com/althonos/pyrodigal",
    paper="https://doi.org/10.1186/1471-2105-11-119",
    parameters=(
        Parameter(
            "sequences",
            required=True,
            type="file",
            content=("DNA", "DNA alignment"),
            description=(
                f"FASTA, at most {MAX_SEQUENCES:,} sequences with {MAX_BASES['single']:,} bases "
                f"({MAX_BASES['meta']:,} where mode is meta)."
            ),
        ),
        Parameter(
            "mode",
            default="auto",
            options=("auto", "single", "meta"),
            description=(
                "single: all sequences are from one organism, and a model is trained on them; "
                "meta: a pretrained model for each; auto: single from 100,000 bases in total, "
                "else meta."
            ),
        ),
        Parameter(
            "translationTable",
            default=11,
            when=("mode", ("single",)),
            description=(
                "Only with mode=single: the genetic code by NCBI's number, 11 (bacteria and "
                "archaea), 4 (Mycoplasma, Spiroplasma) or 25 (Gracilibacteria)."
            ),
        ),
        Parameter(
            "closedEnds",
            type="boolean",
            default=False,
            description="Whether to exclude genes that extend beyond the end of a sequence.",
        ),
    ),
    requires=("pyrodigal",),
    preload=("pyrodigal",),
    extra="gpl-tools",
    passes=("proteins.fasta",),
    passes_content="protein",
    read=_read_request,
)


def run(settings: Settings, inputs: Mapping[str, Path], out: Path) -> Score:
    """Write `genes.gff3` and `genes.csv`; with genes also `genes.fasta` and `proteins.fasta`.

    The score: the number of `sequences` and `genes`, the `mode` used, and the percentages of
    `coding` bases and of G and C among the unambiguous bases (`gc`).
    """
    request = _read_request(settings)
    text = _inputs.read_file(inputs["sequences"], "sequences")
    records, mode = _read_records(text, request)
    genes = _find_genes(records, mode, request)
    _write_gff(records, genes, out / "genes.gff3")
    _outputs.write_csv(out / "genes.csv", _COLUMNS, (_gene_row(*gene) for gene in genes))
    if genes:
        _write_fasta(genes, out)
    bases = sum(map(len, records.values()))
    return {
        "sequences": len(records),
        "genes": len(genes),
        "mode": mode,
        "coding": round(100 * _covered_bases(genes) / bases, 2),
        "gc": round(_gc_content(records.values()), 2),
    }


def _gc_content(sequences: Collection[str]) -> float:
    """Return the percentage of G and C among the unambiguous bases."""
    a, c, g, t = (sum(letters.count(base) for letters in sequences) for base in _inputs.DNA.letters)
    return 100 * (c + g) / max(1, a + c + g + t)


_Genes = list[tuple[str, Any, str]]
"""Name of the sequence, gene (`pyrodigal.Gene`) and its bases as read, in order of position."""


def _find_genes(records: dict[str, str], mode: str, request: _Request) -> _Genes:
    from pyrodigal import GeneFinder

    finder = GeneFinder(meta=mode == "meta", closed=request.closed, mask=True)
    if mode == "single":
        try:
            with warnings.catch_warnings():
                # The warning about few bases is covered by the description of `mode`.
                warnings.simplefilter("ignore", UserWarning)
                finder.train(*records.values(), translation_table=request.table)
        except (ValueError, RuntimeError) as error:
            message = " ".join(str(error).split()).rstrip(".")
            raise ToolError(f"sequences: no model can be trained on them: {message}.") from None
    return [
        (name, gene, _gene_bases(gene, letters))
        for name, letters in records.items()
        for gene in finder.find_genes(letters)
    ]


def _gene_bases(gene: Any, letters: str) -> str:
    """Return the bases of a gene; Pyrodigal has N for all ambiguous ones."""
    bases = letters[gene.begin - 1 : gene.end]
    return bases if gene.strand > 0 else reverse_complement(bases)


_COLUMNS = (
    *("gene", "sequence", "start", "end", "strand", "length", "start_codon", "partial"),
    *("ribosome_site", "gc", "score", "confidence"),
)


def _gene_row(name: str, gene: Any, bases: str) -> tuple[object, ...]:
    """Return a table row: positions from 1, inclusive, `start` < `end`; GC in percent."""
    return (
        *(_gene_name(name, gene), name, gene.begin, gene.end, "+" if gene.strand > 0 else "-"),
        *(len(bases), "" if gene.start_type == "Edge" else gene.start_type),
        *(_partial_ends(gene), gene.rbs_motif or "", f"{_gc_content([bases]):.1f}"),
        *(f"{gene.score:.2f}", f"{gene.confidence():.2f}"),
    )


def _gene_name(sequence: str, gene: Any) -> str:
    """Return a unique name: sequence, lower position and strand."""
    return f"{sequence}_{gene.begin}{'+' if gene.strand > 0 else '-'}"


def _partial_ends(gene: Any) -> str:
    """Return the ends of the gene (on the input strand) that extend beyond the sequence."""
    ends = {"left": gene.partial_begin, "right": gene.partial_end}
    return "+".join(end for end, is_partial in ends.items() if is_partial) or "no"


def _write_gff(records: dict[str, str], genes: _Genes, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write("##gff-version 3\n")
        for name, letters in records.items():
            file.write(f"##sequence-region {_escape_gff(name)} 1 {len(letters)}\n")
        for name, gene, _bases in genes:
            attributes = [f"ID={_escape_gff(_gene_name(name, gene))}"]
            if _partial_ends(gene) != "no":
                attributes.append("partial=true")
            if gene.translation_table != 11:  # in mode meta, that of the model
                attributes.append(f"transl_table={gene.translation_table}")
            columns = (
                *(_escape_gff(name), "Prodigal", "CDS", gene.begin, gene.end, f"{gene.score:.2f}"),
                *("+" if gene.strand > 0 else "-", 0, ";".join(attributes)),
            )
            file.write("\t".join(map(str, columns)) + "\n")


def _escape_gff(name: str) -> str:
    """Escape a name for the first column and the attributes of GFF3."""
    return quote(name, safe=".:^*$@!+?|-_")


def _write_fasta(genes: _Genes, out: Path) -> None:
    headers = [
        f"{_gene_name(name, gene)} {gene.begin}..{gene.end} {'+' if gene.strand > 0 else '-'}"
        for name, gene, _bases in genes
    ]
    files = {
        "genes.fasta": (bases for _name, _gene, bases in genes),
        # Without the stop; the start codon is translated to M.
        "proteins.fasta": (gene.translate(include_stop=False) for _name, gene, _bases in genes),
    }
    for file_name, sequences in files.items():
        _outputs.write_fasta(out / file_name, zip(headers, sequences, strict=True))


def _covered_bases(genes: _Genes) -> int:
    """Return the number of bases covered by genes, counting overlaps once."""
    covered, last = 0, ("", 0)
    for name, gene, _bases in sorted(genes, key=lambda item: (item[0], item[1].begin)):
        start = max(gene.begin, last[1] + 1) if name == last[0] else gene.begin
        covered += max(0, gene.end - start + 1)
        last = (name, max(gene.end, last[1]) if name == last[0] else gene.end)
    return covered
