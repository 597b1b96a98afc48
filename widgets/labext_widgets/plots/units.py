"""Units of the columns of jobs and of the tables that tools write."""

from __future__ import annotations

from collections.abc import Mapping

from labext_widgets.core.markup import plain

MAX_TEXT = 60
"""Maximum number of characters of a label, a category or a job's name in a plot."""

JOB_UNITS = {"RunTime": "s", "WeightedHours": "weighted hours", "Created": "UTC"}
JOB_UNITS |= dict.fromkeys(("Started", "Completed"), "UTC")
"""Units of the columns that every job has."""

TOOL_UNITS: Mapping[str, Mapping[str, str]] = {
    "align_pair": {"identity": "%", "similarity": "%"},
    "codon_optimise": {"gc": "%", "gc_before": "%"},
    "conformers": {"energy": "kcal/mol", "spread": "kcal/mol", "rmsdThreshold": "Å"},
    "digest": {"length": "bp", "longest": "bp", "shortest": "bp"},
    "gene_find": {"coding": "%", "gc": "%"},
    "hmm_search": {"best_score": "bits"},
    "msa_tree": {"mean_identity": "%", "min_identity": "%"},
    "normal_modes": {"cutoff": "Å", "amplitude": "Å"},
    "peptide_build": {"weight": "Da", "end_to_end": "Å", "radius_of_gyration": "Å"},
    "peptide_relax": {
        "energy_before": "kJ/mol",
        "energy_after": "kJ/mol",
        "rmsd": "Å",
        "force": "kJ/mol/nm",
        "tolerance": "kJ/mol/nm",
    },
    "primer_design": {"product_size": "bp", "forward_tm": "°C", "reverse_tm": "°C"}
    | dict.fromkeys(("tmMin", "tmOpt", "tmMax"), "°C"),
    "rna_fold": {
        "mfe": "kcal/mol",
        "ensemble": "kcal/mol",
        "centroid": "kcal/mol",
        "diversity": "bp",
        "length": "nt",
        "temperature": "°C",
    },
    "structure_summary": {"radius_of_gyration": "Å", "sasa": "Å²", "probe": "Å"},
}
"""Units of scores and settings by tool, as the tools' descriptions have them."""

PREFIXES = ("score.", "setting.")


def plain_name(column: str) -> str:
    """Return the name of a score or setting without its prefix."""
    for prefix in PREFIXES:
        column = column.removeprefix(prefix)
    return column


def column_units(columns: list[str], tools: set[str]) -> dict[str, str]:
    """Return the units of a frame's columns, if the jobs of all tools in it agree on them."""
    units = {column: JOB_UNITS[column] for column in columns if column in JOB_UNITS}
    for column in columns:
        if column.startswith(PREFIXES):
            known = {TOOL_UNITS.get(tool, {}).get(plain_name(column)) for tool in tools}
            if len(known) == 1 and (unit := known.pop()) is not None:
                units[column] = unit
    return units


def label(column: str, units: Mapping[str, str]) -> str:
    """Return the label of a column: its name, and its unit in parentheses."""
    unit = units.get(column)
    name = plain(plain_name(column), MAX_TEXT)
    return f"{name} ({plain(unit, MAX_TEXT)})" if unit else name
