"""5,000 jobs submitted in 50 requests within the allowance, by the client and by the magic.

Each runs in a separate process with an empty journal, the default rate limit, and a service with
its flood limit whose two workers run the jobs meanwhile. Requests and bytes are counted when they
are sent; the memory is the peak of the process minus its memory after creating the frame.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from stored_jobs import JOBS
from transfer_benchmarks import run_client

from labext.sandbox import Sandbox

pytestmark = pytest.mark.benchmark

CLIENT = """
import json, sys, time
from collections import Counter

import pandas as pd
import requests

how, jobs = sys.argv[1], int(sys.argv[2])
frame = pd.DataFrame({
    "name": [f"plasmid{n}" for n in range(jobs)],
    "bases": ["GAATTC" + "A" * (n % 90) + "AAGCTT" for n in range(jobs)],
})
calls, statuses, sent, received = Counter(), Counter(), 0, 0
send = requests.Session.send

def counted(session, request, **options):
    global sent, received
    answer = send(session, request, **options)
    calls[request.method + " " + request.url.split("?")[0].split("/api/")[1]] += 1
    statuses[answer.status_code] += 1
    sent += len(request.body or b"")
    received += int(answer.headers.get("Content-Length", 0))
    return answer

requests.Session.send = counted
if how == "JobsClient":
    import labext
    jobs_client = labext.connect("jobs")
    def submit():
        jobs_client.submit_batch(
            "big", "digest", frame, {"enzymes": ["EcoRI", "HindIII"]}, "name", {"sequence": "bases"}
        )
else:
    from IPython.core.interactiveshell import InteractiveShell
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "labext")
    shell.user_ns["frame"] = frame
    line = (
        "batch big --type digest --from frame --name-column name --map sequence=bases "
        "--set enzymes=EcoRI,HindIII"
    )
    def submit():
        shell.run_line_magic("jobs", line)

with PeakMemory() as memory:
    cpu, began = time.process_time(), time.perf_counter()
    submit()
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
print(json.dumps({
    "seconds": seconds, "cpu": cpu, "memory": memory.bytes / 2**20, "calls": calls,
    "statuses": statuses, "sent": sent, "received": received,
}))
"""


def submit(how: str, jobs: int, box: Sandbox) -> dict[str, Any]:
    connection = {"BASE_URL": box.jobs.base_url, "API_KEY": box.jobs.api_key}
    environment = {f"LABEXT_JOBS_{name}": str(value) for name, value in connection.items()}
    return run_client(CLIENT, how, jobs, environment=environment)


@pytest.mark.parametrize("how", ["JobsClient", "%jobs batch"])
def test_thousands_of_jobs(
    benchmark: Any, figure: Callable[[str, str], None], new_box: Callable[..., Sandbox], how: str
) -> None:
    jobs = 5000 if benchmark.enabled else 110
    box = new_box(rate="named", workers=2, services=JOBS)
    result = benchmark.pedantic(submit, (how, jobs, box), rounds=1, iterations=1)
    requests = result["calls"]
    assert requests["POST submit-batch"] == -(-jobs // 100)
    assert set(result["statuses"]) <= {"200", "404"}
    benchmark.extra_info |= result
    others = sum(requests.values()) - requests["POST submit-batch"]
    figure(
        f"{jobs:,} jobs by {how}",
        f"{requests['POST submit-batch']} submit requests, {others} others, none refused, "
        f"in {result['seconds']:.1f} s ({result['cpu']:.1f} s of the client's CPU); "
        f"{result['sent'] / 1000:,.0f} kB sent, {result['received'] / 1000:,.0f} kB received; "
        f"{result['memory']:.0f} MiB more memory",
    )
