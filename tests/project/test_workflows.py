"""Workflows pin their actions by hash and name test files that exist."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def expand_braces(text: str) -> list[str]:
    """Expand `a/{b,c}.py` as a shell does."""
    parts = re.split(r"\{([^}]*)\}", text)
    choices = [part.split(",") if index % 2 else [part] for index, part in enumerate(parts)]
    return ["".join(words) for words in product(*choices)]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_hash_with_their_version(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    assert used
    for action in used:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_named_test_files_exist(path: Path) -> None:
    named = re.findall(r"tests/\S+\.py", path.read_text(encoding="utf-8"))
    for name in named:
        for expanded in expand_braces(name):
            assert (ROOT / expanded).is_file(), expanded
