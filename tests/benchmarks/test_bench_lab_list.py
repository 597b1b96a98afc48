"""10,000 sequences (500 bases, all fields) to a typed frame, beside requests + json.loads + pandas.

At most 1.15 times its CPU time and no more memory are the aims. CPU: the two take turns in one
process, and the medians count. Memory: the highest that a process of its own ever had, from its
start on. The server is another process, the same for both, and speaks HTTPS.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import requests
import trustme

from labext import LabClient
from labext.lab import ApiKey

ROWS = 10_000
KEY = "sk_benchmark"

SERVER = """
import http.server, json, random, ssl, sys
from urllib.parse import parse_qs, urlsplit

random.seed(7)
ROWS, PAGE = int(sys.argv[1]), 100

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

pages = []
for start in range(0, ROWS, PAGE):
    rows = [record(number) for number in range(start, min(start + PAGE, ROWS))]
    token = str(start + PAGE) if start + PAGE < ROWS else ""
    pages.append(json.dumps({"dnaSequences": rows, "nextToken": token}).encode())

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self):
        asked = parse_qs(urlsplit(self.path).query)
        page = pages[int(asked.get("nextToken", ["0"])[0]) // PAGE]
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[2])
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
"""

PEAK = """
import sys
def highest():
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024
    except OSError:
        import resource
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
how, url, ca, key = sys.argv[1:]
if how == "bare":
    import json
    import pandas as pd
    import requests
    rows, token = [], ""
    with requests.Session() as session:
        session.auth = key, ""
        while True:
            answer = session.get(url + "api/v2/dna-sequences",
                                 params={"pageSize": 100, "nextToken": token or None},
                                 timeout=60, verify=ca)
            answer.raise_for_status()
            page = json.loads(answer.content)
            rows += page["dnaSequences"]
            token = page["nextToken"]
            if not token:
                break
    table = pd.DataFrame(rows)
else:
    from labext import LabClient
    from labext.lab import ApiKey
    with LabClient(url, ApiKey(key), rate=None, verify=ca) as lab:
        table = lab.sequences()
print(len(table), highest())
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


def cpu(act: Callable[[], pd.DataFrame], rows: int) -> float:
    began = time.process_time()
    table = act()
    took = time.process_time() - began
    assert len(table) == rows
    return took


def peak(how: str, url: str, ca: Path, rows: int) -> float:
    done = subprocess.run(
        [sys.executable, "-c", PEAK, how, url, str(ca), KEY],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    count, size = map(int, done.stdout.split())
    assert count == rows
    return size / 2**20


def test_sequences_to_a_frame(
    benchmark: Any,
    figure: Callable[[str, str], None],
    serving: Callable[..., str],
    tmp_path: Path,
) -> None:
    rows = ROWS if benchmark.enabled else 200
    issuer, ca, certificate = trustme.CA(), tmp_path / "ca.pem", tmp_path / "certificate.pem"
    issuer.cert_pem.write_to_path(str(ca))
    issuer.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(certificate))
    url = serving(SERVER, str(rows), certificate).replace("http:", "https:")
    ours: list[float] = []
    bare: list[float] = []
    memory: dict[str, list[float]] = {"bare": [], "ours": []}
    with LabClient(url, ApiKey(KEY), rate=None, verify=str(ca)) as lab:

        def take_turns() -> None:
            bare.append(cpu(lambda: plain(url, ca), rows))
            ours.append(cpu(lab.sequences, rows))

        table = lab.sequences()  # both are warm
        plain(url, ca)
        benchmark.pedantic(take_turns, rounds=20 if benchmark.enabled else 1, iterations=1)
    assert str(table.createdAt.dtype) == "datetime64[us, UTC]"
    assert table.annotations[0][1]["name"] == "pBAD"
    assert table.fields[0]["Volume"]["value"] == 12.5
    for _ in range(5 if benchmark.enabled else 1):
        for how, found in memory.items():
            found.append(peak(how, url, ca, rows))
    ratio = statistics.median(ours) / statistics.median(bare)
    most = {how: statistics.median(found) for how, found in memory.items()}
    benchmark.extra_info |= {"cpu_ratio": ratio, "memory_mib": most}
    figure(
        f"{rows:,} sequences to a typed frame",
        f"{ratio:.2f} times the CPU of requests + json.loads + DataFrame, of 1.15 "
        f"({statistics.median(ours) * 1000:.0f} ms to {statistics.median(bare) * 1000:.0f} ms); "
        f"peak memory {most['ours']:.0f} MiB to {most['bare']:.0f} MiB",
    )
