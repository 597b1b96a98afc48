"""The catalogue of tools, and the tools whose packages are installed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import cast

from labext.extras import install_line
from labext.sandbox.jobs.names import quote_value
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
    """Return all tools, including those with missing packages."""
    return [module.TOOL for module in _TOOL_MODULES]


def available_tools() -> dict[str, Tool]:
    """Return the tools whose packages are installed by name, in catalogue order."""
    return {tool.name: tool for tool in all_tools() if not tool.missing_modules()}


def find_tool(name: str) -> Tool | None:
    """Return the tool with this name if it exists and its packages are installed.

    Faster than `available_tools`, since only the packages of this tool are checked.
    """
    tool = find_definition(name)
    return None if tool is None or tool.missing_modules() else tool


def find_definition(name: str) -> Tool | None:
    """Return the tool with this name, even if its packages are not installed."""
    return next((tool for tool in all_tools() if tool.name == name), None)


def missing_tool(name: str) -> str:
    """Return why `find_tool` has no tool of this name, and what to do, without a capital letter."""
    tool = find_definition(name)
    if tool is None:
        return f"there is no tool {quote_value(name)}; GET /tools lists them."
    return f"the tool {quote_value(name)} is not installed; run `{install_line(tool.extra)}`."


def preload_modules() -> list[str]:
    """Return the modules that a fork server imports in advance.

    Not all required modules are preloaded, since some packages are not fork-safe.
    """
    tools = available_tools().values()
    names = dict.fromkeys(name for tool in tools for name in tool.preload)
    return [*(f"labext.sandbox.jobs.tools.{tool.name}" for tool in tools), *names]


def run_tool(name: str, settings: Settings, inputs: Mapping[str, Path], out: Path) -> Score:
    """Run a tool in this process, with input files by setting and a folder for the results."""
    module = import_module(f"labext.sandbox.jobs.tools.{name}")
    return cast(Score, module.run(settings, inputs, out))
