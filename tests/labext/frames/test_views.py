"""IPython formatters of record frames."""

from __future__ import annotations

import builtins
import contextlib
import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import opened

from labext.frames.views import RowView, properties_frame
from labext.jobs.frames import JOBS
from labext.jobs.records import jobs_frame

PLANTS = RowView(name="plants (test)", first=("name",), last=("id",))


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    """The shell that `get_ipython` returns."""
    with opened() as ip:
        monkeypatch.setattr("IPython.get_ipython", lambda: ip)
        yield ip


def plants() -> pd.DataFrame:
    """Two rows with an empty column and a text longer than pandas shows."""
    return PLANTS.show(
        pd.DataFrame(
            {
                "id": ["p1", "p2"],
                "name": ["Arabidopsis", "Oryza"],
                "seen": pd.to_datetime(["2026-11-20T18:31:14.123Z"] * 2, format="ISO8601"),
                "note": [None, None],
            }
        )
    )


def displayed(shell: InteractiveShell, value: object) -> dict[str, str]:
    data, _ = shell.display_formatter.format(value)
    return dict(data)


def test_frame_is_displayed_by_its_view(shell: InteractiveShell) -> None:
    data = displayed(shell, plants())
    assert data["text/plain"].split()[:3] == ["name", "seen", "id"]
    assert "2026-11-20 18:31:14<" in data["text/html"]
    assert "note" not in data["text/html"]


def test_times_without_a_time_zone_are_not_called_utc(shell: InteractiveShell) -> None:
    frame = PLANTS.show(plants().assign(sown=pd.Timestamp("2026-03-29 14:00")))
    for text in displayed(shell, frame).values():
        assert "times in UTC, except sown" in text
    assert "sown  2026-03-29 14:00:00\n" in displayed(shell, frame.head(1))["text/plain"] + "\n"
    assert "18:31:14 UTC" in displayed(shell, frame.head(1))["text/plain"]
    assert "UTC" not in displayed(shell, frame.drop(columns="seen"))["text/plain"]


def test_truncated_reasons_are_below_a_table_of_text(shell: InteractiveShell) -> None:
    view = RowView(name="failures (test)", whole=("error", "remark"))
    reason = "The file has no sequences. " * 9
    frame = pd.DataFrame(
        {"error": [reason, "short", reason, "other " * 40], "wide": ["x" * 90] * 4}
        | {"more": ["y" * 90] * 4, "remark": [None, None, None, "No column has room for it."]}
    )
    text = " ".join(displayed(shell, view.show(frame))["text/plain"].split())
    assert f"error of rows 0, 2: {reason}error of row 3: other" in text
    assert "not shown: remark" in text
    assert "remark of row 3: No column has room for it." in text
    assert "short" not in text.partition("error of")[2]
    many = view.show(pd.DataFrame({"error": [f"{n} {reason}" for n in range(50)]}))
    assert displayed(shell, many)["text/plain"].count("error of row") == 5


def test_column_of_arrays_is_displayed(shell: InteractiveShell) -> None:
    frame = plants()
    frame["embedding"] = [np.array([0.5, 1.5]), np.array([])]
    frame["reads"] = [pd.Series([7, 8]), {"r1"}]
    for table in (frame, frame.head(1)):
        data = displayed(shell, table)
        for form in ("text/plain", "text/html"):
            assert "[0.5 1.5]" in data[form]
            assert "reads" in data[form]


def test_positions_beside_an_empty_cell_have_all_digits(shell: InteractiveShell) -> None:
    frame = pd.DataFrame({"position": [12345678.0, None], "share": [1 / 3, -0.0]})
    text = displayed(shell, PLANTS.show(frame))["text/plain"]
    assert "12345678" in text
    assert "0.333333" in text


def test_dollars_in_a_table_are_no_formula(shell: InteractiveShell) -> None:
    for frame in (plants(), plants().head(1), properties_frame({"title": "$5"}, "prices")):
        [table] = re.findall(r"<table[^>]*>", displayed(shell, frame)["text/html"])
        assert "tex2jax_ignore" in table


def test_other_frames_are_displayed_by_pandas(shell: InteractiveShell) -> None:
    plants()
    other: Any = pd.DataFrame({"a": [1, None], "b": ["x", None]})
    data = displayed(shell, other)
    assert data == {"text/plain": repr(other), "text/html": other._repr_html_()}
    assert displayed(shell, [other])["text/plain"].count("NaN") == repr(other).count("NaN")


def test_subclass_keeps_its_own_display(shell: InteractiveShell) -> None:
    class Geo(pd.DataFrame):
        def __repr__(self) -> str:
            return "a map"

        def _repr_html_(self) -> str:
            return "<b>a map</b>"

    plants()
    geo = Geo({"a": [1]})
    assert displayed(shell, geo) == {"text/plain": "a map", "text/html": "<b>a map</b>"}


def test_formatter_of_another_package_is_kept(shell: InteractiveShell) -> None:
    html = shell.display_formatter.formatters["text/html"]
    html.for_type(pd.DataFrame, lambda frame: "<p>theirs</p>")
    assert displayed(shell, plants())["text/html"] == "<p>theirs</p>"
    html.for_type(pd.DataFrame, lambda frame: "<p>later</p>")
    assert displayed(shell, plants())["text/html"] == "<p>later</p>"


@pytest.mark.filterwarnings("ignore:Series.values")  # of itables 2.9, for times with a zone
def test_itables_displays_all_frames(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    itables = pytest.importorskip("itables")
    monkeypatch.setattr(builtins, "get_ipython", lambda: shell, raising=False)
    frame = plants()
    with contextlib.redirect_stdout(io.StringIO()):
        itables.init_notebook_mode(all_interactive=True)
    try:
        jobs = JOBS.show(
            jobs_frame([{"JobName": "a", "Settings": {"x": [1]}, "Score": {"y": 0.5}}])
        )
        assert 'id="itables_' in displayed(shell, jobs)["text/html"]
        for table in (frame, plants(), frame.sort_values("name")):
            html = displayed(shell, table)["text/html"]
            assert 'id="itables_' in html
            assert html.index(">name<") < html.index(">seen<") < html.index(">id<")
    finally:
        itables.init_notebook_mode(all_interactive=False)
    assert "itables" not in displayed(shell, frame)["text/html"]


def test_properties_are_displayed_in_full_and_without_a_header(shell: InteractiveShell) -> None:
    long = "word " * 60
    data: dict[str, Any] = displayed(shell, properties_frame({"service": long}, "nb"))
    assert long.strip() in data["text/html"]
    assert " ".join(data["text/plain"].split()) == f"service {long.strip()}"
    assert "<thead>" not in data["text/html"]


def test_frame_with_unknown_view_is_displayed_by_pandas(shell: InteractiveShell) -> None:
    frame = plants()
    for mark in ({"view": "of a later version", "rows": 2}, "x", {"view": ["a"]}, {}):
        frame.attrs["labext"] = mark
        assert displayed(shell, frame)["text/plain"] == repr(frame)
