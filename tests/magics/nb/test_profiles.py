"""`%nb profiles`: both kinds are created once, updated, copied, deleted, and completed by Tab."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import Printed, Refused, RefusedLines, Run, check_refused, complete

import labext
from labext.errors import ConflictError, InputError, LabextError, NotFoundError

pytestmark = pytest.mark.contract

SEEDED = {"interview", "lecture", "panel", "host", "guest", "expert", "student"}


@pytest.fixture(autouse=True)
def _as_before(run: Run) -> Iterator[None]:
    yield
    with labext.connect("nb") as nb:
        for group in (nb.episode_profiles, nb.speaker_profiles):
            for field in [field for field in group.iter() if field["name"] not in SEEDED]:
                group.delete(field["id"])


def test_profile_life_cycle(run: Run, printed: Printed) -> None:
    every = run("%nb profiles").set_index("name")
    assert set(every.index) >= SEEDED
    assert (every.loc["interview", "kind"], every.loc["host", "kind"]) == ("episode", "speaker")
    assert every.loc["interview", "speakers"] == "host, guest"
    assert set(run("%nb profiles --kind speaker")["kind"]) == {"speaker"}

    new = "%nb profiles new brief --speakers host,guest --segments 2 --briefing 'Numbers first.'"
    assert "Created " in printed(new)
    assert "was kept" in printed(new)
    edited = run("%nb profiles edit brief --segments 3 --name briefer --outline-model extractive")
    assert edited[["kind", "name", "speakers", "models"]].iloc[0].tolist() == [
        *("episode", "briefer", "host, guest", "extractive")
    ]
    assert (edited["segments"].item(), edited["briefing"].item()) == (3, "Numbers first.")
    run("%nb profiles edit briefer --language en-GB")
    edited = run("%nb profiles edit briefer --no-models --no-language")
    assert (edited["models"].item(), edited["language"].isna().item()) == ("", True)

    assert "Created " in printed("%nb profiles new Ada --voice en-us --personality dry")
    edited = run("%nb profiles edit Ada --backstory 'Wrote the first program.'")
    assert edited["speakers"].item() == "Ada (en-us)"
    assert edited[["backstory", "personality"]].iloc[0].tolist() == [
        *("Wrote the first program.", "dry")
    ]
    duo = "%%nb profiles new duo\n- {name: Ann, voice_id: en-gb}\n- {name: Ben}"
    assert run(duo)["speakers"].item() == "Ann (en-gb), Ben"
    assert "was kept" in printed(duo)

    assert "duo to trio" in printed("%nb profiles duplicate duo --name trio")
    assert "the speaker profile trio" in printed("%nb profiles delete trio --preview")
    assert "Deleted " in printed("%nb profiles delete trio briefer --yes")
    assert not {"trio", "briefer"} & set(run("%nb profiles")["name"])


LINES: RefusedLines = [
    ("%nb profiles new x", InputError, "`--kind speaker`"),
    ("%nb profiles new x --segments 2 --voice en-us", InputError, "`--voice` is for a speaker"),
    ("%nb profiles new x --kind speaker --segments 2", InputError, "is for an episode profile"),
    ("%nb profiles new x --speakers nobody", NotFoundError, '"nobody"'),
    ("%nb profiles new x --segments 21 --speakers host", InputError, "20"),
    ("%nb profiles new x --voice-model extractive", LabextError, "extractive"),
    ("%%nb profiles new x\njust a text", InputError, "not a list of speakers"),
    ("%%nb profiles new x\n- {name: {first: Ann}}", InputError, "name"),
    ("%%nb profiles new x --voice en-us\n- {name: Ann}", InputError, "Keep one of them"),
    ("%%nb profiles new x --segments 2\n- {name: Ann}", InputError, "a separate cell"),
    ("%%nb profiles new x\n- {name: Ann, vocie_id: en}", InputError, "vocie_id"),
    ("%nb profiles new interview --segments 2", ConflictError, "`%nb profiles edit interview …`"),
    ("%nb profiles edit interview", InputError, "The line has no change"),
    ("%nb profiles edit intervew --segments 2", NotFoundError, 'did you mean "interview"'),
    ("%nb profiles edit host --kind speaker --segments 2", InputError, "for an episode profile"),
    ("%nb profiles edit host --kind speaker --no-language", InputError, "for an episode profile"),
    ("%nb profiles edit host --segments 2", NotFoundError, 'no episode profile "host"'),
    ("%nb profiles show twin", ConflictError, "`--kind episode` or `--kind speaker`"),
    ("%nb profiles duplicate host --name guest", ConflictError, "guest already"),
    ("%nb profiles delete host", InputError, "Add --yes"),
    ("%nb profiles delete host nobody --yes", NotFoundError, '"nobody"'),
]


def test_wrong_lines_change_nothing(run: Run, refused: Refused) -> None:
    run("%nb profiles new twin --speakers host\n%nb profiles new twin --kind speaker")
    before = run("%nb profiles")
    check_refused(refused, LINES)
    assert run("%nb profiles").equals(before)
    assert run("%nb profiles show twin --kind speaker")["kind"].item() == "speaker"


def test_tab_completions(run: Run, shell: InteractiveShell) -> None:
    start = "%nb podcast --name x --profile"
    assert complete(shell, f"{start} l") == [f"{start} lecture"]
    start = f"{start} interview --speakers"
    assert complete(shell, f"{start} host,g") == [f"{start} host,guest"]
    assert complete(shell, f"{start} h") == [f"{start} host"]
    show = "%nb profiles show --kind episode"
    assert complete(shell, f"{show} p") == [f"{show} panel"]
    assert complete(shell, "%nb profiles delete st") == ["%nb profiles delete student"]
    assert complete(shell, "%nb episodes re") == ["%nb episodes retry"]
