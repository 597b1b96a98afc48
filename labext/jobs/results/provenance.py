"""Describe downloaded results as an RO-Crate."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from labext.jobs import records
from labext.jobs.identity import canonical_json, stored_settings
from labext.jobs.results.manifest import Manifest, files_by_job
from labext.progress import Outcome
from labext.redaction import mask
from labext.storage import write_atomic

CRATE_FILE_NAMES = ("ro-crate-metadata.json", "labext-ro-crate-metadata.json")
"""File names of the crate metadata; the second is used if labext did not write the first."""

PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
_SPEC = "https://w3id.org/ro/crate/1.1"
_CONTEXT = [f"{_SPEC}/context", {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"}]
_LICENCE = "No licence has been chosen for these results; their owner may add one here."
_STATUS = {
    True: "http://schema.org/CompletedActionStatus",
    False: "http://schema.org/FailedActionStatus",
}
_FORMATS = {
    ".csv": "text/csv",
    ".fasta": "text/x-fasta",
    ".json": "application/json",
    ".log": "text/plain",
    ".pdb": "chemical/x-pdb",
    ".sdf": "chemical/x-mdl-sdfile",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".zip": "application/zip",
}

Entity = dict[str, Any]


def write_crate(folder: Path) -> Path | None:
    """Write the crate metadata of a results folder, if missing or outdated; return its path.

    None if the folder has no manifest, or both file names are taken.
    """
    on_disk = [Manifest.read(path) for path in sorted(folder.glob("*.manifest.json"))]
    manifests = [manifest for manifest in on_disk if manifest is not None]
    result_paths = {file.path for manifest in manifests for file in manifest.files}
    for name in CRATE_FILE_NAMES if manifests else ():
        path = folder / name
        if name in result_paths or not _is_writable(path):
            continue
        content = render_crate(manifests, name)
        if not path.exists() or path.read_bytes() != content:
            write_atomic(path, content)
        return path
    return None


def render_crate(manifests: Sequence[Manifest], name: str = CRATE_FILE_NAMES[0]) -> bytes:
    """Return the crate metadata of manifests as JSON-LD, for a file with this name."""
    crate = _Crate()
    for manifest in manifests:
        crate.add(manifest)
    head = {
        "@id": name,
        "@type": "CreativeWork",
        "about": {"@id": "./"},
        "conformsTo": {"@id": _SPEC},
    }
    graph = [head, *map(_compact, (crate.root(manifests), *crate.entities.values()))]
    head["identifier"] = _graph_digest(graph)
    entities = ",\n".join(map(json.dumps, graph))
    return f'{{"@context": {json.dumps(_CONTEXT)},\n"@graph": [\n{entities}\n]}}\n'.encode()


class _Crate:
    """The entities of a crate by id, in the order of their first use."""

    def __init__(self) -> None:
        self.entities: dict[str, Entity] = {}
        self._files: dict[str, None] = {}
        self._actions: dict[str, None] = {}

    def root(self, manifests: Sequence[Manifest]) -> Entity:
        """Return the root entity, which describes the folder."""
        subjects = ", ".join(
            dict.fromkeys(str(manifest.job.get("JobName")) for manifest in manifests)
        )
        services = ", ".join(dict.fromkeys(mask(manifest.service) for manifest in manifests))
        return {
            "@id": "./",
            "@type": "Dataset",
            "name": f"Results of {subjects}",
            "description": f"Results of {subjects} from the job service at {services}.",
            "datePublished": max(manifest.origin.fetched for manifest in manifests),
            "license": _LICENCE,
            "conformsTo": {"@id": PROFILE},
            "hasPart": _id_references(self._files),
            "mentions": _id_references(self._actions),
        }

    def add(self, manifest: Manifest) -> None:
        """Add the contents of one manifest."""
        self._add_entity(PROFILE, "CreativeWork", name="Process Run Crate", version="0.5")
        service = self._add_entity(
            mask(manifest.service),
            "SoftwareApplication",
            name="Job service",
            url=mask(manifest.service),
        )
        tools = {str(tool.get("name")): tool for tool in manifest.origin.tools}
        subject = str(manifest.job.get("JobName"))
        jobs = {str(job.get("JobName")): job for job in manifest.origin.jobs}
        files = {
            file.path: self._file(file.path, file.size, file.sha256) for file in manifest.files
        }
        files_of_jobs = files_by_job(files, jobs, subject)
        for name, job in jobs.items():
            tool = self._tool(str(job.get("Type")), tools)
            self._add_run(name, job, tool, service, [files[path] for path in files_of_jobs[name]])
            self._add_outputs_used(name, job, files_of_jobs, files)
        for uploaded_file in manifest.origin.inputs:
            self._add_upload(uploaded_file)
        shared = files.keys() - {path for paths in files_of_jobs.values() for path in paths}
        if manifest.archive is not None:
            archive = manifest.archive
            files[archive.path] = self._file(archive.path, archive.size, archive.sha256)
        if subject not in jobs:
            results = [files[path] for path in files if path in shared]
            self._add_run(subject, manifest.job, service, service, results)
        self._add_download(subject, manifest, service, list(files.values()))

    def _add_run(
        self,
        name: str,
        job: Mapping[str, Any],
        instrument: str,
        service: str,
        results: Sequence[str],
    ) -> None:
        """Add the run of a job, with its tool, settings and results."""
        action = _action_id(name)
        outcome = records.outcome(job)
        reason = "" if outcome is Outcome.COMPLETE else records.reason(job)
        run = self._entity(
            action,
            "CreateAction",
            name=name,
            description=f"{job.get('Type')} on the job service",
            instrument={"@id": instrument},
            provider={"@id": service},
            dateCreated=job.get("Created"),
            startTime=job.get("Started"),
            endTime=job.get("Completed"),
            actionStatus=None if outcome is None else _STATUS[outcome is Outcome.COMPLETE],
            error=mask(reason),
            object=_id_references(self._settings(action, job)),
        )
        # Another manifest of the same job, such as that of its structures, may have added results.
        run["result"] = _id_references(
            dict.fromkeys([*(file["@id"] for file in run.get("result", ())), *results])
        )
        self._actions[action] = None

    def _add_outputs_used(
        self,
        name: str,
        job: Mapping[str, Any],
        outputs: Mapping[str, Sequence[str]],
        files: Mapping[str, str],
    ) -> None:
        """Add outputs of other jobs in the folder that settings name (`<Job>/path`) as inputs."""
        run = self.entities[_action_id(name)]
        for value in (stored_settings(job) or {}).values():
            source, _, path = value.partition("/") if isinstance(value, str) else ("", "", "")
            inputs = [
                files[file]
                for file in outputs.get(source, ())
                if path and (file == path or file.endswith(f"/{path}"))
            ]
            if len(inputs) == 1:
                run["object"] = [*run.get("object", ()), {"@id": inputs[0]}]

    def _add_download(
        self, subject: str, manifest: Manifest, service: str, files: Sequence[str]
    ) -> None:
        by = manifest.origin.by
        client = self._add_entity(
            f"#labext-{quote(by.get('labext', ''))}-python-{quote(by.get('python', ''))}",
            "SoftwareApplication",
            name="labext",
            softwareVersion=by.get("labext"),
            runtimePlatform=f"Python {by.get('python')}",
        )
        content = "structures" if manifest.selection.get("pdbsOnly") else "results"
        action = self._add_entity(
            f"#fetch-{quote(subject, safe='')}-{content}",
            "DownloadAction",
            name=f"The {content} of {subject} were fetched",
            instrument={"@id": client},
            provider={"@id": service},
            endTime=manifest.origin.fetched,
            object=_id_references(files),
        )
        self._actions[action] = None

    def _add_upload(self, record: Mapping[str, Any]) -> None:
        """Add an uploaded input file, which is not in the folder."""
        name, sha256 = str(record.get("name")), str(record.get("sha256"))
        file = self._add_entity(
            f"#upload-{quote(name, safe='')}-{sha256[:12]}",
            "CreativeWork",
            name=name,
            contentSize=str(record.get("size")),
            sha256=sha256,
            dateModified=record.get("at"),
        )
        for job in record.get("jobs", ()):
            run = self.entities.get(_action_id(str(job)), {})
            run["object"] = [*run.get("object", ()), {"@id": file}]

    def _settings(self, action: str, job: Mapping[str, Any]) -> Iterator[str]:
        for name, value in (stored_settings(job) or {}).items():
            yield self._add_entity(
                f"{action}/{quote(name, safe='')}",
                "PropertyValue",
                name=name,
                value=value
                if isinstance(value, str | int | float | bool)
                else canonical_json(value),
            )

    def _tool(self, name: str, tools: Mapping[str, Mapping[str, Any]]) -> str:
        record = tools.get(name, {})
        return self._add_entity(
            f"#tool-{quote(name, safe='')}",
            "SoftwareApplication",
            name=name,
            alternateName=_text_field(record, "displayName"),
            description=_text_field(record, "description"),
            url=_url_field(record, "github"),
            softwareVersion=_text_field(record, "version"),
            citation=_url_field(record, "paper"),
        )

    def _file(self, path: str, size: int, sha256: str) -> str:
        file = quote(path)
        self._files[file] = None
        return self._add_entity(
            file,
            "File",
            name=path,
            contentSize=str(size),
            sha256=sha256,
            encodingFormat=_FORMATS.get(PurePosixPath(path).suffix.lower()),
        )

    def _add_entity(self, id: str, type: str, /, **fields: Any) -> str:
        """Add an entity with its non-empty fields; return its id."""
        self._entity(id, type, **fields)
        return id

    def _entity(self, id: str, type: str, /, **fields: Any) -> Entity:
        entity = self.entities.setdefault(id, {"@id": id, "@type": type})
        entity |= {key: value for key, value in fields.items() if value not in (None, "", [])}
        return entity


def _is_writable(path: Path) -> bool:
    """Return whether the file does not exist, or was written by labext and not changed since."""
    try:
        graph = json.loads(path.read_bytes())["@graph"]
        unchanged: bool = graph[0].pop("identifier") == _graph_digest(graph)
    except FileNotFoundError:
        return not path.is_symlink()
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        return False
    return unchanged


def _graph_digest(graph: Sequence[Entity]) -> str:
    """Return a digest for detecting changes to metadata written by labext."""
    text = json.dumps(graph, sort_keys=True, ensure_ascii=True)
    return f"labext:{hashlib.sha256(text.encode()).hexdigest()}"


def _compact(entity: Entity) -> Entity:
    """Return an entity as compacted JSON-LD, without empty lists and lists of one value."""
    return {
        key: value[0] if isinstance(value, list) and len(value) == 1 else value
        for key, value in entity.items()
        if value != []
    }


def _action_id(job: str) -> str:
    return f"#job-{quote(job, safe='')}"


def _id_references(entities: Iterable[str]) -> list[Entity]:
    return [{"@id": entity_id} for entity_id in entities]


def _text_field(record: Mapping[str, Any], key: str) -> str | None:
    value = record.get(key)
    return mask(value) if isinstance(value, str) else None


def _url_field(record: Mapping[str, Any], key: str) -> str | None:
    """Return a field if it is an HTTP or HTTPS URL; None otherwise."""
    value = _text_field(record, key)
    return value if value and value.lower().startswith(("https://", "http://")) else None
