"""Result files are classified by their names."""

from __future__ import annotations

import pytest

from labext.jobs.output_kinds import output_kind


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("rank_1.pdb", "structure"),
        ("model.CIF", "structure"),
        ("a/b/tree.nwk", "tree"),
        ("alignment.fasta", "alignment"),
        ("optimised.fasta", "text"),
        ("a/fragments.csv", "digest"),
        ("other.csv", "table"),
        ("structure.dbn", "rna"),
        ("map.svg", "picture"),
        ("profile.bin", None),
        ("README", None),
    ],
)
def test_kind_follows_the_name_in_any_folder(path: str, kind: str | None) -> None:
    assert output_kind(path) == kind
