"""Declaration of the `%jobs` magic."""

from __future__ import annotations

from labext_magics.core import value_types
from labext_magics.core.grammar import Command, Magic, Parameter
from labext_magics.core.options import CA_BUNDLE, KEEP, OUT, PREVIEW, SAVE, WHERE, YES
from labext_magics.jobs import connect, files, listing, removal, submit
from labext_magics.jobs.listing import USAGE
from labext_magics.jobs.options import (
    AFTERWARDS,
    BACKGROUND,
    CHECK,
    EMAIL,
    JOB,
    JOBS,
    PROJECT,
    ROWS,
)
from labext_magics.jobs.pipelines import PIPELINE, RUN_PIPELINE

SUBMIT = Command(
    "submit",
    "Submit one job.",
    submit.submit,
    [Parameter("TOOL", value_types.TOOL, "a tool, as `%jobs tools` names it")],
    [
        Parameter("name", value_types.NEW_NAME, "the job's name; without one it is made up"),
        Parameter(
            "set",
            value_types.SETTING,
            "a setting; {…} gives a Python object",
            many=True,
            dest="settings",
        ),
        PROJECT,
        CHECK,
        *AFTERWARDS,
    ],
    body="its settings, as YAML or JSON; or `type`, `name` and `settings`. TOOL may then stand "
    "there.",
    details="The same name, tool, settings and content of the files that they name are the same "
    "job: it is taken as it is. The same name with other settings or content is refused.",
    examples=[
        "%jobs submit digest --name cut --set sequence=GAATTC --set enzymes=EcoRI",
        "%jobs submit align_pair --set sequence1=GATTACA --set sequence2=GCATGCA --wait",
    ],
)

BATCH = Command(
    "batch",
    "Submit many jobs of one tool as one batch.",
    submit.batch,
    [Parameter("NAME", value_types.NEW_NAME, "the batch's name")],
    [
        Parameter("type", value_types.TOOL, "the tool", dest="tool"),
        *ROWS,
        Parameter(
            "map",
            value_types.MAPPING,
            "the column a setting is taken from",
            many=True,
            dest="mapping",
        ),
        Parameter(
            "set", value_types.SETTING, "a setting that all jobs share", many=True, dest="settings"
        ),
        Parameter("max-runtime", value_types.INTEGER, "seconds that each job may run"),
        Parameter("budget", value_types.POSITIVE, "weighted hours that the batch may use"),
        Parameter(
            "skip-invalid",
            None,
            "submit the jobs that are valid, and return the rows of the others",
        ),
        CHECK,
        *AFTERWARDS,
    ],
    body="the jobs, as YAML or JSON: a list of `name` and `settings`, a mapping of names to "
    "settings, or the service's own `jobNames` and `settings`.",
    details="More than 100 jobs are sent in parts and still seen as one batch. Without --map every "
    "column but the name's must be a setting. All rows that are not valid are named at once, and "
    "nothing is sent; with --skip-invalid the others are, and with --check none.",
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
            "List the tools that the service has.",
            listing.tools,
            [
                Parameter(
                    "WORD",
                    value_types.text_type("WORD"),
                    "only tools with this word in their description",
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
            "List jobs, the newest first; or the jobs of a batch or a pipeline.",
            listing.list_,
            instead="%jobs show",
            options=[
                Parameter(
                    "batch", value_types.BATCH, "the jobs of this batch or pipeline, in their order"
                ),
                Parameter("limit", value_types.INTEGER, "at most this many"),
                Parameter(
                    "start-key", value_types.text_type("KEY"), "go on where an earlier list ended"
                ),
                Parameter("organization", None, "the whole organization's, where you may see them"),
                Parameter("subjobs", None, "also the jobs inside batches and pipelines"),
                EMAIL,
                Parameter("state", value_types.JOB_STATE, "only jobs in this state"),
                Parameter(
                    "tool", value_types.TOOL, "only jobs, batches and pipelines of this tool"
                ),
                Parameter("since", value_types.SINCE, "only jobs created since then"),
                Parameter("scores", None, "spread the scores into columns `score.…`"),
                *ROWS,
                OUT,
            ],
            details="With --batch and --from the rows that the batch was made of are joined to it. "
            "A state is written in any case, `in-queue` as one word; `failed` also stands for "
            "Stopped and AggregationFailed. --since takes a date, a time of this machine's clock, "
            "or how long ago: 2026-03-01, 14:30, today, 2h, 3d.",
            examples=[
                "scores = %jobs list --batch folds --scores",
                "failed = %jobs list --state failed --tool digest --since 3d",
            ],
        ),
        Command("show", "Show one job, batch or pipeline.", listing.show, [JOB], [EMAIL, OUT]),
        Command(
            "watch",
            "Watch a job, a batch or a pipeline to its end; interrupting ends the watching only.",
            listing.watch,
            [JOB],
            [BACKGROUND, EMAIL, OUT],
        ),
        Command(
            "results",
            "Fetch the results into a folder; what is there and whole is kept.",
            files.results,
            [JOB],
            [
                Parameter("to", value_types.PATH, "the folder; else one with the job's name"),
                Parameter("file", value_types.RESULT_FILE, "one file instead of all"),
                Parameter("pdbs-only", None, "only the structures"),
                Parameter(
                    "frame", None, "give a row a job: its metrics, its input, where its files are"
                ),
                *ROWS,
                EMAIL,
                OUT,
            ],
            details="Without --frame a row is a file. With it the rows that a batch was made of "
            "stand beside the metrics; --from gives them where it was sent from elsewhere.",
            examples=[
                "%jobs results helix1 --to out/helix1",
                "table = %jobs results folds --to out/folds --frame",
            ],
        ),
        Command("stop", "Stop jobs, batches or pipelines.", removal.stop, [JOBS]),
        Command(
            "delete",
            "Delete jobs, batches or pipelines with their data.",
            removal.delete,
            [JOBS],
            [YES, PREVIEW],
        ),
        Command(
            "upload",
            "Upload files; a setting refers to one by its name, or by FOLDER/NAME.",
            files.upload,
            [Parameter("PATH", value_types.PATH, "a file", required=True, many=True)],
            [
                Parameter("folder", value_types.FOLDER, "the folder to file it in"),
                Parameter("presigned", None, "send it straight to the service's store"),
                OUT,
            ],
            details="A file that the service has with the same content is not sent again; one that "
            "replaces another is said to. What is too large for the service itself goes to its "
            "store anyway. There it is looked for afterwards.",
        ),
        Command(
            "files",
            "List the uploaded files.",
            files.files,
            options=[
                Parameter("folder", value_types.FOLDER, "only this folder's"),
                Parameter("folders", None, "also the folders"),
                OUT,
            ],
        ),
        Command(
            "rm",
            "Remove an uploaded file or a folder.",
            removal.rm,
            [Parameter("FILE", value_types.UPLOADED, "an uploaded file")],
            [Parameter("folder", value_types.FOLDER, "a folder with its files"), YES, PREVIEW],
        ),
        USAGE,
        Command(
            "connect",
            "Use a job service: by its address, a profile's name, or the sandbox.",
            connect.connect,
            [WHERE],
            [SAVE, KEEP, CA_BUNDLE],
            guarded=True,
            details="The key is taken from LABEXT_JOBS_API_KEY or the keyring, or asked for: on a "
            "line it has no place.",
            examples=["%jobs connect https://jobs.example.org/api/ --save work --keep"],
        ),
        Command(
            "login",
            "Check the key of the service in use, and ask for another one if it isn't accepted.",
            connect.login,
            options=[KEEP],
            guarded=True,
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
