"""Restriction enzymes and their cut sites."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from labext.dna import reverse_complement
from labext.errors import InputError
from labext.messages import closest_match, quote_value
from labext_widgets.sequence.molecule import Molecule
from labext_widgets.sequence.search import find_matches

COMMON = (
    "EcoRI", "BamHI", "HindIII", "XhoI", "NdeI", "XbaI", "SalI", "PstI",
    "KpnI", "SacI", "SpeI", "NcoI", "NotI", "EcoRV", "SmaI", "BglII",
)  # fmt: skip
"""The enzymes used if none are named."""

_TABLE = """
AatII GACGTC 5/1; Acc65I GGTACC 1/5; AccI GTMKAC 2/4; AciI CCGC 1/3; AclI AACGTT 2/4;
AcuI CTGAAG 22/20; AfeI AGCGCT 3/3; AflII CTTAAG 1/5; AflIII ACRYGT 1/5; AgeI ACCGGT 1/5;
AhdI GACNNNNNGTC 6/5; AleI CACNNNNGTG 5/5; AluI AGCT 2/2; AlwI GGATC 9/10; AlwNI CAGNNNCTG 6/3;
ApaI GGGCCC 5/1; ApaLI GTGCAC 1/5; ApeKI GCWGC 1/4; ApoI RAATTY 1/5; AscI GGCGCGCC 2/6;
AseI ATTAAT 2/4; AsiSI GCGATCGC 5/3; AvaI CYCGRG 1/5; AvaII GGWCC 1/4; AvrII CCTAGG 1/5;
BaeGI GKGCMC 5/1; BamHI GGATCC 1/5; BanI GGYRCC 1/5; BanII GRGCYC 5/1; BbsI GAAGAC 8/12;
BbvCI CCTCAGC 2/5; BbvI GCAGC 13/17; BccI CCATC 9/10; BceAI ACGGC 17/19; BciVI GTATCC 12/11;
BclI TGATCA 1/5; BcoDI GTCTC 6/10; BfaI CTAG 1/3; BfuAI ACCTGC 10/14; BglI GCCNNNNNGGC 7/4;
BglII AGATCT 1/5; BlpI GCTNAGC 2/5; BmgBI CACGTC 3/3; BmrI ACTGGG 11/10; BmtI GCTAGC 5/1;
BpmI CTGGAG 22/20; Bpu10I CCTNAGC 2/5; BpuEI CTTGAG 22/20; BsaAI YACGTR 3/3;
BsaBI GATNNNNATC 5/5; BsaHI GRCGYC 2/4; BsaI GGTCTC 7/11; BsaJI CCNNGG 1/5; BsaWI WCCGGW 1/5;
BseRI GAGGAG 16/14; BseYI CCCAGC 1/5; BsgI GTGCAG 22/20; BsiEI CGRYCG 4/2; BsiHKAI GWGCWC 5/1;
BsiWI CGTACG 1/5; BslI CCNNNNNNNGG 7/4; BsmAI GTCTC 6/10; BsmBI CGTCTC 7/11; BsmFI GGGAC 15/19;
BsmI GAATGC 7/5; BsoBI CYCGRG 1/5; Bsp1286I GDGCHC 5/1; BspCNI CTCAG 14/12; BspDI ATCGAT 2/4;
BspEI TCCGGA 1/5; BspHI TCATGA 1/5; BspMI ACCTGC 10/14; BspQI GCTCTTC 8/11; BsrBI CCGCTC 3/3;
BsrDI GCAATG 8/6; BsrFI RCCGGY 1/5; BsrGI TGTACA 1/5; BsrI ACTGG 6/4; BssHII GCGCGC 1/5;
BssSI CACGAG 1/5; BstAPI GCANNNNNTGC 7/4; BstBI TTCGAA 2/4; BstEII GGTNACC 1/6; BstNI CCWGG 2/3;
BstUI CGCG 2/2; BstXI CCANNNNNNTGG 8/4; BstYI RGATCY 1/5; BstZ17I GTATAC 3/3; Bsu36I CCTNAGG 2/5;
BtgI CCRYGG 1/5; BtgZI GCGATG 16/20; BtsCI GGATG 7/5; BtsI GCAGTG 8/6; BtsIMutI CAGTG 7/5;
Cac8I GCNNGC 3/3; ClaI ATCGAT 2/4; CviAII CATG 1/3; CviQI GTAC 1/3; DdeI CTNAG 1/4;
DpnI GATC 2/2; DpnII GATC 0/4; DraI TTTAAA 3/3; DraIII CACNNNGTG 6/3; DrdI GACNNNNNNGTC 7/5;
EaeI YGGCCR 1/5; EagI CGGCCG 1/5; EarI CTCTTC 7/10; EciI GGCGGA 17/15; Eco53kI GAGCTC 3/3;
EcoNI CCTNNNNNAGG 5/6; EcoO109I RGGNCCY 2/5; EcoRI GAATTC 1/5; EcoRV GATATC 3/3;
Esp3I CGTCTC 7/11; FatI CATG 0/4; FauI CCCGC 9/11; Fnu4HI GCNGC 2/3; FokI GGATG 14/18;
FseI GGCCGGCC 6/2; FspI TGCGCA 3/3; HaeII RGCGCY 5/1; HaeIII GGCC 2/2; HgaI GACGC 10/15;
HhaI GCGC 3/1; HincII GTYRAC 3/3; HindIII AAGCTT 1/5; HinfI GANTC 1/4; HinP1I GCGC 1/3;
HpaI GTTAAC 3/3; HpaII CCGG 1/3; HphI GGTGA 13/12; Hpy166II GTNNAC 3/3; Hpy188I TCNGA 3/2;
Hpy188III TCNNGA 2/4; Hpy99I CGWCG 5/0; HpyAV CCTTC 11/10; HpyCH4III ACNGT 3/2;
HpyCH4IV ACGT 1/3; HpyCH4V TGCA 2/2; KasI GGCGCC 1/5; KpnI GGTACC 5/1; MboI GATC 0/4;
MboII GAAGA 13/12; MfeI CAATTG 1/5; MluCI AATT 0/4; MluI ACGCGT 1/5; MlyI GAGTC 10/10;
MmeI TCCRAC 26/24; MnlI CCTC 11/10; MscI TGGCCA 3/3; MseI TTAA 1/3; MslI CAYNNNNRTG 5/5;
MspA1I CMGCKG 3/3; MspI CCGG 1/3; MwoI GCNNNNNNNGC 7/4; NaeI GCCGGC 3/3; NarI GGCGCC 2/4;
NciI CCSGG 2/3; NcoI CCATGG 1/5; NdeI CATATG 2/4; NgoMIV GCCGGC 1/5; NheI GCTAGC 1/5;
NlaIII CATG 4/0; NlaIV GGNNCC 3/3; NmeAIII GCCGAG 27/25; NotI GCGGCCGC 2/6; NruI TCGCGA 3/3;
NsiI ATGCAT 5/1; NspI RCATGY 5/1; PacI TTAATTAA 5/3; PaeR7I CTCGAG 1/5; PciI ACATGT 1/5;
PflFI GACNNNGTC 4/5; PflMI CCANNNNNTGG 7/4; PleI GAGTC 9/10; PluTI GGCGCC 5/1; PmeI GTTTAAAC 4/4;
PmlI CACGTG 3/3; PpuMI RGGWCCY 2/5; PshAI GACNNNNGTC 5/5; PsiI TTATAA 3/3; PspGI CCWGG 0/5;
PspOMI GGGCCC 1/5; PspXI VCTCGAGB 2/6; PstI CTGCAG 5/1; PvuI CGATCG 4/2; PvuII CAGCTG 3/3;
RsaI GTAC 2/2; RsrII CGGWCCG 2/5; SacI GAGCTC 5/1; SacII CCGCGG 4/2; SalI GTCGAC 1/5;
SapI GCTCTTC 8/11; Sau3AI GATC 0/4; Sau96I GGNCC 1/4; SbfI CCTGCAGG 6/2; ScaI AGTACT 3/3;
ScrFI CCNGG 2/3; SexAI ACCWGGT 1/6; SfaNI GCATC 10/14; SfcI CTRYAG 1/5; SfiI GGCCNNNNNGGCC 8/5;
SfoI GGCGCC 3/3; SgrAI CRCCGGYG 2/6; SmaI CCCGGG 3/3; SmlI CTYRAG 1/5; SnaBI TACGTA 3/3;
SpeI ACTAGT 1/5; SphI GCATGC 5/1; SrfI GCCCGGGC 4/4; SspI AATATT 3/3; StuI AGGCCT 3/3;
StyD4I CCNGG 0/5; StyI CCWWGG 1/5; SwaI ATTTAAAT 4/4; TaqI TCGA 1/3; TfiI GAWTC 1/4;
TseI GCWGC 1/4; Tsp45I GTSAC 0/5; TspMI CCCGGG 1/5; TspRI CASTG 7/-2; Tth111I GACNNNGTC 4/5;
XbaI TCTAGA 1/5; XcmI CCANNNNNNNNNTGG 8/7; XhoI CTCGAG 1/5; XmaI CCCGGG 1/5; XmnI GAANNNNTTC 5/5;
ZraI GACGTC 3/3
"""
"""Name, recognition site, and the cut positions of both strands relative to the site's start.

Both positions are in upper-strand coordinates, so `GAATTC 1/5` is G^AATTC with a 5' overhang of
four bases. Source: REBASE; a test compares the table with Biopython's copy.
"""


@dataclass(frozen=True)
class Enzyme:
    """A restriction enzyme: its name, recognition site, and cut positions from the site's start."""

    name: str
    site: str
    cut: int
    lower_cut: int


@dataclass(frozen=True)
class Site:
    """A recognition site on a molecule, with its cuts (0-based, before that base).

    If it spans the origin of a circular molecule, `end` is not greater than `start`.
    """

    enzyme: str
    start: int
    end: int
    strand: int
    cut: int
    lower_cut: int


@cache
def all_enzymes() -> dict[str, Enzyme]:
    """Return all known enzymes by name."""
    rows = (row.split() for row in _TABLE.replace("\n", " ").split(";"))
    read = ((name, site, cuts.split("/")) for name, site, cuts in rows)
    return {name: Enzyme(name, site, int(at[0]), int(at[1])) for name, site, at in read}


def find_enzymes(names: str | Iterable[str]) -> tuple[str, ...]:
    """Return enzyme names as spelled in the table, ignoring case and without duplicates.

    Raises:
        InputError: an enzyme is unknown; the error suggests a similar name.
    """
    requested = names.replace(",", " ").split() if isinstance(names, str) else list(names)
    folded = {name.casefold(): name for name in all_enzymes()}
    matches = (
        folded.get(str(name).strip().casefold()) or _unknown_enzyme(str(name)) for name in requested
    )
    return tuple(dict.fromkeys(matches))


def cut_sites(molecule: Molecule, name: str) -> list[Site]:
    """Return the cut sites of an enzyme, sorted by position.

    Cuts outside a linear molecule are dropped. A palindromic site is reported once.
    """
    enzyme = all_enzymes()[name]
    other = reverse_complement(enzyme.site)
    size = len(enzyme.site)
    sites = [
        _site(molecule, enzyme, start, end, 1, enzyme.cut, enzyme.lower_cut)
        for start, end in find_matches(molecule, enzyme.site)
    ]
    if other != enzyme.site:
        sites += [
            _site(molecule, enzyme, start, end, -1, size - enzyme.lower_cut, size - enzyme.cut)
            for start, end in find_matches(molecule, other)
        ]
    return sorted((site for site in sites if site is not None), key=lambda site: site.start)


def unique_cutters(molecule: Molecule, among: Iterable[str] | None = None) -> tuple[str, ...]:
    """Return the enzymes that cut the molecule once, of those in `among` or of all."""
    names = all_enzymes() if among is None else among
    return tuple(name for name in names if len(cut_sites(molecule, name)) == 1)


def _site(
    molecule: Molecule, enzyme: Enzyme, start: int, end: int, strand: int, cut: int, lower: int
) -> Site | None:
    cut, lower = start + cut, start + lower
    if molecule.circular:
        cut, lower = cut % len(molecule), lower % len(molecule)
    elif not (0 < cut < len(molecule) and 0 < lower < len(molecule)):
        return None
    return Site(enzyme.name, start, end, strand, cut, lower)


def _unknown_enzyme(name: str) -> str:
    roman = name.strip().replace("1", "I").replace("2", "II").replace("3", "III")
    suggestion = closest_match(roman, all_enzymes()) or closest_match(name, all_enzymes())
    hint = (
        f"Did you mean {suggestion}?"
        if suggestion
        else f"Some that are known: {', '.join(COMMON[:6])}."
    )
    raise InputError(f"{quote_value(name)} is no restriction enzyme that is known here.", hint)
