"""Public documents for questions: files and docstrings of installed packages, and example papers.

The questions about the documents of each set are in `tests/benchmarks/answers`, in the CSV file
with the name of the set. Documents are from the standard library of all supported versions of
Python and from packages that the extra `dev` installs.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from html import unescape
from importlib.metadata import files
from pathlib import Path
from typing import Any

from labext_test_documents import pdf

DATA = Path(__file__).parents[2] / "example_notebooks" / "data"
LINES_PER_PAGE = 45
_TAG = re.compile(r"<style>.*?</style>|<[^>]*>", re.S)


@dataclass(frozen=True)
class DocumentSet:
    """The documents of a set of questions, by their file names.

    Attributes:
        package_files: files of installed distributions: the distribution, the end of the path.
        docstrings: objects whose docstrings are documents, as `module:name` or `module:`.
        tables: functions that write tables from the data of a package.
        papers: docstrings of several pages, written as PDF.
        examples: files of the example notebooks.
        sample: a few of the documents, for runs that do not measure.
    """

    package_files: Mapping[str, tuple[str, str]]
    docstrings: Mapping[str, str]
    tables: Mapping[str, Callable[[], str]]
    sample: tuple[str, ...]
    papers: Mapping[str, str] = field(default_factory=dict)
    examples: tuple[str, ...] = ()

    def readers(self) -> dict[str, Callable[[], bytes]]:
        """Return the functions that return the documents' contents."""
        return {
            **{name: partial(_package_file, *place) for name, place in self.package_files.items()},
            **{name: partial(_docstring_file, place) for name, place in self.docstrings.items()},
            **{name: partial(_table_file, table) for name, table in self.tables.items()},
            **{
                name: partial(_paper, place, Path(name).stem) for name, place in self.papers.items()
            },
            **{name: (DATA / name).read_bytes for name in self.examples},
        }


def write_documents(
    folder: Path, set_name: str, names: Collection[str] | None = None
) -> dict[str, Path]:
    """Write the documents of a set into a new folder; return their paths by their file names."""
    folder.mkdir()
    for name, content in document_contents(set_name, names).items():
        (folder / name).write_bytes(content)
    return {path.name: path for path in sorted(folder.iterdir())}


def document_contents(set_name: str, names: Collection[str] | None = None) -> dict[str, bytes]:
    """Return the contents of the documents of a set, or of some of them, by their file names."""
    readers = DOCUMENT_SETS[set_name].readers()
    return {name: readers[name]() for name in (readers if names is None else names)}


def document_texts(set_name: str, names: Collection[str] | None = None) -> dict[str, list[str]]:
    """Return the texts of the documents by their file names; a PDF's by its pages."""
    texts = {}
    for name, content in document_contents(set_name, names).items():
        if name.endswith(".pdf"):
            texts[name] = _pdf_pages(content)
        elif name.endswith(".docx"):
            texts[name] = [_docx_text(name)]
        elif name.endswith(".html"):
            texts[name] = [unescape(_TAG.sub("", content.decode()))]
        else:
            texts[name] = [content.decode()]
    return texts


def docstring(place: str) -> str:
    """Return the docstring of `module:name`, or of `module:`."""
    module, _, name = place.partition(":")
    target: Any = importlib.import_module(module)
    for attribute in filter(None, name.split(".")):
        target = getattr(target, attribute)
    text = inspect.getdoc(target)
    assert text, place
    return text


def _package_file(distribution: str, end: str) -> bytes:
    paths = [path for path in files(distribution) or () if f"/{path}".endswith(f"/{end}")]
    assert paths, f"{distribution} has no file {end}"
    return Path(str(paths[0].locate())).read_bytes()


def _docstring_file(place: str) -> bytes:
    return docstring(place).encode()


def _table_file(table: Callable[[], str]) -> bytes:
    return table().encode()


def _paper(place: str, title: str) -> bytes:
    lines = docstring(place).splitlines()
    pages = [lines[at : at + LINES_PER_PAGE] for at in range(0, len(lines), LINES_PER_PAGE)]
    return pdf(["\n".join(page).replace("’", "'") for page in pages], title)


def _pdf_pages(content: bytes) -> list[str]:
    import pypdfium2  # type: ignore[import-untyped]

    document = pypdfium2.PdfDocument(content)
    try:
        return [page.get_textpage().get_text_range() for page in document]
    finally:
        document.close()


def _docx_text(name: str) -> str:
    import docx.table

    lines: list[str] = []
    for block in docx.Document(str(DATA / name)).iter_inner_content():
        if isinstance(block, docx.table.Table):
            lines += [" | ".join(cell.text for cell in row.cells) for row in block.rows]
        else:
            lines.append(block.text)
    return "\n".join(lines)


def _markdown_table(title: str, header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    header = list(header)
    lines = [header, ["---"] * len(header), *([str(cell) for cell in row] for row in rows)]
    return f"# {title}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _amino_acids() -> str:
    from Bio.Data import IUPACData

    rows = (
        (letter, code, f"{IUPACData.protein_weights[letter]:.2f}")
        for letter, code in sorted(IUPACData.protein_letters_1to3.items())
    )
    return _markdown_table(
        "Weights of the amino acids", ["letter", "code", "average weight (Da)"], rows
    )


def _restriction_enzymes() -> str:
    from Bio import Restriction

    names = "ApaI AscI BamHI BglII ClaI EcoRI EcoRV HindIII KpnI MluI NdeI NotI PacI PstI SalI SmaI"
    enzymes = [getattr(Restriction, name) for name in names.split()]
    rows = (
        (
            enzyme.__name__,
            enzyme.elucidate().replace("^", "/").replace("_", ""),
            "blunt" if enzyme.is_blunt() else "5' end" if enzyme.is_5overhang() else "3' end",
        )
        for enzyme in enzymes
    )
    return _markdown_table("Cloning enzymes", ["enzyme", "site and cut", "overhang"], rows)


def _genetic_codes() -> str:
    from Bio.Data import CodonTable

    numbers = (1, 2, 3, 4, 5, 6, 9, 10, 12, 13, 14, 16, 22)
    tables = [CodonTable.unambiguous_dna_by_id[number] for number in numbers]
    rows = (
        (table.id, table.names[0], ", ".join(sorted(table.stop_codons)), len(table.start_codons))
        for table in tables
    )
    return _markdown_table(
        "Genetic codes", ["number", "code", "stop codons", "number of start codons"], rows
    )


def _ambiguity_codes() -> str:
    from Bio.Data import IUPACData

    rows = (
        (code, bases, IUPACData.ambiguous_dna_complement[code])
        for code, bases in IUPACData.ambiguous_dna_values.items()
    )
    return _markdown_table("Ambiguity codes of DNA", ["code", "bases", "complement"], rows)


def _elements() -> str:
    from rdkit import Chem

    periodic_table = Chem.GetPeriodicTable()
    rows = (
        (
            periodic_table.GetElementSymbol(number),
            periodic_table.GetElementName(number).lower(),
            number,
            f"{periodic_table.GetAtomicWeight(number):.2f}",
        )
        for number in range(1, 55)
    )
    return _markdown_table(
        "Chemical elements", ["symbol", "element", "atomic number", "atomic mass"], rows
    )


def _hydropathy() -> str:
    from Bio.Data import IUPACData
    from Bio.SeqUtils import ProtParamData

    rows = (
        (letter, code, ProtParamData.kd[letter])
        for letter, code in sorted(IUPACData.protein_letters_1to3.items())
    )
    return _markdown_table(
        "Hydropathy of the amino acids by Kyte and Doolittle",
        ["letter", "code", "hydropathy"],
        rows,
    )


def _http_status_codes() -> str:
    from http import HTTPStatus

    rows = ((int(status), status.phrase, status.description) for status in HTTPStatus)
    return _markdown_table("HTTP status codes", ["code", "phrase", "description"], rows)


TUNING = DocumentSet(
    package_files={
        "biopython licence.txt": ("biopython", "LICENSE.rst"),
        "biotite licence.txt": ("biotite", "LICENSE.rst"),
        "click licence.txt": ("click", "LICENSE.txt"),
        "dateutil licence.txt": ("python-dateutil", "LICENSE"),
        "h11 licence.txt": ("h11", "LICENSE.txt"),
        "lxml licences.txt": ("lxml", "LICENSES.txt"),
        "numpy random licence.md": ("numpy", "numpy/random/LICENSE.md"),
        "PeptideBuilder licence.txt": ("PeptideBuilder", "LICENSE.txt"),
        "pyhmmer licence.txt": ("pyhmmer", "COPYING"),
        "PyYAML licence.txt": ("PyYAML", "LICENSE"),
        "rdkit licence.txt": ("rdkit", "rdkit/license.txt"),
        "snowballstemmer licence.txt": ("snowballstemmer", "COPYING"),
        "ViennaRNA licence.txt": ("ViennaRNA", "COPYING"),
        "psutil licence.txt": ("psutil", "LICENSE"),
        "DejaVu fonts.txt": ("matplotlib", "mpl-data/fonts/ttf/LICENSE_DEJAVU"),
        "STIX fonts.txt": ("matplotlib", "mpl-data/fonts/ttf/LICENSE_STIX"),
        "PDF core fonts.txt": ("matplotlib", "mpl-data/fonts/pdfcorefonts/readme.txt"),
        "SQLAlchemy authors.txt": ("SQLAlchemy", "AUTHORS"),
        "Schematron stylesheets.txt": ("lxml", "iso-schematron-xslt1/readme.txt"),
        "ligand RMSD.md": ("rdkit", "Contrib/CalcLigRMSD/README.md"),
        "FastCluster.md": ("rdkit", "Contrib/Fastcluster/README.md"),
        "Free-Wilson analysis.md": ("rdkit", "Contrib/FreeWilson/README.md"),
        "Glare.txt": ("rdkit", "Contrib/Glare/README.txt"),
        "IFG functional groups.txt": ("rdkit", "Contrib/IFG/README"),
        "fluorine fragments.txt": ("rdkit", "Contrib/LEF/README.txt"),
        "molecular frames.txt": ("rdkit", "Contrib/M_Kossner/README"),
        "plane of best fit.txt": ("rdkit", "Contrib/PBF/README"),
        "synthetic accessibility.txt": ("rdkit", "Contrib/SA_Score/README"),
        "natural product likeness.txt": ("rdkit", "Contrib/NP_Score/README"),
        "screening filters.md": ("rdkit", "Contrib/NIBRSubstructureFilters/README.md"),
        "Fraggle.txt": ("rdkit", "Contrib/fraggle/readme.txt"),
        "matched molecular pairs.txt": ("rdkit", "Contrib/mmpa/README.txt"),
        "PAINS filters.md": ("rdkit", "Data/Pains/README.md"),
    },
    docstrings={
        "Kaiser window.txt": "numpy:kaiser",
        "Hanning window.txt": "numpy:hanning",
        "Bartlett window.txt": "numpy:bartlett",
        "Gumbel distribution.txt": "numpy.random:Generator.gumbel",
        "Zipf distribution.txt": "numpy.random:Generator.zipf",
        "Weibull distribution.txt": "numpy.random:Generator.weibull",
        "Wald distribution.txt": "numpy.random:Generator.wald",
        "Philox.txt": "numpy.random:Philox",
        "Mersenne Twister.txt": "numpy.random:MT19937",
        "histogram bins.txt": "numpy:histogram_bin_edges",
        "as-of merge.txt": "pandas:merge_asof",
        "DSSP.txt": "Bio.PDB.DSSP:",
        "restriction classes.txt": "Bio.Restriction.Restriction:",
        "residue depth.txt": "Bio.PDB.ResidueDepth:",
        "Entrez.txt": "Bio.Entrez:",
        "k-means.txt": "Bio.Cluster:kcluster",
        "GCG checksum.txt": "Bio.SeqUtils.CheckSum:gcg",
        "PeptideBuilder.txt": "PeptideBuilder.PeptideBuilder:",
        "accessible surface.txt": "biotite.structure:sasa",
        "hydrogen bonds.txt": "biotite.structure:hbond",
        "UPGMA.txt": "biotite.sequence.phylo:upgma",
        "neighbor joining.txt": "biotite.sequence.phylo:neighbor_joining",
        "secondary structure.txt": "biotite.structure:annotate_sse",
        "optimal alignment.txt": "biotite.sequence.align:align_optimal",
        "Monte Carlo barostat.txt": "openmm:MonteCarloBarostat",
        "drift of the center of mass.txt": "openmm:CMMotionRemover",
        "drug-likeness.txt": "rdkit.Chem.QED:",
        "RECAP.txt": "rdkit.Chem.Recap:",
        "statistics.txt": "statistics:",
        "heap queue.txt": "heapq:",
    },
    tables={
        "amino acids.md": _amino_acids,
        "cloning enzymes.md": _restriction_enzymes,
        "genetic codes.md": _genetic_codes,
    },
    papers={
        "npy format.pdf": "numpy.lib.format:",
        "FASTQ and QUAL.pdf": "Bio.SeqIO.QualityIO:",
        "melting temperature.pdf": "Bio.SeqUtils.MeltingTemp:",
    },
    examples=("paper.pdf", "protocol.docx", "page.html", "restriction.md"),
    sample=("paper.pdf", "protocol.docx", "page.html", "restriction.md", "npy format.pdf"),
)

VALIDATION = DocumentSet(
    package_files={
        "EFGs.md": ("rdkit", "Contrib/efgs/README.md"),
        "activity models.md": ("rdkit", "Contrib/pzc/readme.md"),
        "acoustic model.txt": ("pocketsphinx", "pocketsphinx/model/en-us/en-us/README"),
        "profile test data.md": ("pyhmmer", "tests/data/README.md"),
        "trajectory plugins.md": ("biotraj", "biotraj/src/README"),
        "pocketfft licence.md": ("numpy", "numpy/fft/pocketfft/LICENSE.md"),
    },
    docstrings={
        "von Mises.txt": "numpy.random:Generator.vonmises",
        "Rayleigh distribution.txt": "numpy.random:Generator.rayleigh",
        "logarithmic series.txt": "numpy.random:Generator.logseries",
        "Laplace distribution.txt": "numpy.random:Generator.laplace",
        "SFC64.txt": "numpy.random:SFC64",
        "phase unwrapping.txt": "numpy:unwrap",
        "quantile bins.txt": "pandas:qcut",
        "exponential weights.txt": "pandas:DataFrame.ewm",
        "isoelectric point.txt": "Bio.SeqUtils.IsoelectricPoint:",
        "TM-score.txt": "biotite.structure:tm_score",
        "lDDT.txt": "biotite.structure:lddt",
        "middle integrator.txt": "openmm:LangevinMiddleIntegrator",
        "implicit solvent.txt": "openmm:GBSAOBCForce",
        "topological torsions.txt": "rdkit.Chem.AtomPairs.Torsions:",
        "uuid.txt": "uuid:",
        "random numbers.txt": "random:",
        "difflib.txt": "difflib:",
        "hashlib.txt": "hashlib:",
        "colour systems.txt": "colorsys:",
        "event scheduler.txt": "sched:",
    },
    tables={"ambiguity codes.md": _ambiguity_codes, "elements.md": _elements},
    sample=("EFGs.md", "activity models.md"),
)

HELD_OUT = DocumentSet(
    package_files={
        "masked arrays.txt": ("numpy", "numpy/ma/README.rst"),
        "reaction roles.txt": ("rdkit", "Contrib/RxnRoleAssignment/README.txt"),
        "chiral pairs.txt": ("rdkit", "Contrib/ChiralPairs/README.txt"),
        "sping.txt": ("rdkit", "rdkit/sping/README"),
        "pyloudnorm.md": ("pyloudnorm", "METADATA"),
        "jusText.txt": ("jusText", "METADATA"),
        "MessagePack.md": ("msgpack", "METADATA"),
        "PocketSphinx.md": ("pocketsphinx", "METADATA"),
        "greenlet.txt": ("greenlet", "METADATA"),
        "ISO durations.md": ("isoduration", "METADATA"),
        "writing XML.txt": ("et_xmlfile", "METADATA"),
    },
    docstrings={
        "karate club.txt": "networkx:karate_club_graph",
        "Tutte graph.txt": "networkx:tutte_graph",
        "Petersen graph.txt": "networkx:petersen_graph",
        "Savitzky-Golay filter.txt": "scipy.signal:savgol_filter",
        "electrocardiogram.txt": "scipy.datasets:electrocardiogram",
        "Lambert W function.txt": "scipy.special:lambertw",
        "Akima interpolation.txt": "scipy.interpolate:Akima1DInterpolator",
        "Procrustes analysis.txt": "scipy.spatial:procrustes",
        "dual annealing.txt": "scipy.optimize:dual_annealing",
        "linear assignment.txt": "scipy.optimize:linear_sum_assignment",
        "Shapiro-Wilk test.txt": "scipy.stats:shapiro",
        "Kruskal-Wallis test.txt": "scipy.stats:kruskal",
        "constants.txt": "scipy.constants:",
        "Hamming window.txt": "numpy:hamming",
        "PCG-64.txt": "numpy.random:PCG64",
        "Cauchy distribution.txt": "numpy.random:Generator.standard_cauchy",
        "negative binomial distribution.txt": "numpy.random:Generator.negative_binomial",
        "hypergeometric distribution.txt": "numpy.random:Generator.hypergeometric",
        "triangular distribution.txt": "numpy.random:Generator.triangular",
        "Dirichlet distribution.txt": "numpy.random:Generator.dirichlet",
        "ranks.txt": "pandas:DataFrame.rank",
        "Gay-Berne potential.txt": "openmm:GayBerneForce",
        "variable Langevin integrator.txt": "openmm:VariableLangevinIntegrator",
        "membrane barostat.txt": "openmm:MonteCarloMembraneBarostat",
        "base pairs.txt": "biotite.structure:base_pairs",
        "partial charges.txt": "biotite.structure:partial_charges",
        "pseudoknots.txt": "biotite.structure:pseudoknots",
        "cell list.txt": "biotite.structure:CellList",
        "minimizers.txt": "biotite.sequence.align:MinimizerSelector",
        "E-values.txt": "biotite.sequence.align:EValueEstimator",
        "ACE files.txt": "Bio.Sequencing.Ace:",
        "CE alignment.txt": "Bio.PDB.cealign:",
        "BGZF.txt": "Bio.bgzf:",
        "SFF.txt": "Bio.SeqIO.SffIO:",
        "matplotlib dates.txt": "matplotlib.dates:",
        "cloudpickle.txt": "cloudpickle:",
        "shelves.txt": "shelve:",
    },
    tables={"hydropathy.md": _hydropathy, "HTTP status codes.md": _http_status_codes},
    sample=("reaction roles.txt", "chiral pairs.txt"),
)

DOCUMENT_SETS = {"tuning": TUNING, "validation": VALIDATION, "held_out": HELD_OUT}
"""The documents by the name of the file of questions about them."""
