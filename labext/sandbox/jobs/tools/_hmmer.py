"""Profiles and searches of HMMER 3, by PyHMMER."""

from __future__ import annotations

from functools import cache
from io import BytesIO
from typing import Any

from labext.sandbox.jobs.tool import ToolError
from labext.sandbox.jobs.tools import _fasta, _letters

LETTERS = {"protein": _letters.PROTEIN + "BZXJUO", "DNA": _letters.DNA + "URYSWKMBDHVN"}
KIND = {"protein": "amino acid", "DNA": "DNA base"}
LONGEST = 1000
MOST_ROWS = 1000
SEED = 42
"""HMMER's own: it draws random sequences to set the statistics of a profile."""


def fasta(text: str, molecule: str) -> dict[str, str]:
    """The one sequence or the rows of an alignment, with - for a gap.

    Raises:
        ToolError: neither of the two, or it is too large.
    """
    rows = _fasta.records(text, "query", LETTERS[molecule], KIND[molecule], aligned=True)
    if len(rows) > MOST_ROWS:
        raise ToolError(f"query: it has {len(rows):,} rows, and {MOST_ROWS:,} are the most.")
    for name, letters in rows.items():
        _letters.check_length(f"query, {name}", letters, 1, LONGEST)
    return rows


def profile(text: str, molecule: str) -> Any:
    """The profile (`pyhmmer.plan7.HMM`) of an alignment or sequence, or the one in the text.

    Raises:
        ToolError: it is none of these, of another molecule, or too long.
    """
    from pyhmmer.errors import AlphabetMismatch, UnexpectedError

    content = text.lstrip("\ufeff \r\n\t")
    try:
        if content.startswith(">"):
            found = _of_fasta(content, molecule)
        elif content.startswith("# STOCKHOLM"):
            found = _of_stockholm(content, molecule)
        elif content.startswith("HMMER3"):
            found = _of_file(content)
        else:
            raise ToolError(
                "query: it is no FASTA, no Stockholm alignment and no profile of HMMER 3."
            )
    except AlphabetMismatch:
        found = None
    except (ValueError, UnexpectedError, EOFError) as error:
        said = " ".join(str(error).split()).rstrip(".")
        raise ToolError(f"query: HMMER makes no profile of it: {said}.") from None
    if found is None or found.alphabet != _alphabet(molecule):
        raise ToolError(f"query: the profile is not of the {molecule} that molecule asks for.")
    if found.M > LONGEST:
        raise ToolError(f"query: the profile has {found.M:,} places, and {LONGEST:,} are the most.")
    return found


@cache
def _alphabet(molecule: str) -> Any:
    """One object for all: a profile points into that of its alignment and does not keep it."""
    from pyhmmer.easel import Alphabet

    return Alphabet.amino() if molecule == "protein" else Alphabet.dna()


def _of_fasta(text: str, molecule: str) -> Any:
    from pyhmmer.easel import TextMSA, TextSequence

    rows = [
        TextSequence(name=name, sequence=letters) for name, letters in fasta(text, molecule).items()
    ]
    if len(rows) == 1:
        (row,) = rows
        letters = row.sequence.replace("-", "")
        return _built(TextSequence(name=row.name, sequence=letters), molecule)
    return _built(TextMSA(name="query", sequences=rows), molecule)


def _of_stockholm(text: str, molecule: str) -> Any:
    from pyhmmer.easel import MSAFile

    source = BytesIO(text.encode())
    with MSAFile(source, "stockholm", digital=True, alphabet=_alphabet(molecule)) as file:
        alignments = list(file)
    if len(alignments) != 1:
        raise ToolError(f"query: it has {len(alignments)} alignments, where one is taken.")
    (alignment,) = alignments
    if len(alignment) > LONGEST or len(alignment.sequences) > MOST_ROWS:
        raise ToolError(
            f"query: it has {len(alignment):,} columns and {len(alignment.sequences):,} rows, and "
            f"{LONGEST:,} and {MOST_ROWS:,} are the most."
        )
    alignment.name = alignment.name or "query"
    return _built(alignment, molecule)


def _of_file(text: str) -> Any:
    from pyhmmer.plan7 import HMMFile

    with HMMFile(BytesIO(text.encode())) as file:
        profiles = list(file)
    if len(profiles) != 1:
        raise ToolError(f"query: it has {len(profiles)} profiles, where one is taken.")
    return profiles[0]


def _built(query: Any, molecule: str) -> Any:
    from pyhmmer.plan7 import Background, Builder

    alphabet = _alphabet(molecule)
    builder, background = Builder(alphabet, seed=SEED), Background(alphabet)
    digital = query.digitize(alphabet) if hasattr(query, "digitize") else query
    if hasattr(digital, "sequences"):
        built, _, _ = builder.build_msa(digital, background)
    else:
        built, _, _ = builder.build(digital, background)
    # Of the file no more than of the job: the same settings give the same bytes.
    built.creation_time = None
    built.command_line = None
    return built


def search(
    hmm: Any, targets: dict[str, str], molecule: str, evalue: float, inclusion: float
) -> Any:
    """The hits (`pyhmmer.plan7.TopHits`), the best first.

    DNA is searched in windows and on both strands, as nhmmer does (doi
    10.1093/bioinformatics/btt403).
    """
    from pyhmmer.easel import DigitalSequenceBlock, TextSequence
    from pyhmmer.plan7 import LongTargetsPipeline, Pipeline

    block = DigitalSequenceBlock(
        hmm.alphabet,
        [
            TextSequence(name=name, sequence=letters).digitize(hmm.alphabet)
            for name, letters in targets.items()
        ],
    )
    pipeline = Pipeline if molecule == "protein" else LongTargetsPipeline
    return pipeline(
        hmm.alphabet, seed=SEED, E=evalue, domE=evalue, incE=inclusion, incdomE=inclusion
    ).search_hmm(hmm, block)
