"""`%jobs`: what can be said on its line."""

from __future__ import annotations

from labext_magics import (
    jobs_connect,
    jobs_files,
    jobs_look,
    jobs_remove,
    jobs_resume,
    jobs_submit,
    kinds,
)
from labext_magics.grammar import Command, Magic, Parameter
from labext_magics.jobs_options import (
    AFTERWARDS,
    BACKGROUND,
    CHECK,
    EMAIL,
    JOB,
    JOBS,
    PROJECT,
    ROWS,
)
from labext_magics.jobs_pipeline import PIPELINE, RUN_PIPELINE
from labext_magics.jobs_usage import USAGE
from labext_magics.options import CA_BUNDLE, KEEP, OUT, PREVIEW, SAVE, WHERE, YES

SUBMIT = Command(
    "submit",
    "Submit one job.",
    jobs_submit.submit,
    [Parameter("TOOL", kinds.TOOL, "a tool, as `%jobs tools` names it")],
    [
        Parameter("name", kinds.NEW_NAME, "the job's name; without one it is made up"),
        Parameter(
            "set", kinds.SETTING, "a setting; {…} gives a Python object", many=True, dest="settings"
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
    jobs_submit.batch,
    [Parameter("NAME", kinds.NEW_NAME, "the batch's name")],
    [
        Parameter("type", kinds.TOOL, "the tool", dest="tool"),
        *ROWS,
        Parameter(
            "map", kinds.MAPPING, "the column a setting is taken from", many=True, dest="mapping"
        ),
        Parameter(
            "set", kinds.SETTING, "a setting that all jobs share", many=True, dest="settings"
        ),
        Parameter("max-runtime", kinds.WHOLE, "seconds that each job may run"),
        Parameter("budget", kinds.POSITIVE, "weighted hours that the batch may use"),
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
            jobs_look.tools,
            [
                Parameter(
                    "WORD", kinds.text("WORD"), "only tools with this word in their description"
                )
            ],
            [OUT],
        ),
        Command(
            "tool",
            "Show the parameters of a tool.",
            jobs_look.tool,
            [Parameter("TOOL", kinds.TOOL, "a tool", required=True)],
            [OUT],
            examples=["%jobs tool peptide_build"],
        ),
        SUBMIT,
        BATCH,
        PIPELINE,
        RUN_PIPELINE,
        jobs_resume.RESUME,
        Command(
            "list",
            "List jobs, the newest first; or the jobs of a batch or a pipeline.",
            jobs_look.list_,
            instead="%jobs show",
            options=[
                Parameter(
                    "batch", kinds.BATCH, "the jobs of this batch or pipeline, in their order"
                ),
                Parameter("limit", kinds.WHOLE, "at most this many"),
                Parameter("start-key", kinds.text("KEY"), "go on where an earlier list ended"),
                Parameter("organization", None, "the whole organization's, where you may see them"),
                Parameter("subjobs", None, "also the jobs inside batches and pipelines"),
                EMAIL,
                Parameter("state", kinds.JOB_STATE, "only jobs in this state"),
                Parameter("tool", kinds.TOOL, "only jobs, batches and pipelines of this tool"),
                Parameter("since", kinds.SINCE, "only jobs created since then"),
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
        Command("show", "Show one job, batch or pipeline.", jobs_look.show, [JOB], [EMAIL, OUT]),
        Command(
            "watch",
            "Watch a job, a batch or a pipeline to its end; interrupting ends the watching only.",
            jobs_look.watch,
            [JOB],
            [BACKGROUND, EMAIL, OUT],
        ),
        Command(
            "results",
            "Fetch the results into a folder; what is there and whole is kept.",
            jobs_files.results,
            [JOB],
            [
                Parameter("to", kinds.PATH, "the folder; else one with the job's name"),
                Parameter("file", kinds.RESULT_FILE, "one file instead of all"),
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
        Command("stop", "Stop jobs, batches or pipelines.", jobs_remove.stop, [JOBS]),
        Command(
            "delete",
            "Delete jobs, batches or pipelines with their data.",
            jobs_remove.delete,
            [JOBS],
            [YES, PREVIEW],
        ),
        Command(
            "upload",
            "Upload files; a setting refers to one by its name, or by FOLDER/NAME.",
            jobs_files.upload,
            [Parameter("PATH", kinds.PATH, "a file", required=True, many=True)],
            [
                Parameter("folder", kinds.FOLDER, "the folder to file it in"),
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
            jobs_files.files,
            options=[
                Parameter("folder", kinds.FOLDER, "only this folder's"),
                Parameter("folders", None, "also the folders"),
                OUT,
            ],
        ),
        Command(
            "rm",
            "Remove an uploaded file or a folder.",
            jobs_remove.rm,
            [Parameter("FILE", kinds.UPLOADED, "an uploaded file")],
            [Parameter("folder", kinds.FOLDER, "a folder with its files"), YES, PREVIEW],
        ),
        USAGE,
        Command(
            "connect",
            "Use a job service: by its address, a profile's name, or the sandbox.",
            jobs_connect.connect,
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
            jobs_connect.login,
            options=[KEEP],
            guarded=True,
        ),
        Command(
            "status",
            "Show which service is in use.",
            jobs_connect.status,
            options=[OUT],
            instead="%jobs show",
        ),
    ],
)
