"""The catalogue of tools, and properties of every tool."""

from __future__ import annotations

import importlib
import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from string import Formatter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from job_tools import DATA, genbank_bases, run_tool

from labext.sandbox.jobs.tools import catalogue
from labext.sandbox.jobs.tools.tool import Parameter, Tool

HEAVY = ("numpy", "Bio", "RNA", "biotite", "PeptideBuilder", "pandas", "openmm", "rdkit", "pyhmmer")
HEAVY += ("primer3", "pyrodigal")
_RECORDS = [">" + record for record in (DATA / "its.fasta").read_text().split(">")[1:5]]
GENE = _RECORDS[0].split("\n", 1)[1]
PLASMID = genbank_bases("NC_005816.gb")
EXAMPLES: dict[str, tuple[dict, dict[str, Path | str]]] = {
    "peptide_build": ({"sequence": "ACDEFGHIKLMNPQRSTVWY", "conformation": "helix"}, {}),
    "digest": ({"sequence": "GAATTCAAGCTT", "enzymes": "EcoRI,HindIII"}, {}),
    "align_pair": ({"sequence1": "GATTACA", "sequence2": "GCATGCA"}, {}),
    "rna_fold": ({"sequence": "GGGGAAAACCCC"}, {}),
    "normal_modes": ({"pdbFile": "1A8O.pdb"}, {"pdbFile": DATA / "1A8O.pdb"}),
    "msa_tree": ({"sequences": "its.fasta"}, {"sequences": "".join(_RECORDS)}),
    "structure_summary": ({"pdbFile": "1A8O.pdb"}, {"pdbFile": DATA / "1A8O.pdb"}),
    "peptide_relax": ({"sequence": "GIGK", "iterations": 20}, {}),
    "conformers": ({"smiles": "CC(=O)Oc1ccccc1C(=O)O"}, {}),
    "codon_optimise": ({"sequence": "MKTAYIAKQR", "avoid": "EcoRI"}, {}),
    "hmm_search": (
        {"query": "query.fasta", "targets": "its.fasta", "molecule": "DNA"},
        {"query": ">q\n" + GENE, "targets": f">t\n{GENE[:50]}A{GENE[50:]}\n"},
    ),
    "primer_design": ({"sequence": GENE, "productMin": 80}, {}),
    "gene_find": ({"sequences": "plasmid.fasta"}, {"sequences": ">pPCP1\n" + PLASMID}),
}
"""Settings, and for each file setting the file or its content."""
TOOLS = pytest.mark.parametrize("tool", catalogue.all_tools(), ids=lambda tool: tool.name)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def installed(tool: Tool) -> Tool:
    if tool.missing_modules():
        pytest.skip(
            f"{tool.name} needs the extra {tool.extra}: {', '.join(tool.missing_modules())}"
        )
    return tool


def files(inputs: dict[str, Path | str], folder: Path) -> dict[str, Path]:
    """Return the input files of an example; content in settings is written into `folder`."""
    result = {}
    for name, value in inputs.items():
        result[name] = value if isinstance(value, Path) else folder / f"{name}.txt"
        if isinstance(value, str):
            result[name].write_text(value)
    return result


def test_catalogue_imports_no_heavy_package():
    code = (
        "import sys; from labext.sandbox.jobs.tools import catalogue; catalogue.available_tools(); "
        "catalogue.all_tools(); catalogue.preload_modules(); "
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_catalogue_lists_all_tools_in_order():
    assert [tool.name for tool in catalogue.all_tools()] == list(EXAMPLES)


@TOOLS
def test_record_has_the_documented_fields_and_no_null(tool):
    record = tool.record({"advanced"})
    required = {"name", "displayName", "description", "github", "paper", "settings"}
    assert set(record) - {"figures"} == required
    assert re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+", record["github"])
    assert record["paper"].startswith("https://doi.org/10.")
    for parameter in record["settings"]:
        assert {"name", "required"} <= set(parameter)
        assert set(parameter) <= {"name", "required", "type", "default", "description", "options"}
        assert None not in parameter.values()
    assert json.loads(json.dumps(record)) == record


def test_some_parameters_have_no_type():
    records = [p for tool in catalogue.all_tools() for p in tool.record({"advanced"})["settings"]]
    untyped = [p for p in records if "type" not in p]
    assert 0.3 <= len(untyped) / len(records) <= 0.6


def test_defaults_are_added_if_their_condition_is_met():
    tool = Tool(
        "t",
        "T",
        "",
        "",
        "",
        (
            Parameter("late", default=1, when=("mode", ("slow",))),
            Parameter("mode", default="slow", options=("slow", "fast")),
            Parameter("none"),
        ),
    )
    assert tool.with_defaults({}) == {"mode": "slow", "late": 1}
    assert tool.with_defaults({"mode": "fast"}) == {"mode": "fast"}
    assert tool.with_defaults({"late": 5}) == {"mode": "slow", "late": 5}


def test_tool_without_its_package_is_not_listed(monkeypatch):
    absent = replace(catalogue.all_tools()[3], requires=("no_such_package_here",))
    monkeypatch.setattr(catalogue, "all_tools", lambda: [absent])
    assert catalogue.available_tools() == {}
    assert catalogue.preload_modules() == []


def test_preloaded_modules_can_be_imported():
    for name in catalogue.preload_modules():
        importlib.import_module(name)


@TOOLS
def test_content_kinds_are_declared_for_pipelines(tool):
    assert tool.passes_content, "files passed on by a pipeline declare their content"
    for parameter in tool.parameters:
        if parameter.file or (parameter.required and parameter.type == "string"):
            assert parameter.content, f"{parameter.name} names the kinds of content that it takes"
        assert "content" not in parameter.record()
    names = {parameter.name for parameter in tool.parameters}
    for kind in (tool.passes_content, *(kind for p in tool.parameters for kind in p.content)):
        assert {field for _, field, _, _ in Formatter().parse(kind) if field} <= names


@TOOLS
def test_example_is_reproducible_with_and_without_defaults(tool, tmp_path):
    settings, inputs = EXAMPLES[installed(tool).name]
    inputs = files(inputs, tmp_path)
    results = []
    for turn, sent in enumerate((settings, tool.with_defaults(settings))):
        out = tmp_path / str(turn)
        score = run_tool(tool, out, inputs, **sent)
        assert json.loads(json.dumps(score)) == score
        assert all(isinstance(v, int | float | str) for v in score.values())
        assert all(math.isfinite(v) for v in score.values() if not isinstance(v, str))
        results.append((score, {path.name: path.read_bytes() for path in out.iterdir()}))
        for pattern in tool.passes:
            assert [*out.glob(pattern)], f"a pipeline passes on {pattern}, which is not written"
        assert set(tool.figures) <= {path.name for path in out.glob("*.csv")}
    assert results[0] == results[1], "defaults make no difference, and nothing is random"
    assert all(content for content in results[0][1].values())


@TOOLS
def test_missing_required_setting_is_named(tool):
    installed(tool)
    for parameter in tool.parameters:
        if parameter.required:
            settings = {k: v for k, v in EXAMPLES[tool.name][0].items() if k != parameter.name}
            assert tool.check(settings) == f"{parameter.name}: it is missing."


@TOOLS
@settings(max_examples=10)
@given(data=st.data())
def test_check_of_any_json_is_a_one_line_error_or_none(tool, data):
    installed(tool)
    names = [parameter.name for parameter in tool.parameters]
    changed = data.draw(st.dictionaries(st.sampled_from(names), json_values, min_size=1))
    error = tool.check({**EXAMPLES[tool.name][0], **changed})
    if error is not None:
        assert "\n" not in error
        assert error.endswith((".", "?"))
        assert any(error.startswith(name) for name in names)
        assert len(error) < 400
