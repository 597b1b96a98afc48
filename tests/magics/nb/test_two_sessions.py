"""Two kernels that run the same `%nb` lines at the same time."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from two_sessions import run_in_two_sessions

from labext.nb import NotebookClient
from labext.sandbox import Sandbox

pytestmark = pytest.mark.contract

ROUNDS = range(2)
LINES = [
    "%nb use Both{} --create",
    "%nb new Other{}",
    "%nb use Both{}",
    "%nb note Warm --title Plan{}",
    "%%nb source --title Bench{} --async\nThe cell {} grows.",
    "%nb add page{}.md",
    "%nb sessions new --title Chat{}",
    "%nb chat 'What grows?' --title Talk{}",
    "%nb transformations new terse{} --prompt 'Say it shortly.'",
    "%nb transform terse{} 'The cell grows.' --save Short{}",
    "%nb credentials new ollama --name shelf{} --base-url http://127.0.0.1:9/v1 --no-key",
    "%nb profiles new tiny{} --speakers host,guest --segments 1",
]


def test_each_record_is_created_once(nb_box: Sandbox, tmp_path: Path) -> None:
    cells = [line.replace("{}", str(number)) for number in ROUNDS for line in LINES]
    cells.append("%nb podcast --name Episode0 --profile tiny0 --background")
    for number in ROUNDS:
        (tmp_path / f"page{number}.md").write_text("The cell grows.")
    run_in_two_sessions(nb_box, "nb", cells, tmp_path)

    with NotebookClient(nb_box.nb.base_url, nb_box.nb.password) as nb:
        created: Counter[str] = Counter()
        for record in nb.notebooks.iter():
            created[record["name"]] += 1
        for number in ROUNDS:
            created.update(note["title"] for note in nb.notes.iter(f"Both{number}"))
            created.update(nb.chat.sessions(f"Both{number}")["title"])
            created.update(source["title"] for source in nb.sources.iter(f"Both{number}"))
        for group in (nb.transformations, nb.credentials, nb.episode_profiles, nb.podcasts):
            created.update(record["name"] for record in group.iter())
    names = [
        "Both",
        "Other",
        "Plan",
        "Bench",
        "page",
        "Chat",
        "Talk",
        "terse",
        "Short",
        "shelf",
        "tiny",
    ]
    expected = ["Episode0", *(f"{name}{number}" for name in names for number in ROUNDS)]
    counts = {name.removesuffix(".md"): count for name, count in created.items()}
    assert {name: counts.get(name) for name in expected} == dict.fromkeys(expected, 1)
