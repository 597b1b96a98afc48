"""A data folder of the version in which an account had one key and nobody counted usage."""

from __future__ import annotations

import sqlite3

import pytest
import requests

# The tables as that version made them.
OLD = """
CREATE TABLE jobs_organizations (
    id INTEGER NOT NULL, name VARCHAR(200) NOT NULL, PRIMARY KEY (id), UNIQUE (name));
CREATE TABLE jobs_accounts (
    id INTEGER NOT NULL, organization_id INTEGER NOT NULL, email VARCHAR(200) NOT NULL,
    owner BOOLEAN NOT NULL, key_hash VARCHAR(64) NOT NULL, gates JSON NOT NULL,
    storage_quota BIGINT NOT NULL, PRIMARY KEY (id),
    FOREIGN KEY(organization_id) REFERENCES jobs_organizations (id),
    UNIQUE (email), UNIQUE (key_hash));
CREATE INDEX ix_jobs_accounts_organization_id ON jobs_accounts (organization_id);
CREATE TABLE jobs_jobs (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL,
    parent_id INTEGER, name VARCHAR(100) NOT NULL, type VARCHAR(100) NOT NULL,
    tool VARCHAR(100) NOT NULL, status VARCHAR(20) NOT NULL, created VARCHAR(24) NOT NULL,
    started VARCHAR(24), completed VARCHAR(24), settings TEXT NOT NULL, score TEXT,
    weighted_hours DOUBLE, batch_status VARCHAR(20), aggregation_error TEXT, reason TEXT,
    project_tag VARCHAR(200), budget DOUBLE, bytes BIGINT NOT NULL, record TEXT NOT NULL,
    UNIQUE (account_id, name), FOREIGN KEY(account_id) REFERENCES jobs_accounts (id),
    FOREIGN KEY(parent_id) REFERENCES jobs_jobs (id));
CREATE INDEX jobs_jobs_all ON jobs_jobs (account_id, id);
CREATE INDEX jobs_jobs_tally ON jobs_jobs (account_id, parent_id, status);
CREATE INDEX jobs_jobs_top ON jobs_jobs (account_id, parent_id, id);
CREATE INDEX jobs_jobs_batch ON jobs_jobs (parent_id, status);
CREATE TABLE jobs_files (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, account_id INTEGER NOT NULL,
    folder VARCHAR(255) NOT NULL, name VARCHAR(255) NOT NULL, bytes BIGINT NOT NULL,
    created VARCHAR(24) NOT NULL, UNIQUE (account_id, folder, name),
    FOREIGN KEY(account_id) REFERENCES jobs_accounts (id));
"""
CHANGED = ("jobs_organizations", "jobs_accounts", "jobs_jobs", "jobs_files")
NEW = ("jobs_keys", "jobs_usage", "jobs_saved_pipelines", "jobs_seeded")


def make_old(path):
    """Turn a stopped sandbox's database into one of that version, with the same rows."""
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA foreign_keys = OFF")
        database.execute("PRAGMA legacy_alter_table = ON")
        last = database.execute(
            "SELECT seq FROM sqlite_sequence WHERE name = 'jobs_jobs'"
        ).fetchone()
        for table in CHANGED:
            for (index,) in database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ? "
                "AND sql IS NOT NULL",
                (table,),
            ).fetchall():
                database.execute(f"DROP INDEX {index}")
            database.execute(f"ALTER TABLE {table} RENAME TO new_{table}")
        database.executescript(OLD)
        for table in CHANGED:
            names = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            hashed = "(SELECT hash FROM jobs_keys WHERE account_id = new_jobs_accounts.id)"
            values = [hashed if name == "key_hash" else name for name in names]
            database.execute(f"INSERT INTO {table} SELECT {', '.join(values)} FROM new_{table}")
        for table in (*(f"new_{name}" for name in CHANGED), *NEW):
            database.execute(f"DROP TABLE {table}")
        database.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'jobs_jobs'", last)
    database.close()


def test_an_older_data_folder_keeps_its_jobs_files_and_keys(new_box, kit):
    box = new_box(workers=2)
    api, teacher = kit.Api(box), kit.Api(box, kit.teacher_key(box))
    assert api.upload("a.txt", b"kept").status_code == 200
    one, batch = api.submit("digest", kit.cut()), api.batch([kit.cut()] * 2)
    rows = [api.ended(one), api.ended(batch)]
    with api.archive(batch) as archive:
        packed = sorted(archive.namelist())
    gone = api.submit("digest", kit.cut())
    assert api.delete("delete-job", {"jobName": gone}).status_code == 200
    slow = api.submit("rna_fold", kit.SLOW)
    api.until(slow, lambda row: row["JobStatus"] == "Running")
    box.stop()
    make_old(box.data_dir / "sandbox.sqlite")
    with sqlite3.connect(box.data_dir / "sandbox.sqlite") as database:
        (last,) = database.execute("SELECT max(seq) FROM sqlite_sequence").fetchone()

    box.start()
    fields = ["JobName", "Type", "Created", "Completed", "Settings", "WeightedHours"]
    for row in rows:
        now = api.row(row["JobName"])
        assert {f: now[f] for f in fields} == {f: row[f] for f in fields}
    with api.archive(batch) as archive:
        assert sorted(archive.namelist()) == packed
    assert api.get("files").json() == ["a.txt"]
    head = api.post("getPresignedUploadUrl", {"filename": "a.txt"}).json()["headUrl"]
    described = requests.head(head, timeout=30).headers
    assert described["Content-Length"] == "4"
    assert "Repr-Digest" not in described, "that version did not keep a checksum"
    assert teacher.get("jobs", organization="true").status_code == 200
    assert teacher.get("usage-statistics").json()["total"] == 0
    used = api.get("usage-statistics", statistic="jobs").json()
    assert used["byTool"] == {"digest": 3, "rna_fold": 1}
    hours = api.get("usage-statistics").json()["byTool"]["digest"]
    assert hours == pytest.approx(sum(row["WeightedHours"] for row in rows), abs=1e-8)

    # What was running goes on, a number that was in use is not used again, and it stays so.
    assert api.post("stop-job", {"jobName": slow}).status_code == 200
    api.submit("digest", kit.cut())
    box.stop()
    with sqlite3.connect(box.data_dir / "sandbox.sqlite") as database:
        (newest,) = database.execute("SELECT max(id) FROM jobs_jobs").fetchone()
        assert newest == last + 1
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        made = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    assert {"jobs_jobs_all", "jobs_jobs_top", "jobs_jobs_tally", "jobs_jobs_batch"} <= made
    box.start()
    assert api.row(one)["JobStatus"] == "Complete"
