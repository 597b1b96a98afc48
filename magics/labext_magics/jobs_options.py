"""Arguments and options that several commands of `%jobs` share."""

from __future__ import annotations

from labext_magics import kinds
from labext_magics.grammar import Parameter
from labext_magics.options import OUT

EMAIL = Parameter("email", kinds.text("ADDRESS"), "a teammate's, where you may see them")
PROJECT = Parameter("project", kinds.text("PROJ_ID"), "the project to file it under")
JOB = Parameter("NAME", kinds.JOB, "a job, a batch or a pipeline", required=True)
JOBS = Parameter("NAME", kinds.JOB, "a job, a batch or a pipeline", required=True, many=True)
BACKGROUND = Parameter("background", None, "watch without holding the notebook up")
CHECK = Parameter("check", None, "check the settings here and by the service, and submit nothing")
AFTERWARDS = (
    Parameter("wait", None, "watch until it ends"),
    Parameter("to", kinds.PATH, "with --wait: fetch the results into this folder"),
    BACKGROUND,
    OUT,
)
ROWS = (
    Parameter("from", kinds.VARIABLE, "the rows: a DataFrame, or a dict of names to settings"),
    Parameter("name-column", kinds.COLUMN, "the column of the jobs' names"),
)
