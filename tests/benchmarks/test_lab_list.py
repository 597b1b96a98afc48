"""10,000 sequences to a typed DataFrame, compared with plain requests + json.loads + DataFrame.

The goal is at most the CPU time and the memory of the plain version, on two data sets: generated
records without any escape in their JSON, and the records that the local platform serves, whose
annotations contain escapes. CPU time: both versions run in pairs in one process, in alternating
order; the result is the median ratio of a pair. Memory: the peak increase in a separate process.
The server is a separate process, the same for both versions, and speaks HTTPS.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from inspect import getsource
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import requests
from transfer_benchmarks import run_client

from labext import LabClient
from labext.lab import ApiKey
from labext.sandbox import Sandbox

pytestmark = pytest.mark.benchmark

ROWS = 10_000
KEY = "sk_benchmark"

PAGE = 100

RECORDS = """
import json, random, sys
from pathlib import Path

random.seed(7)
ROWS, PAGE, FOLDER = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])

def mark(start, end, name, kind):
    return {"name": name, "type": kind, "start": start, "end": end, "strand": 1, "color": "#F58A5E",
            "notes": "", "customFields": [{"name": "gene", "value": name}]}

def record(number):
    day, minute = 1 + number % 28, number % 60
    name = f"fragment-{number:05d}"
    return {
        "aliases": [f"f{number}"],
        "annotations": [mark(20, 180, "araC", "CDS"), mark(200, 240, "pBAD", "promoter")],
        "apiURL": f"https://localhost/api/v2/dna-sequences/seq_{number:08d}",
        "archiveRecord": None,
        "authors": [{"handle": "student", "id": "ent_a", "name": "Sam Student"}],
        "bases": "".join(random.choices("ACGT", k=500)),
        "createdAt": f"2026-11-{day:02d}T13:{minute:02d}:23.761000+00:00",
        "creator": {"handle": "student", "id": "ent_a", "name": "Sam Student"},
        "customFields": {"freezer": {"value": f"-80 shelf {number % 7}"}},
        "dnaAlignmentIds": [],
        "entityRegistryId": None,
        "fields": {"Volume": {"displayValue": "12.5", "isMulti": False, "textValue": "12.5",
                              "type": "float", "unit": None, "value": 12.5}},
        "folderId": "lib_plasmids",
        "id": f"seq_{number:08d}",
        "isCircular": number % 3 == 0,
        "length": 500,
        "modifiedAt": f"2026-11-{day:02d}T14:{minute:02d}:23.761000+00:00",
        "name": name,
        "parts": [], "primers": [],
        "registrationOrigin": None, "registryId": None,
        "schema": {"id": "ts_plasmid", "name": "Plasmid"},
        "transcriptions": [],
        "translations": [{"start": 20, "end": 80, "strand": 1, "aminoAcids": "MNFTKDLLNSPYSNVLAESK",
                          "regions": [{"start": 20, "end": 80}]}],
        "url": f"/campus/f/lib_plasmids/seq_{number:08d}-{name}/edit",
        "webURL": f"https://localhost/campus/f/lib_plasmids/seq_{number:08d}-{name}/edit",
    }

for start in range(0, ROWS, PAGE):
    rows = [record(number) for number in range(start, min(start + PAGE, ROWS))]
    token = str(start + PAGE) if start + PAGE < ROWS else ""
    page = json.dumps({"dnaSequences": rows, "nextToken": token}).encode()
    (FOLDER / f"{start}.json").write_bytes(page)
"""

SERVER = """
PAGES = {path.stem: path.read_bytes() for path in Path(sys.argv[1]).iterdir()}

class Pages(Handler):
    wbufsize = -1

    def do_GET(self):
        self.answer(PAGES[parse_qs(urlsplit(self.path).query).get("nextToken", ["0"])[0]])

serve(Pages, sys.argv[2])
"""


def plain(url: str, ca: Path) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    token: str | None = None
    with requests.Session() as session:
        session.auth = KEY, ""
        while token != "":
            answer = session.get(
                f"{url}api/v2/dna-sequences",
                params={"pageSize": 100, "nextToken": token},
                timeout=60,
                verify=str(ca),
            )
            answer.raise_for_status()
            page = json.loads(answer.content)
            rows += page["dnaSequences"]
            token = page["nextToken"]
    return pd.DataFrame(rows)


PEAK = f"""
import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import requests
from labext import LabClient
from labext.lab import ApiKey

KEY = {KEY!r}

{getsource(plain)}

how, url, ca = sys.argv[1:]
with PeakMemory() as memory:
    if how == "plain":
        table = plain(url, Path(ca))
    else:
        with LabClient(url, ApiKey(KEY), rate=None, verify=ca) as lab:
            table = lab.sequences()
print(json.dumps({{"rows": len(table), "memory": memory.bytes}}))
"""


def generate_pages(folder: Path, rows: int) -> None:
    """Write pages of generated records, one file each, named by the token that requests it."""
    command = [sys.executable, "-c", RECORDS, str(rows), str(PAGE), str(folder)]
    subprocess.run(command, check=True, timeout=120)


def sandbox_pages(folder: Path, rows: int) -> None:
    """Write the pages that the local platform serves, one file each, named by the token."""
    service = ["labext.sandbox.lab.app:service"]
    session = requests.Session()
    session.trust_env = False  # REQUESTS_CA_BUNDLE takes precedence over `verify`
    with Sandbox(folder.parent / "box", rate="off", sequences=rows + 200, services=service) as box:
        session.auth, session.verify = (box.lab.api_key, ""), box.lab.ca_bundle
        token, start = "", 0
        while start < rows:
            response = session.get(
                f"{box.lab.base_url}/api/v2/dna-sequences",
                params={"pageSize": PAGE, "nextToken": token},
                timeout=60,
            )
            response.raise_for_status()
            token = response.json()["nextToken"]
            name, start = f"{start}.json", start + PAGE
            following = str(start) if start < rows else ""
            page = response.content.replace(token.encode(), following.encode())
            (folder / name).write_bytes(page)


DATA = {"generated": generate_pages, "the sandbox's own": sandbox_pages}


def cpu(act: Callable[[], pd.DataFrame], rows: int) -> float:
    started_at = time.process_time()
    table = act()
    seconds_taken = time.process_time() - started_at
    assert len(table) == rows
    return seconds_taken


def peak(how: str, url: str, ca: Path, rows: int) -> float:
    """Return the MiB of additional memory at the peak in a new process."""
    result = run_client(PEAK, how, url, ca)
    assert result["rows"] == rows
    return float(result["memory"]) / 2**20


@pytest.mark.parametrize("data", DATA)
def test_sequences_to_a_frame(
    benchmark: Any,
    figure: Callable[[str, str], None],
    serving: Callable[..., str],
    certificate: tuple[Path, Path],
    tmp_path: Path,
    data: str,
) -> None:
    rows = ROWS if benchmark.enabled else 200
    path, ca = certificate
    pages = tmp_path / "pages"
    pages.mkdir()
    DATA[data](pages, rows)
    url = serving(SERVER, pages, path).replace("http:", "https:")
    times: dict[str, list[float]] = {"plain": [], "labext": []}
    memory: dict[str, list[float]] = {"plain": [], "labext": []}
    with LabClient(url, ApiKey(KEY), rate=None, verify=str(ca)) as lab:
        versions = {"plain": lambda: plain(url, ca), "labext": lab.sequences}

        def run_pair() -> None:
            order = list(versions) if len(times["plain"]) % 2 else list(versions)[::-1]
            for version in order:
                times[version].append(cpu(versions[version], rows))

        table = lab.sequences()  # warm up both
        reference = plain(url, ca)
        benchmark.pedantic(run_pair, rounds=20 if benchmark.enabled else 1, iterations=1)
    assert str(table.createdAt.dtype) == "datetime64[us, UTC]"
    assert list(table.annotations) == list(reference.annotations)
    assert list(table.fields) == list(reference.fields)
    for _ in range(5 if benchmark.enabled else 1):
        for version, match in memory.items():
            match.append(peak(version, url, ca, rows))
    ratio = statistics.median(
        ours / bare for ours, bare in zip(times["labext"], times["plain"], strict=True)
    )
    median = {version: statistics.median(seconds) * 1000 for version, seconds in times.items()}
    most = {version: statistics.median(match) for version, match in memory.items()}
    benchmark.extra_info |= {"cpu_ratio": ratio, "memory_mib": most}
    figure(
        f"{rows:,} sequences to a typed frame, {data} data",
        f"{ratio:.2f} times the CPU of requests + json.loads + DataFrame (goal: at most 1.0; "
        f"{median['labext']:.0f} ms to {median['plain']:.0f} ms); "
        f"peak memory {most['labext']:.0f} MiB to {most['plain']:.0f} MiB",
    )
