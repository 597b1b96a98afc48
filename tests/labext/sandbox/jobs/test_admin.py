"""What an administrator changes holds at once, for a service that runs and over a restart."""

from __future__ import annotations

import json
from contextlib import contextmanager

import psutil
import pytest

from labext import cli
from labext.sandbox.core.database import Database
from labext.sandbox.jobs.tables import Usage

pytestmark = pytest.mark.contract

STUDENT, TEACHER = "student@sandbox.local", "teacher@sandbox.local"


@pytest.fixture(scope="module")
def service(box):
    return box


@pytest.fixture
def admin(capsys):
    """Run `labext sandbox jobs …` on a sandbox: what it printed as JSON."""

    def run(service, *words, refused=False):
        capsys.readouterr()
        where = ["--data-dir", str(service.data_dir), "--json"]
        code = cli.main(["sandbox", "jobs", *map(str, words), *where])
        told = capsys.readouterr()
        if refused:
            assert (code, told.out) == (1, "")
            assert told.err.startswith("labext: ")
            assert told.err.count("\n") == 1
            return told.err
        assert code == 0, told.err
        return json.loads(told.out)

    return run


@pytest.fixture
def person(admin, kit, service):
    """Make an account with a key; removed at the end."""
    made = []

    def make(organization="sandbox", *more):
        email = f"{kit.name()}@course.example"
        admin(service, "accounts", "add", email, "--organization", organization, *more)
        made.append(email)
        key = admin(service, "keys", "add", email)["key"]
        return email, kit.Api(service, key)

    yield make
    there = {account["email"] for account in admin(service, "accounts", "list")}
    for email in there.intersection(made):
        admin(service, "accounts", "remove", email, "--yes")


@pytest.fixture
def organization(admin, kit, service):
    name = kit.name()
    admin(service, "organizations", "add", name)
    yield name
    admin(service, "organizations", "remove", name, "--yes")


@contextmanager
def used_up(service, email, hours):
    """Let an account have used so many hours, as if a long job had."""
    from labext.sandbox.jobs.administration import find_account

    database = Database.at(service.data_dir / "sandbox.sqlite")
    try:
        with database.write() as session:
            number = find_account(session, email).id
            session.add(Usage(account_id=number, tool="rna_fold", jobs=1, weighted_hours=hours))
        yield
    finally:
        database.close()


def test_a_key_opens_the_service_at_once_and_a_removed_one_no_more(admin, kit, service, person):
    email, api = person()
    assert api.get("files").status_code == 200
    second = admin(service, "keys", "add", email, "--name", "laptop")
    assert set(second) == {"account", "name", "key"}
    other = kit.Api(service, second["key"])
    assert api.upload("a.txt", b"x").status_code == 200
    assert other.get("files").json() == ["a.txt"], "both keys are the same account's"
    assert "already" in admin(service, "keys", "add", email, "--name", "laptop", refused=True)
    assert "--yes" in admin(service, "keys", "remove", email, "laptop", refused=True)
    admin(service, "keys", "remove", email, "laptop", "--yes")
    kit.sentence(other.get("files"), 401)
    assert api.get("files").status_code == 200
    names = [key["name"] for key in admin(service, "keys", "list", email)]
    assert names == ["key1"]
    written = b"".join(file.read_bytes() for file in service.data_dir.glob("sandbox.sqlite*"))
    assert second["key"].encode() not in written


def test_an_account_over_its_budget_submits_nothing_more(admin, kit, service, person):
    email, api = person()
    job = {"type": "digest", "settings": kit.cut()}
    batch = {"type": "digest", "jobNames": ["a"], "settings": [kit.cut()]}
    admin(service, "budgets", "set", 1.5, "--account", email)
    api.submit("digest", kit.cut())
    with used_up(service, email, 1.5):
        for path, body in (
            ("submit-job", {"jobName": kit.name(), **job}),
            ("submit-batch", {"batchName": kit.name(), **batch}),
        ):
            words = kit.sentence(api.post(path, body), 403)
            assert email in words
            assert "1.5" in words
        told = api.post("validate-job", {"jobName": kit.name(), **job}).json()
        assert told["valid"] is False
        assert email in told["error"]
    admin(service, "budgets", "set", 2, "--account", email)
    api.submit("digest", kit.cut())
    admin(service, "budgets", "add", 0, "--account", email)
    assert api.post("submit-job", {"jobName": kit.name(), **job}).status_code == 403
    admin(service, "budgets", "remove", "--account", email)
    api.submit("digest", kit.cut())
    listed = {b["name"]: b for b in admin(service, "budgets", "list")}
    assert listed[email]["budget"] is None
    assert listed[email]["used"] >= 1.5


def test_an_organization_over_its_budget_stops_all_of_it(
    admin, kit, service, person, organization, api
):
    (one, first), (_two, second) = person(organization), person(organization)
    admin(service, "budgets", "set", 0.25, "--organization", organization)
    job = {"type": "digest", "settings": kit.cut()}
    second.submit("digest", kit.cut())
    with used_up(service, one, 0.5):
        for who in (first, second):
            words = kit.sentence(who.post("submit-job", {"jobName": kit.name(), **job}), 403)
            assert organization in words
    api.submit("digest", kit.cut())  # another organization's


def test_an_archive_over_the_quota_fails_the_aggregation(admin, kit, service, person):
    email, api = person()
    admin(service, "quotas", "set", email, "100")
    name = api.batch([kit.cut()] * 2)
    row = api.ended(name)
    assert row["batchStatus"] == "AggregationFailed"
    assert "storage" in row["AggregationError"]
    admin(service, "quotas", "remove", email)
    quota = {q["account"]: q for q in admin(service, "quotas", "list")}[email]
    assert quota["quota"] == 10 << 30
    assert api.ended(api.batch([kit.cut()]))["batchStatus"] == "Complete"
    assert {q["account"]: q for q in admin(service, "quotas", "list")}[email]["used"] > 0


def test_owners_see_their_own_organization_and_nobody_else_does(
    admin, kit, service, person, organization
):
    (member, student), (_email, owner) = person(organization), person(organization, "--owner")
    _other, stranger = person("sandbox", "--owner")
    name = student.submit("digest", kit.cut())
    asked = [
        ("jobs", {"organization": "true"}),
        ("jobs", {"jobEmail": member}),
        ("usage-statistics", {"scope": "organization"}),
    ]
    for path, query in asked:
        assert owner.get(path, **query).status_code == 200
    assert [row["JobName"] for row in owner.rows(organization="true")] == [name]
    usage = owner.get("usage-statistics", scope="organization", statistic="jobs").json()
    assert usage["byUser"][member] == 1
    assert stranger.get("jobs", jobEmail=member).status_code == 404
    assert name not in [row["JobName"] for row in stranger.rows(organization="true")]
    colleague, third = person(organization)
    for path, query in asked:
        kit.sentence(third.get(path, **query), 403)
    admin(service, "accounts", "set", colleague, "--owner", "yes")
    assert third.get("jobs", organization="true").status_code == 200
    admin(service, "accounts", "set", colleague, "--owner", "no")
    kit.sentence(third.get("jobs", organization="true"), 403)


def test_a_gate_shows_and_hides_its_parameters(admin, kit, service, person):
    email, api = person()

    def springs():
        tools = {tool["name"]: tool for tool in api.get("tools").json()}
        return "springs" in [p["name"] for p in tools["normal_modes"]["settings"]]

    assert not springs()
    assert "advanced" in admin(service, "gates", "add", email, "advancd", refused=True)
    admin(service, "gates", "add", email, "advanced")
    assert springs()
    assert email in admin(service, "gates", "list")[0]["accounts"]
    admin(service, "gates", "remove", email, "advanced")
    assert not springs()


def test_a_flood_is_refused_by_a_limit_that_is_changed_while_it_runs(admin, kit, new_box):
    named = new_box(rate="named", workers=1)
    api = kit.Api(named)
    admin(named, "limits", "set", "flood_requests", 5)
    answers = [api.get("files").status_code for _ in range(7)]
    assert answers == [200] * 5 + [429] * 2
    admin(named, "limits", "remove", "flood_requests")
    assert api.get("files").status_code == 200


def test_a_limit_of_bytes_is_lived_up_to_at_once(admin, kit, service, person):
    _email, api = person()
    before = next(x for x in admin(service, "limits", "list") if x["name"] == "upload_bytes")
    try:
        admin(service, "limits", "set", "upload_bytes", "1KiB")
        kit.sentence(api.upload("big.bin", b"x" * 1025))
        assert api.upload("fits.bin", b"x" * 1024).status_code == 200
    finally:
        admin(service, "limits", "remove", "upload_bytes")
    after = next(x for x in admin(service, "limits", "list") if x["name"] == "upload_bytes")
    assert after == before


def test_an_account_goes_with_its_jobs_its_processes_and_its_bytes(admin, kit, service, person):
    def kept():
        return {
            file
            for name in ("jobs", "files")
            for file in (service.data_dir / "jobs" / name).iterdir()
        }

    email, api = person()
    there = kept()
    api.upload("a.txt", b"kept for a while")
    done = api.submit("digest", kit.cut())
    api.ended(done)
    batch = api.batch([kit.SLOW] * 3, type="rna_fold")
    # A row is Running a moment before its folder is made and its process started.
    api.until(batch, lambda _row: len(kept() - there) >= 3 and bool(children(service)))
    told = admin(service, "accounts", "remove", email, refused=True)
    assert "1 key, 5 jobs, 1 uploaded file" in told
    assert "not ended" in told
    assert api.get("files").status_code == 200
    running = children(service)
    assert running
    gone = admin(service, "accounts", "remove", email, "--yes")
    assert (gone["keys"], gone["jobs"], gone["files"]) == (1, 5, 1)
    assert not any(process.is_running() for process in running)
    assert kept() <= there
    kit.sentence(api.get("files"), 401)
    assert email in admin(service, "accounts", "remove", email, refused=True)


def children(service):
    """The processes of the jobs that run now: each in a group of its own below the fork server."""
    host = psutil.Process(service.status().pid)
    return [job for forkserver in host.children() for job in forkserver.children()]


def test_what_was_removed_of_the_first_accounts_does_not_come_back(admin, kit, new_box):
    box = new_box(workers=1)
    student, teacher = kit.Api(box), kit.Api(box, kit.teacher_key(box))
    student.submit("digest", kit.cut())
    box.stop()
    admin(box, "keys", "remove", TEACHER, "first", "--yes")
    assert "key that the sandbox hands out" in admin(
        box, "accounts", "remove", STUDENT, refused=True
    )
    admin(box, "accounts", "remove", STUDENT, "--yes")
    admin(box, "pipelines", "remove", "helix-to-modes", "--yes")
    key = admin(box, "keys", "add", TEACHER)["key"]
    box.start()
    kit.sentence(teacher.get("files"), 401)
    kit.sentence(student.get("files"), 401)
    again = kit.Api(box, key)
    assert again.get("jobs", organization="true").json()["jobs"] == []
    assert [a["email"] for a in admin(box, "accounts", "list")] == [TEACHER]
    assert admin(box, "pipelines", "list") == []


def test_a_saved_pipeline_can_be_run_by_its_organization_alone(
    admin, kit, service, person, organization, tmp_path
):
    (_email, member), (_other, stranger) = person(organization), person()
    file = tmp_path / "cut.yaml"
    file.write_text(
        "stages:\n  - {task: Cutting, toolSettings: {digest: {sequence: pipe, enzymes: [EcoRI]}}}\n"
    )
    made = admin(service, "pipelines", "add", "cut", file, "--organization", organization)
    assert made["stages"][0]["task"] == "Cutting"
    names = [p["name"] for p in admin(service, "pipelines", "list", "--organization", organization)]
    assert names == ["cut"]
    body = {"jobName": kit.name(), "pipelineName": "cut", "inputs": ["AAGAATTCAA"]}
    response = member.post("run-pipeline", body)
    assert response.status_code == 200, response.text
    member.until(body["jobName"], lambda row: row["JobStatus"] in ("Complete", "Stopped"))
    assert member.row(body["jobName"])["JobStatus"] == "Complete"
    assert stranger.post("run-pipeline", body).status_code == 404
    file.write_text("stages: [{task: Cutting, toolSettings: {digst: {sequence: pipe}}}]\n")
    told = admin(
        service, "pipelines", "add", "x", file, "--organization", organization, refused=True
    )
    assert "digst" in told
    admin(service, "pipelines", "remove", "cut", "--organization", organization, "--yes")
    assert member.post("run-pipeline", body | {"jobName": kit.name()}).status_code == 404
