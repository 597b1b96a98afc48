"""Logs and files of jobs of the sandbox."""

from __future__ import annotations

import pandas as pd
import pytest

from labext.errors import InputError, NotFoundError, NotReadyError
from labext.jobs import JobsClient

pytestmark = pytest.mark.contract

SLOW = {"sequence": "GACUAGCUAGGCAUUAGCGAUCGGAUCUUAGGCAUCGAUUAGC" * 23}
"""Several seconds of rna_fold."""


def test_log_and_files_of_a_running_and_a_stopped_job(box_client: JobsClient) -> None:
    box_client.submit("logged-slow", "rna_fold", SLOW)
    follow = box_client.follow_log("logged-slow")
    first = next(text for text in follow if text)
    assert first.startswith("rna_fold with ")
    with pytest.raises(NotReadyError):
        box_client.read_output("logged-slow", "log.txt")
    box_client.stop("logged-slow")
    assert first + "".join(follow) == box_client.log("logged-slow")
    files = box_client.outputs("logged-slow").set_index("file")
    assert files["view"]["log.txt"] == "text"
    assert files["modified"]["log.txt"] <= pd.Timestamp.now("UTC")
    assert box_client.read_output("logged-slow", "log.txt").decode() == first
    with pytest.raises(NotFoundError, match="nope"):
        box_client.read_output("logged-slow", "nope")


def test_batch_is_refused_and_its_jobs_have_logs(box_client: JobsClient) -> None:
    jobs = {"a": {"sequence": "GAATTC", "enzymes": "EcoRI"}}
    box_client.submit_batch("logged-cuts", "digest", jobs)
    box_client.wait("logged-cuts", 60)
    with pytest.raises(InputError, match="logged-cuts is a batch"):
        box_client.log("logged-cuts")
    assert box_client.log("logged-cuts-a").startswith("digest with ")
    assert "metrics.csv" in set(box_client.outputs("logged-cuts")["file"])
    assert b"," in box_client.read_output("logged-cuts", "metrics.csv")


def test_unknown_job_is_not_found_with_a_close_match(box_client: JobsClient) -> None:
    box_client.submit("logged-known", "digest", {"sequence": "GAATTC", "enzymes": "EcoRI"})
    with pytest.raises(NotFoundError, match="logged-known"):
        box_client.log("logged-knwn")
