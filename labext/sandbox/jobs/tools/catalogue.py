"""The catalogue of tools, and the subset whose packages are installed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import cast

from labext.sandbox.jobs.tools import (
    align_pair,
    codon_optimise,
    conformers,
    digest,
    gene_find,
    hmm_search,
    msa_tree,
    normal_modes,
    peptide_build,
    peptide_relax,
    primer_design,
    rna_fold,
    structure_summary,
)
from labext.sandbox.jobs.tools.tool import Score, Settings, Tool

_TOOL_MODULES = (
    peptide_build,
    digest,
    align_pair,
    rna_fold,
    normal_modes,
    msa_tree,
    structure_summary,
    peptide_relax,
    conformers,
    codon_optimise,
    hmm_search,
    primer_design,
    gene_find,
)


def all_tools() -> list[Tool]:
    """All tools there are, those that can't run here too."""
    return [module.TOOL for module in _TOOL_MODULES]


def available_tools() -> dict[str, Tool]:
    """The tools whose packages are installed, by name, in the order in which they are listed."""
    return {tool.name: tool for tool in all_tools() if not tool.missing_modules()}


def find_tool(name: str) -> Tool | None:
    """The tool of that name, where there is one and its packages are installed.

    Looks for the packages of that one alone, so that a submission and a job wait for no other's.
    """
    found = next((tool for tool in all_tools() if tool.name == name), None)
    return None if found is None or found.missing_modules() else found


def preload_modules() -> list[str]:
    """What a fork server imports beforehand, so that a job does not wait for it.

    That is what the tools name for it, and not all that they require: a package may be unfit for a
    process that forks.
    """
    tools = available_tools().values()
    names = dict.fromkeys(name for tool in tools for name in tool.preload)
    return [*(f"labext.sandbox.jobs.tools.{tool.name}" for tool in tools), *names]


def run_tool(name: str, settings: Settings, inputs: Mapping[str, Path], out: Path) -> Score:
    """Run one tool here and now, in this process.

    Args:
        name: the tool's.
        settings: what was sent, with or without the defaults.
        inputs: for each file parameter that was sent, the file.
        out: an existing folder, which takes the results.

    Raises:
        ToolError: the settings or files won't do; the reason is one sentence.
    """
    module = import_module(f"labext.sandbox.jobs.tools.{name}")
    return cast(Score, module.run(settings, inputs, out))
