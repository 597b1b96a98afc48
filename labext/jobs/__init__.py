"""Client for the job service: tools, jobs, batches, pipelines, results and files."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labext.jobs.batch.report import BatchSubmission
    from labext.jobs.client import JobsClient
    from labext.jobs.estimates import Estimate
    from labext.jobs.results.results import Results
    from labext.jobs.submission import Submission
    from labext.jobs.tools import Parameter, Tool, cast
    from labext.jobs.uploads import Upload

__all__ = [
    "BatchSubmission",
    "Estimate",
    "JobsClient",
    "Parameter",
    "Results",
    "Submission",
    "Tool",
    "Upload",
    "cast",
]

_MODULES = {
    "BatchSubmission": "batch.report",
    "Estimate": "estimates",
    "JobsClient": "client",
    "Parameter": "tools",
    "Results": "results.results",
    "Submission": "submission",
    "Tool": "tools",
    "Upload": "uploads",
    "cast": "tools",
}


if not TYPE_CHECKING:  # which would accept any name

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return getattr(import_module(f"labext.jobs.{_MODULES[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
