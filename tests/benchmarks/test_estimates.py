"""The expected time of jobs against their actual time, after 20 runs of a tool.

Each tool runs 20 jobs of varied sizes, then 20 further ones of the same distribution, whose
expected times are taken before they are sent. Sizes are uniform in their logarithm.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from labext.jobs import JobsClient
from labext.jobs.estimates import Run
from labext.sandbox import Sandbox

pytestmark = pytest.mark.benchmark

GOAL = 0.8
Settings = dict[str, Any]


class Inputs:
    """Random settings of the tools."""

    def __init__(self, client: JobsClient, folder: Path) -> None:
        self._client, self._folder = client, folder
        self._random = random.Random(16)
        self._files = 0

    def rna_fold(self) -> Settings:
        return {"sequence": self._letters("ACGU", self._size(20, 1000))}

    def align_pair(self) -> Settings:
        sizes = {f"sequence{number}": self._size(20, 5000) for number in (1, 2)}
        sequences = {name: self._letters("ACGT", size) for name, size in sizes.items()}
        return {**sequences, "mode": self._random.choice(["global", "local"])}

    def codon_optimise(self) -> Settings:
        protein = self._letters("ACDEFGHIKLMNPQRSTVWY", self._size(10, 2000))
        settings: Settings = {"sequence": protein}
        if self._random.random() < 0.5:
            settings["avoid"] = ["EcoRI", "BamHI", "HindIII", "NotI"]
        return settings

    def msa_tree(self) -> Settings:
        """A file of related sequences, which is uploaded."""
        ancestor = self._letters("ACGT", self._size(50, 900))
        sequences = [
            "".join(
                self._random.choice("ACGT" if self._random.random() < 0.1 else c) for c in ancestor
            )
            for _ in range(self._size(3, 30))
        ]
        self._files += 1
        path = self._folder / f"family{self._files}.fasta"
        path.write_text("".join(f">s{n}\n{text}\n" for n, text in enumerate(sequences)))
        self._client.upload(path)
        return {"sequences": path.name}

    def _size(self, smallest: int, largest: int) -> int:
        return round(smallest * (largest / smallest) ** self._random.random())

    def _letters(self, alphabet: str, count: int) -> str:
        return "".join(self._random.choices(alphabet, k=count))


@pytest.mark.parametrize("tool", ["rna_fold", "align_pair", "codon_optimise", "msa_tree"])
def test_actual_times_are_within_a_factor_of_two_of_the_expected_ones(
    benchmark: Any,
    figure: Callable[[str, str], None],
    new_box: Callable[..., Sandbox],
    tmp_path: Path,
    tool: str,
) -> None:
    runs = 20 if benchmark.enabled else 2
    box = new_box(workers=1, data_dir=tmp_path / "box")
    with JobsClient(box.jobs.base_url, box.jobs.api_key, rate=None) as client:
        inputs = Inputs(client, tmp_path)
        make: Callable[[], Settings] = getattr(inputs, tool)

        def run(name: str, jobs: list[Settings]) -> list[float]:
            client.submit_batch(
                name, tool, jobs=[{"jobName": f"j{n}", "settings": s} for n, s in enumerate(jobs)]
            )
            client.wait(name, timeout=1200)
            rows = [client._service.row(f"{name}-j{n}") for n in range(len(jobs))]
            known = [Run.from_row(row) for row in rows]
            assert None not in known, rows
            return [run.seconds for run in known if run is not None]

        run("history", [make() for _ in range(runs)])
        jobs = [make() for _ in range(runs)]
        expected = benchmark.pedantic(client.estimate, (tool, jobs), rounds=1)
        assert expected is not None
        assert expected.runs == runs
        actual = run("further", jobs)
    ratios = [a / b for a, b in zip(actual, expected.seconds, strict=True)]
    share = sum(0.5 <= ratio <= 2 for ratio in ratios) / runs
    figure(
        f"expected time of {tool}, {runs} runs after {runs} runs",
        f"{share:.0%} within a factor of 2, {GOAL:.0%} is the aim (actual times "
        f"{min(actual):.3f} to {max(actual):.2f} s; stated factor {expected.factor:.2f})",
    )
    if benchmark.enabled:
        assert share >= GOAL
