"""Arguments and options shared by `%jobs` commands."""

from __future__ import annotations

from labext_magics.core import value_types
from labext_magics.core.grammar import Parameter
from labext_magics.core.options import OUT

EMAIL = Parameter(
    "email", value_types.text_type("ADDRESS"), "a teammate's jobs, if you may see them"
)
PROJECT = Parameter("project", value_types.text_type("PROJ_ID"), "the project of the submission")
JOB = Parameter("NAME", value_types.JOB, "a job, a batch or a pipeline", required=True)
JOBS = Parameter("NAME", value_types.JOB, "a job, a batch or a pipeline", required=True, many=True)
BACKGROUND = Parameter("background", None, "watch in the background")
CHECK = Parameter("check", None, "validate the settings without submitting")
OVER_BUDGET = Parameter("over-budget", None, "submit even if the estimate exceeds a budget")
AFTERWARDS = (
    Parameter("wait", None, "watch until it ends"),
    Parameter("to", value_types.PATH, "with --wait: download the results into this folder"),
    BACKGROUND,
    OUT,
)
NAME_COLUMN = Parameter("name-column", value_types.COLUMN, "the column with the jobs' names")
ROWS = (
    Parameter("from", value_types.VARIABLE, "the input rows of the batch, a DataFrame"),
    NAME_COLUMN,
)
