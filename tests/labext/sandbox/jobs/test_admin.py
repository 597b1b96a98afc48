"""Administrative changes apply to the next request and survive a restart; usage of accounts."""

from __future__ import annotations

import json

import psutil
import pytest

from labext import cli
from labext.errors import InputError, LabextError
from labext.sandbox.core.account_files import read_people
from labext.sandbox.jobs.administration import JobsAdministration, find_account
from labext.sandbox.jobs.app import JobService
from labext.sandbox.jobs.tables import Usage

pytestmark = pytest.mark.contract

STUDENT, TEACHER = "student@sandbox.local", "teacher@sandbox.local"


@pytest.fixture(scope="module")
def service(box):
    return box


@pytest.fixture
def admin(capsys):
    """Run `labext sandbox jobs …` on a sandbox; return the printed JSON."""

    def run(service, *words, refused=False):
        capsys.readouterr()
        where = ["--data-dir", str(service.data_dir), "--json"]
        code = cli.main(["sandbox", "jobs", *map(str, words), *where])
        printed = capsys.readouterr()
        if refused:
            assert (code, printed.out) == (1, "")
            assert printed.err.startswith("labext: ")
            assert printed.err.count("\n") == 1
            return printed.err
        assert code == 0, printed.err
        return json.loads(printed.out)

    return run


@pytest.fixture
def person(admin, kit, service):
    """Make an account with a key; removed at the end."""
    accounts = []

    def make(organization="sandbox", *more):
        email = f"{kit.name()}@course.example"
        admin(service, "accounts", "add", email, "--organization", organization, *more)
        accounts.append(email)
        key = admin(service, "keys", "add", email)["key"]
        return email, kit.Api(service, key)

    yield make
    emails = {account["email"] for account in admin(service, "accounts", "list")}
    for email in emails.intersection(accounts):
        admin(service, "accounts", "remove", email, "--yes")


@pytest.fixture
def organization(admin, kit, service):
    name = kit.name()
    admin(service, "organizations", "add", name)
    yield name
    admin(service, "organizations", "remove", name, "--yes")


@pytest.fixture
def add_usage(kit, service):
    """Add hours to the usage of an account, as a long job does."""

    def add(email, hours):
        with kit.DatabaseAccess(service).session() as session:
            number = find_account(session, email).id
            session.add(Usage(account_id=number, tool="rna_fold", jobs=1, weighted_hours=hours))

    return add


def test_class_gets_accounts_and_keys_or_neither(admin, kit, service, organization, tmp_path):
    emails = [f"{kit.name()}@course.example" for _ in range(3)]
    table, keys = tmp_path / "class.csv", tmp_path / "keys.csv"
    line = ["accounts", "import", table, "--organization", organization, "--keys", keys]
    table.write_text("\n".join(["email", *emails, STUDENT]))
    assert "already" in admin(service, *line, refused=True)
    assert not keys.exists()
    table.write_text("\n".join(["email", *emails]))
    created = admin(service, *line)
    assert created == [{"email": email, "organization": organization} for email in emails]
    table.write_text("\n".join(["email", *emails, f"{kit.name()}@course.example"]))
    line[-1] = tmp_path / "more.csv"
    refusal = admin(service, *line, refused=True)
    assert "3 of the 4 addresses" in refusal
    assert all(email in refusal for email in emails)
    assert "Choose another name" not in refusal
    assert keys.stat().st_mode & 0o777 == 0o600
    rows = [row.split(",") for row in keys.read_text().splitlines()]
    assert [email for email, _ in rows] == ["email", *emails]
    for _, key in rows[1:]:
        assert kit.Api(service, key).get("files").status_code == 200


def test_empty_rows_of_a_class_are_skipped_and_a_missing_address_is_named(tmp_path):
    table = tmp_path / "class.csv"
    table.write_text("email,name\nA@x.org,Ann\n,\n  \nb@x.org\n,\n")
    assert read_people(table) == [("a@x.org", "Ann"), ("b@x.org", None)]
    table.write_text("email,name\na@x.org,Ann\n,\n,Bob\n")
    with pytest.raises(InputError, match=r"class.csv has no address in line 4\.") as caught:
        read_people(table)
    assert caught.value.next_step == "Add it, or remove the line."


@pytest.mark.parametrize("end", ["", 'c@x.org,"Cy\n'])
def test_quotation_mark_without_an_end_does_not_hide_people_of_a_class(tmp_path, end):
    table = tmp_path / "class.csv"
    table.write_text('email,name\na@x.org,"Ann\nb@x.org,Bob\n' + end)
    with pytest.raises(InputError, match=r"class.csv can't be read: .+\.") as caught:
        read_people(table)
    assert caught.value.next_step == "Check the quotation marks of its lines."


def test_addresses_of_accounts_match_in_any_case(admin, kit, service, organization, tmp_path):
    email = f"{kit.name()}@course.example"
    add = ("accounts", "add", email.upper(), "--organization", organization)
    assert admin(service, *add)["email"] == email
    assert "already" in admin(service, *add, refused=True)
    table = tmp_path / "class.csv"
    table.write_text(f"email\n{email.upper()}")
    line = ("accounts", "import", table, "--organization", organization)
    assert f"already: {email}" in admin(service, *line, refused=True)
    added = admin(service, "keys", "add", email.title())
    assert kit.Api(service, added["key"]).get("files").status_code == 200


def test_added_key_is_valid_at_once_and_removed_key_is_refused(admin, kit, service, person):
    email, api = person()
    assert api.get("files").status_code == 200
    second = admin(service, "keys", "add", email, "--name", "laptop")
    assert set(second) == {"account", "name", "key"}
    other = kit.Api(service, second["key"])
    assert api.upload("a.txt", b"x").status_code == 200
    assert other.get("files").json() == ["a.txt"], "both keys are the same account's"
    again = ["accounts", "add", email, "--organization", organization]
    assert "Choose another address" in admin(service, *again, refused=True)
    assert "already" in admin(service, "keys", "add", email, "--name", "laptop", refused=True)
    assert "--yes" in admin(service, "keys", "remove", email, "laptop", refused=True)
    admin(service, "keys", "remove", email, "laptop", "--yes")
    kit.error_message(other.get("files"), 401)
    assert api.get("files").status_code == 200
    names = [key["name"] for key in admin(service, "keys", "list", email)]
    assert names == ["key1"]


def test_operator_sets_weight_and_limits_of_an_account(admin, service, person):
    email, _api = person()
    set_account = ("accounts", "set", email)
    changed = admin(service, *set_account, "--weight", 2, "--max-running", 4, "--max-queued", 0)
    assert (changed["weight"], changed["max_running"], changed["max_queued"]) == (2, 4, 0)
    admin(service, *set_account, "--max-running", "default")
    [account] = [a for a in admin(service, "accounts", "list") if a["email"] == email]
    assert (account["weight"], account["max_running"], account["max_queued"]) == (2, None, 0)
    assert "0.01 to 100" in admin(service, *set_account, "--weight", 0, refused=True)
    assert "--weight 2" in admin(service, *set_account, refused=True)


def test_account_over_its_budget_cannot_submit(admin, kit, service, person, add_usage):
    email, api = person()
    job = {"type": "digest", "settings": kit.cut()}
    batch = {"type": "digest", "jobNames": ["a"], "settings": [kit.cut()]}
    admin(service, "budgets", "set", 1.5, "--account", email)
    api.submit("digest", kit.cut())
    add_usage(email, 1.5)
    for path, body in (
        ("submit-job", {"jobName": kit.name(), **job}),
        ("submit-batch", {"batchName": kit.name(), **batch}),
    ):
        message = api.refused(path, body, 403)
        assert email in message
        assert "1.5" in message
    checked = api.post("validate-job", {"jobName": kit.name(), **job}).json()
    assert checked["valid"] is False
    assert email in checked["error"]
    admin(service, "budgets", "set", 2, "--account", email)
    api.submit("digest", kit.cut())
    admin(service, "budgets", "add", 0, "--account", email)
    assert api.post("submit-job", {"jobName": kit.name(), **job}).status_code == 403
    admin(service, "budgets", "remove", "--account", email)
    api.submit("digest", kit.cut())
    budgets = {b["name"]: b for b in admin(service, "budgets", "list")}
    assert budgets[email]["budget"] is None
    assert budgets[email]["used"] >= 1.5


def test_usage_statistics_give_the_smaller_of_both_budgets_left(
    admin, person, organization, service, add_usage
):
    email, api = person(organization)
    add_usage(email, 1.5)
    assert "budgetLeft" not in api.get("usage-statistics").json()
    for owner, budget, left in (
        (("--account", email), 5, 3.5),
        (("--organization", organization), 2, 0.5),
        (("--account", email), 1, 0),
    ):
        admin(service, "budgets", "set", budget, *owner)
        assert api.get("usage-statistics").json()["budgetLeft"] == left


def test_no_account_of_an_organization_over_its_budget_can_submit(
    admin, kit, service, person, organization, api, add_usage
):
    (first_email, first), (_two, second) = person(organization), person(organization)
    admin(service, "budgets", "set", 0.25, "--organization", organization)
    job = {"type": "digest", "settings": kit.cut()}
    second.submit("digest", kit.cut())
    add_usage(first_email, 0.5)
    for account in (first, second):
        message = account.refused("submit-job", {"jobName": kit.name(), **job}, 403)
        assert organization in message
    api.submit("digest", kit.cut())  # of another organization


def used(who, **query):
    response = who.get("usage-statistics", **query)
    assert response.status_code == 200, response.text
    return response.json()


def test_usage_is_counted_once_and_kept_after_deletion(kit, person, organization):
    (email, student), (owner_email, owner) = person(organization), person(organization, "--owner")
    assert used(student) == {
        "statistic": "weighted_hours",
        "scope": "user",
        "total": 0,
        "byTool": {},
        "byUser": {email: 0},
    }
    job, batch = student.submit("digest", kit.cut()), student.batch([kit.cut()] * 3)
    body = {"jobName": job, "type": "digest", "settings": kit.cut()}
    student.refused("submit-job", body)  # the name is taken, so nothing is counted
    hours = student.ended(job)["WeightedHours"] + student.ended(batch)["WeightedHours"]

    def check_usage():
        jobs = used(student, statistic="jobs", scope="user")
        assert jobs["total"] == 4
        assert jobs["byTool"] == {"digest": 4}
        assert jobs["byUser"] == {email: 4}
        weighted = used(student, statistic="weighted_hours")
        assert weighted["total"] == pytest.approx(hours, abs=1e-8)
        assert weighted["byTool"] == {"digest": weighted["total"]}

    check_usage()
    for name in (job, batch):
        student.end("delete", name)
    check_usage()
    everybody = used(owner, statistic="jobs", scope="organization")
    assert everybody["byUser"] == {email: 4, owner_email: 0}
    assert everybody["total"] == 4
    assert used(owner, statistic="jobs")["byUser"] == {owner_email: 0}
    assert "scope" in kit.error_message(student.get("usage-statistics", scope="organization"), 403)

    # A job that is deleted while it runs counts its hours.
    name = student.submit("rna_fold", kit.SLOW)
    student.until(name, lambda row: row["JobStatus"] == "Running")
    student.end("delete", name)
    assert used(student)["byTool"]["rna_fold"] > 0
    assert used(student, statistic="jobs")["byTool"] == {"digest": 4, "rna_fold": 1}


@pytest.mark.parametrize("field", ["statistic", "scope"])
@pytest.mark.parametrize("value", ["", "Jobs", "\x00"])
def test_unknown_statistic_or_scope_is_refused(api, kit, field, value):
    assert field in kit.error_message(api.get("usage-statistics", **{field: value}))


def test_storage_quota_of_an_account_can_be_changed(admin, kit, service, person):
    email, api = person()
    admin(service, "quotas", "set", email, "100")
    assert "storage" in kit.error_message(api.upload("a.txt", b"x" * 101))
    admin(service, "quotas", "remove", email)
    assert api.upload("a.txt", b"x" * 101).status_code == 200
    (quota,) = (q for q in admin(service, "quotas", "list") if q["account"] == email)
    assert (quota["quota"], quota["used"]) == (10 << 30, 101)


def test_only_owners_see_the_jobs_of_their_organization(admin, kit, service, person, organization):
    (member, student), (_email, owner) = person(organization), person(organization, "--owner")
    _other, stranger = person("sandbox", "--owner")
    name = student.submit("digest", kit.cut())
    requests = [("jobs", {"organization": "true"}), ("jobs", {"jobEmail": member})]
    for path, query in requests:
        assert owner.get(path, **query).status_code == 200
    assert [row["JobName"] for row in owner.rows(organization="true")] == [name]
    assert stranger.get("jobs", jobEmail=member).status_code == 404
    assert name not in [row["JobName"] for row in stranger.rows(organization="true")]
    colleague, third = person(organization)
    for path, query in requests:
        kit.error_message(third.get(path, **query), 403)
    admin(service, "accounts", "set", colleague, "--owner", "yes")
    assert third.get("jobs", organization="true").status_code == 200
    admin(service, "accounts", "set", colleague, "--owner", "no")
    kit.error_message(third.get("jobs", organization="true"), 403)


def test_permission_shows_and_hides_gated_parameters(admin, kit, service, person):
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


def test_upload_limit_applies_to_the_next_request(admin, kit, service, person):
    _email, api = person()
    before = next(x for x in admin(service, "limits", "list") if x["name"] == "upload_bytes")
    try:
        admin(service, "limits", "set", "upload_bytes", "1KiB")
        kit.error_message(api.upload("big.bin", b"x" * 1025))
        assert api.upload("fits.bin", b"x" * 1024).status_code == 200
    finally:
        admin(service, "limits", "remove", "upload_bytes")
    after = next(x for x in admin(service, "limits", "list") if x["name"] == "upload_bytes")
    assert after == before


@pytest.mark.data_folder
def test_removing_an_account_removes_its_jobs_processes_and_files(admin, kit, service, person):
    def stored_files():
        return {
            file
            for name in ("jobs", "files")
            for file in (service.data_dir / "jobs" / name).iterdir()
        }

    email, api = person()
    before_removal = stored_files()
    api.upload("a.txt", b"kept for a while")
    done = api.submit("digest", kit.cut())
    api.ended(done)
    batch = api.batch([kit.SLOW] * 3, type="rna_fold")
    # A row is Running shortly before its folder is created and its process starts.
    api.until(
        batch, lambda _row: len(stored_files() - before_removal) >= 3 and bool(children(service))
    )
    accounts = {row["email"]: row for row in admin(service, "accounts", "list")}
    assert accounts[email]["jobs"] == 4, "a batch is no job"
    message = admin(service, "accounts", "remove", email, refused=True)
    assert "1 key, 4 jobs, 1 uploaded file" in message
    assert "3 unfinished jobs would be stopped" in message
    assert api.get("files").status_code == 200
    running = children(service)
    assert running
    removed = admin(service, "accounts", "remove", email, "--yes")
    assert (removed["keys"], removed["jobs"], removed["files"]) == (1, 4, 1)
    assert not any(process.is_running() for process in running)
    assert stored_files() <= before_removal
    kit.error_message(api.get("files"), 401)
    assert email in admin(service, "accounts", "remove", email, refused=True)


def children(service):
    """Return the processes of running jobs, which are children of the fork server."""
    host = psutil.Process(service.status().pid)
    return [job for forkserver in host.children() for job in forkserver.children()]


def test_removed_seed_accounts_do_not_return_after_a_restart(site):
    admin = JobsAdministration(site, running=False)
    admin.remove_key(TEACHER, "first", yes=True)
    with pytest.raises(LabextError, match=r"key in connection\.json"):
        admin.remove_account(STUDENT, yes=False)
    admin.remove_account(STUDENT, yes=True)
    admin.remove_pipeline("helix-to-modes", None, yes=True)
    JobService().seed(site)  # as at every start
    assert [(a["email"], a["keys"]) for a in admin.accounts()] == [(TEACHER, 0)]
    assert admin.pipelines() == []


def test_only_the_organization_can_run_its_saved_pipeline(
    admin, kit, service, person, organization, tmp_path
):
    (_email, member), (_other, stranger) = person(organization), person()
    file = tmp_path / "cut.yaml"
    file.write_text(
        "stages:\n  - {task: Cutting, toolSettings: {digest: {sequence: pipe, enzymes: [EcoRI]}}}\n"
    )
    pipeline = admin(service, "pipelines", "add", "cut", file, "--organization", organization)
    assert pipeline["stages"][0]["task"] == "Cutting"
    names = [p["name"] for p in admin(service, "pipelines", "list", "--organization", organization)]
    assert names == ["cut"]
    body = {"jobName": kit.name(), "pipelineName": "cut", "inputs": ["AAGAATTCAA"]}
    response = member.post("run-pipeline", body)
    assert response.status_code == 200, response.text
    member.until(body["jobName"], lambda row: row["JobStatus"] in ("Complete", "Stopped"))
    assert member.row(body["jobName"])["JobStatus"] == "Complete"
    assert stranger.post("run-pipeline", body).status_code == 404
    file.write_text("stages: [{task: Cutting, toolSettings: {digst: {sequence: pipe}}}]\n")
    message = admin(
        service, "pipelines", "add", "x", file, "--organization", organization, refused=True
    )
    assert "digst" in message
    admin(service, "pipelines", "remove", "cut", "--organization", organization, "--yes")
    assert member.post("run-pipeline", body | {"jobName": kit.name()}).status_code == 404
