"""Declaration of the `%jobs` magic."""

from __future__ import annotations

from labext_magics.core import value_types
from labext_magics.core.grammar import Command, Magic, Parameter
from labext_magics.core.options import CA_BUNDLE, KEEP, OUT, PREVIEW, SAVE, WHERE, YES, YES_KEYRING
from labext_magics.jobs import connect, files, listing, submit
from labext_magics.jobs.listing import USAGE, WORKERS
from labext_magics.jobs.options import (
    AFTERWARDS,
    BACKGROUND,
    CHECK,
    EMAIL,
    JOB,
    JOBS,
    NAME_COLUMN,
    OVER_BUDGET,
    PROJECT,
    ROWS,
)
from labext_magics.jobs.pipelines import PIPELINE, RUN_PIPELINE
from labext_magics.jobs.plot import PLOT
from labext_magics.jobs.view import LOG, OUTPUTS, VIEW

SUBMIT = Command(
    "submit",
    "Submit one job.",
    submit.submit,
    [Parameter("TOOL", value_types.TOOL, "a tool; `%jobs tools` lists them")],
    [
        Parameter("name", value_types.NEW_NAME, "the job's name; generated if omitted"),
        Parameter(
            "set",
            value_types.SETTING,
            "a setting; {…} is a Python expression",
            many=True,
            dest="settings",
        ),
        PROJECT,
        CHECK,
        *AFTERWARDS,
    ],
    body="the settings as YAML or JSON, or `type`, `name` and `settings`; TOOL can be given as "
    "`type`.",
    details="A submission with the same name, tool, settings and input file contents as an "
    "existing job returns that job. A submission with the same name and other settings or "
    "contents is an error.",
    examples=[
        "%jobs submit digest --name cut --set sequence=GAATTC --set enzymes=EcoRI",
        "%jobs submit align_pair --set sequence1=GATTACA --set sequence2=GCATGCA --wait",
    ],
)

BATCH = Command(
    "batch",
    "Submit many jobs of one tool as a batch.",
    submit.batch,
    [Parameter("NAME", value_types.NEW_NAME, "the batch's name")],
    [
        Parameter("type", value_types.TOOL, "the tool", dest="tool"),
        Parameter(
            "from", value_types.VARIABLE, "the rows: a DataFrame, or a dict of names to settings"
        ),
        NAME_COLUMN,
        Parameter(
            "map",
            value_types.MAPPING,
            "the column with the values of a setting",
            many=True,
            dest="mapping",
        ),
        Parameter(
            "set", value_types.SETTING, "a setting shared by all jobs", many=True, dest="settings"
        ),
        Parameter("max-runtime", value_types.INTEGER, "maximum run time of each job in seconds"),
        Parameter("budget", value_types.POSITIVE, "maximum weighted hours for the batch"),
        Parameter("skip-invalid", None, "submit only the valid jobs, and return the invalid rows"),
        OVER_BUDGET,
        CHECK,
        *AFTERWARDS,
    ],
    body="the jobs as YAML or JSON: a list of `name` and `settings`, a mapping of names to "
    "settings, or the service's own `jobNames` and `settings`.",
    details="Batches of more than 100 jobs are sent in parts and displayed as one. Without --map "
    "each column except the name column must be a setting. All invalid rows are "
    "reported together and nothing is sent, except with --skip-invalid. With --check "
    "nothing is sent; the time and the weighted hours are estimated from earlier runs of the "
    "tool.",
    examples=[
        "%jobs batch folds --type rna_fold --from frame --name-column name --map sequence=bases",
        "refused = %jobs batch folds --type rna_fold --from frame --name-column name "
        "--map sequence=bases --skip-invalid",
    ],
)

MAGIC = Magic(
    "jobs",
    "Run computational-biology tools on the job service.",
    [
        Command(
            "tools",
            "List the tools of the service.",
            listing.tools,
            [
                Parameter(
                    "WORD",
                    value_types.text_type("WORD"),
                    "list only tools with this word in their description",
                )
            ],
            [OUT],
        ),
        Command(
            "tool",
            "Show the parameters of a tool.",
            listing.tool,
            [Parameter("TOOL", value_types.TOOL, "a tool", required=True)],
            [OUT],
            examples=["%jobs tool peptide_build"],
        ),
        SUBMIT,
        BATCH,
        PIPELINE,
        RUN_PIPELINE,
        submit.RESUME,
        Command(
            "list",
            "List jobs, newest first, or the jobs of a batch or pipeline.",
            listing.list_,
            instead="%jobs show",
            options=[
                Parameter(
                    "batch",
                    value_types.BATCH,
                    "list the jobs of this batch or pipeline, in submission order",
                ),
                Parameter("limit", value_types.INTEGER, "maximum number of jobs"),
                Parameter(
                    "start-key",
                    value_types.text_type("KEY"),
                    "continue after the end of an earlier list",
                ),
                Parameter(
                    "organization", None, "jobs of the whole organization, if you may see them"
                ),
                Parameter("subjobs", None, "include the jobs inside batches and pipelines"),
                EMAIL,
                Parameter("state", value_types.JOB_STATE, "list only jobs in this state"),
                Parameter(
                    "tool", value_types.TOOL, "list only jobs, batches and pipelines of this tool"
                ),
                Parameter("since", value_types.SINCE, "list only jobs created since then"),
                Parameter("scores", None, "expand the scores into columns `score.…`"),
                *ROWS,
                OUT,
            ],
            details="With --batch and --from, the rows from which the batch was created are "
            "joined to the list. States are case-insensitive, with `in-queue` as one "
            "word; `failed` includes Stopped and AggregationFailed. --since takes a "
            "date, a local time, or a duration: 2026-03-01, 14:30, today, 2h, 3d.",
            examples=[
                "scores = %jobs list --batch folds --scores",
                "failed = %jobs list --state failed --tool digest --since 3d",
            ],
        ),
        PLOT,
        Command("show", "Show one job, batch or pipeline.", listing.show, [JOB], [EMAIL, OUT]),
        Command(
            "watch",
            "Watch a job, batch or pipeline until it ends; interrupting stops only the watch.",
            listing.watch,
            [JOB],
            [BACKGROUND, EMAIL, OUT],
        ),
        Command(
            "results",
            "Download results into a folder; complete files are kept.",
            files.results,
            [JOB],
            [
                Parameter(
                    "to", value_types.FILE_OR_FOLDER, "the folder; by default the job's name"
                ),
                Parameter("file", value_types.RESULT_FILE, "download only this file"),
                Parameter("pdbs-only", None, "download only structure files"),
                Parameter("frame", None, "return a row per job with its metrics, input and folder"),
                *ROWS,
                EMAIL,
                OUT,
            ],
            details="Without --frame the result has one row per file. With --frame it has one row "
            "per job with the metrics and the input row; --from provides the input rows if the "
            "batch was submitted from another machine.",
            examples=[
                "%jobs results helix1 --to out/helix1",
                "table = %jobs results folds --to out/folds --frame",
            ],
        ),
        LOG,
        OUTPUTS,
        VIEW,
        Command("stop", "Stop jobs, batches or pipelines.", listing.stop, [JOBS]),
        Command(
            "delete",
            "Delete jobs, batches or pipelines and their data.",
            listing.delete,
            [JOBS],
            [YES, PREVIEW],
        ),
        Command(
            "upload",
            "Upload files; settings refer to them by NAME or FOLDER/NAME.",
            files.upload,
            [Parameter("PATH", value_types.PATH, "a file, or a pattern", required=True, many=True)],
            [
                Parameter("folder", value_types.FOLDER, "the folder on the service"),
                Parameter("presigned", None, "upload directly to the service's file store"),
                OUT,
            ],
            details="A file that exists on the service with the same content is not uploaded "
            "again; a replaced file is reported. Files too large for the service are "
            "uploaded to its file store and verified there.",
            examples=["%jobs upload data/*.pdb --folder structures"],
        ),
        Command(
            "files",
            "List the uploaded files that are in no folder, or those in a folder.",
            files.files,
            options=[
                Parameter("folder", value_types.FOLDER, "list the files in this folder instead"),
                Parameter("folders", None, "also list the folders"),
                OUT,
            ],
        ),
        Command(
            "rm",
            "Remove an uploaded file or a folder.",
            files.rm,
            [Parameter("FILE", value_types.UPLOADED, "an uploaded file")],
            [Parameter("folder", value_types.FOLDER, "a folder, with its files"), YES, PREVIEW],
        ),
        USAGE,
        WORKERS,
        Command(
            "connect",
            "Connect to a job service by address, profile name, or `sandbox`.",
            connect.SIGN_IN.connect,
            [WHERE],
            [SAVE, KEEP, CA_BUNDLE],
            guarded=True,
            details="The key is read from LABEXT_JOBS_API_KEY or the keyring, or entered at a "
            "prompt; it is never typed on a line.",
            examples=["%jobs connect https://jobs.example.org/api/ --save work --keep"],
        ),
        Command(
            "login",
            "Check the key of the service in use, and ask for a new one if it is not accepted.",
            connect.SIGN_IN.login,
            options=[KEEP],
            guarded=True,
        ),
        Command(
            "logout", "Sign out for this session.", connect.SIGN_IN.logout, options=[YES_KEYRING]
        ),
        Command(
            "status",
            "Show which service is in use.",
            connect.status,
            options=[OUT],
            instead="%jobs show",
        ),
    ],
)
