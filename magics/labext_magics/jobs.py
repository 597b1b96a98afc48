"""`%jobs`: what can be said on its line."""

from __future__ import annotations

from labext_magics import jobs_connect, jobs_files, jobs_look, jobs_remove, jobs_submit, kinds
from labext_magics.grammar import Command, Magic, Parameter

_OUT = Parameter("out", kinds.NEW_VARIABLE, "store the result under this name, and don't show it")
_EMAIL = Parameter("email", kinds.text("ADDRESS"), "a teammate's, where you may see them")
_YES = Parameter("yes", None, "do it")
_PREVIEW = Parameter("preview", None, "only show what would go")
_JOB = Parameter("NAME", kinds.JOB, "a job or a batch", required=True)
_JOBS = Parameter("NAME", kinds.JOB, "a job or a batch", required=True, many=True)
_FOLLOW = (
    Parameter("check", None, "check the settings here and by the service, and submit nothing"),
    Parameter("wait", None, "watch until it ends"),
    Parameter("to", kinds.PATH, "with --wait: fetch the results into this folder"),
    Parameter("background", None, "watch without holding the notebook up"),
    _OUT,
)
_ROWS = (
    Parameter("from", kinds.VARIABLE, "the rows: a DataFrame, or a dict of names to settings"),
    Parameter("name-column", kinds.COLUMN, "the column of the jobs' names"),
)

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
        Parameter("project", kinds.text("PROJ_ID"), "the project to file it under"),
        *_FOLLOW,
    ],
    body="its settings, as YAML or JSON; or `type`, `name` and `settings`. TOOL may then stand "
    "there.",
    details="The same name, tool and settings again are the same job: it is taken as it is. The "
    "same name with other settings is refused.",
    examples=[
        "%jobs submit digest --name cut --set sequence=GAATTC --set enzymes=EcoRI",
        "%jobs submit align_pair --set first={seqs[0]} --set second={seqs[1]} --wait",
    ],
)

BATCH = Command(
    "batch",
    "Submit many jobs of one tool as one batch.",
    jobs_submit.batch,
    [Parameter("NAME", kinds.NEW_NAME, "the batch's name")],
    [
        Parameter("type", kinds.TOOL, "the tool", dest="tool"),
        *_ROWS,
        Parameter(
            "map", kinds.MAPPING, "the column a setting is taken from", many=True, dest="mapping"
        ),
        Parameter(
            "set", kinds.SETTING, "a setting that all jobs share", many=True, dest="settings"
        ),
        Parameter("max-runtime", kinds.WHOLE, "seconds that each job may run"),
        Parameter("budget", kinds.POSITIVE, "weighted hours that the batch may use"),
        *_FOLLOW,
    ],
    body="the jobs, as YAML or JSON: a list of `name` and `settings`, a mapping of names to "
    "settings, or the service's own `jobNames` and `settings`.",
    details="More than 100 jobs are sent in parts and still seen as one batch. Without --map every "
    "column but the name's must be a setting.",
    examples=[
        "%jobs batch folds --type rna_fold --from frame --name-column name --map sequence=bases"
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
            [_OUT],
        ),
        Command(
            "tool",
            "Show the parameters of a tool.",
            jobs_look.tool,
            [Parameter("TOOL", kinds.TOOL, "a tool", required=True)],
            [_OUT],
            examples=["%jobs tool peptide_build"],
        ),
        SUBMIT,
        BATCH,
        Command(
            "list",
            "List jobs, the newest first; or the jobs of a batch.",
            jobs_look.list_,
            options=[
                Parameter("batch", kinds.BATCH, "the jobs of this batch, in their order"),
                Parameter("limit", kinds.WHOLE, "at most this many"),
                Parameter("start-key", kinds.text("KEY"), "go on where an earlier list ended"),
                Parameter("organization", None, "the whole organization's, where you may see them"),
                Parameter("subjobs", None, "also the jobs inside batches"),
                _EMAIL,
                Parameter("scores", None, "spread the scores into columns `score.…`"),
                *_ROWS,
                _OUT,
            ],
            details="With --batch and --from the rows that the batch was made of are joined to it.",
            examples=["scores = %jobs list --batch folds --scores"],
        ),
        Command("show", "Show one job or batch.", jobs_look.show, [_JOB], [_EMAIL, _OUT]),
        Command(
            "watch",
            "Watch a job or a batch until it ends; interrupting ends the watching only.",
            jobs_look.watch,
            [_JOB],
            [Parameter("background", None, "watch without holding the notebook up"), _EMAIL, _OUT],
        ),
        Command(
            "results",
            "Fetch the results into a folder; what is there and whole is kept.",
            jobs_files.results,
            [_JOB],
            [
                Parameter("to", kinds.PATH, "the folder; else one with the job's name"),
                Parameter("file", kinds.text("FILE"), "one file instead of all"),
                Parameter("pdbs-only", None, "only the structures"),
                _EMAIL,
                _OUT,
            ],
            examples=["%jobs results helix1 --to out/helix1"],
        ),
        Command("stop", "Stop jobs or batches.", jobs_remove.stop, [_JOBS]),
        Command(
            "delete",
            "Delete jobs or batches with their data.",
            jobs_remove.delete,
            [_JOBS],
            [_YES, _PREVIEW],
        ),
        Command(
            "upload",
            "Upload files; a setting refers to one by its bare name.",
            jobs_files.upload,
            [Parameter("PATH", kinds.PATH, "a file", required=True, many=True)],
            [Parameter("folder", kinds.FOLDER, "the folder to file it in"), _OUT],
        ),
        Command(
            "files",
            "List the uploaded files.",
            jobs_files.files,
            options=[
                Parameter("folder", kinds.FOLDER, "only this folder's"),
                Parameter("folders", None, "also the folders"),
                _OUT,
            ],
        ),
        Command(
            "rm",
            "Remove an uploaded file or a folder.",
            jobs_remove.rm,
            [Parameter("FILE", kinds.UPLOADED, "an uploaded file")],
            [Parameter("folder", kinds.FOLDER, "a folder with its files"), _YES, _PREVIEW],
        ),
        Command(
            "connect",
            "Use a job service: by its address, a profile's name, or the sandbox.",
            jobs_connect.connect,
            [
                Parameter(
                    "WHERE", kinds.PROFILE, "an address, a profile, or `sandbox`", required=True
                )
            ],
            [
                Parameter("save", kinds.text("PROFILE"), "keep the address under this name"),
                Parameter("keep", None, "keep the key in the keyring"),
                Parameter("ca-bundle", kinds.PATH, "certificates to trust, for a local service"),
            ],
            guarded=True,
            details="The key is taken from LABEXT_JOBS_API_KEY or the keyring, or asked for: on a "
            "line it has no place.",
            examples=["%jobs connect https://jobs.example.org/api/ --save work --keep"],
        ),
        Command(
            "login",
            "Check the key of the service in use, and ask for another one if it isn't accepted.",
            jobs_connect.login,
            options=[Parameter("keep", None, "keep the key in the keyring")],
            guarded=True,
        ),
        Command("status", "Show which service is in use.", jobs_connect.status, options=[_OUT]),
    ],
)
