"""`%nb evaluate`: measure the quality of answers to a set of questions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from labext import messages
from labext.errors import WatchInterrupted
from labext.progress import Outcome, Progress
from labext_magics.core import output, value_types
from labext_magics.core.dispatch import Call
from labext_magics.core.grammar import Command, Parameter
from labext_magics.core.options import OUT
from labext_magics.nb import options, processing, scope

if TYPE_CHECKING:
    import pandas as pd

    from labext.nb.evaluation import Evaluation, SearchType
    from labext.nb.records import Record


def evaluate(
    call: Call,
    *,
    questions: Path,
    search_type: SearchType | None,
    limit: int | None,
    notebook: str | None,
    all_notebooks: bool,
    model_override: str | None,
    no_wait: bool,
) -> pd.DataFrame:
    """Ask the questions of a CSV file, show a summary and return one row per question.

    After an interrupt, the result has the questions that were already asked.
    """
    from labext.nb.evaluation import summary_frame
    from labext.nb.views import evaluation_frame
    from labext_widgets.answers.evaluation import show_summary

    target = scope.notebook_or_all(call, notebook, all_notebooks)
    model = scope.resolve_model(call, model_override)
    evaluation = call.nb.prepare_evaluation(
        questions,
        None if target is None else target.id,
        search_type=search_type,
        limit=limit,
        model=model,
    )
    processing.wait_for_text(
        call, target, None, wait=not no_wait, vectors=search_type in ("vector", "hybrid")
    )
    rows = _ask(call, evaluation, questions)
    for note in dict.fromkeys(row["note"] for row in rows if row["note"]):
        output.print_message(note)
    frame = evaluation_frame(rows)
    show_summary(summary_frame(frame))
    return frame


def _ask(call: Call, evaluation: Evaluation, file: Path) -> list[Record]:
    """Ask the questions with a progress bar; return the answered ones after an interrupt."""
    import labext_widgets

    rows: list[Record] = []
    total = len(evaluation.questions)
    started = time.monotonic()

    def snapshots() -> Iterator[Progress]:
        def snapshot(outcome: Outcome | None = None) -> Progress:
            failed = sum(row["error"] is not None for row in rows)
            states = {"Complete": len(rows) - failed, "Failed": failed}
            phase = outcome.value.capitalize() if outcome else "Running"
            waiting = {"Pending": total - len(rows)}
            return Progress(
                file.name,
                "evaluation",
                phase,
                {**states, **waiting},
                total,
                outcome=outcome,
                elapsed=time.monotonic() - started,
            )

        yield snapshot()
        try:
            for row in evaluation.rows:
                rows.append(row)
                yield snapshot()
        except KeyboardInterrupt:  # it ends the evaluation, unlike the watch of a job
            yield snapshot(Outcome.STOPPED)
        else:
            yield snapshot(Outcome.COMPLETE if len(rows) == total else Outcome.FAILED)

    last = labext_widgets.watch(snapshots(), again=call.line)
    if last is not None and last.outcome is Outcome.STOPPED:
        if not rows:
            raise WatchInterrupted("The evaluation was interrupted.", "Run this line again.")
        output.print_message(
            f"Interrupted after {len(rows)} of {messages.pluralize(total, 'question')}; these are "
            "in the result."
        )
    if rows and len(rows) < total and rows[-1]["error"] is not None:
        output.print_message(
            f"Stopped after {len(rows)} of {messages.pluralize(total, 'question')}, because "
            f"several in a row failed: {rows[-1]['error']}"
        )
    return rows


SHORTCUTS = (
    Command(
        "evaluate",
        "Ask the questions of a CSV file and compare the answers with the expected ones.",
        evaluate,
        [Parameter("QUESTIONS", value_types.PATH, "a CSV file of questions", required=True)],
        [
            Parameter(
                "search-type",
                value_types.choice("hybrid", "text", "vector"),
                "also run this search, and return the rank of the first correct passage",
            ),
            options.PASSAGES,
            options.IN_NOTEBOOK,
            options.ALL,
            options.MODEL,
            processing.NO_WAIT,
            OUT,
        ],
        details="The file has the columns question, kind, facts, sources and refused. `facts` are "
        "required in the answer, and `sources` must be cited; both are separated by semicolons, "
        "and alternative wordings of a fact by |. `refused` is yes if the sources do not answer "
        "the question.",
        examples=["result = %nb evaluate questions.csv --search-type text"],
    ),
)
