"""Every request is logged with its caller (LAB-165 to LAB-174) and counted (LAB-90 to LAB-96)."""

from __future__ import annotations

import contextlib
import logging
import math
from datetime import UTC, datetime

import pytest
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

from labext.sandbox.core import database as database_module
from labext.sandbox.core.database import Database
from labext.sandbox.core.web import RateLimitStatus, SlidingWindowLimiter
from labext.sandbox.lab import access_control, app, dependencies, limits
from labext.sandbox.lab.tables import AuditEntry, Base, Limit, Tenant, current_timestamp


def _summary(entry) -> tuple:
    return entry.status, entry.user, entry.app, entry.credential


def test_entry_records_every_detail_of_the_call(world, kit):
    key = world.user("ann@x.y")
    before = datetime.now(UTC)
    world.campus.get("users/me", kit.basic(key), query="x=1", address="192.0.2.7")
    (entry,) = world.log(1)
    assert _summary(entry) == (200, "ann@x.y", None, "key first")
    assert (entry.method, entry.path, entry.address) == ("GET", "/api/v2/users/me", "192.0.2.7")
    assert entry.reason is None
    assert before <= datetime.fromisoformat(entry.time) <= datetime.now(UTC)
    with world.database.read() as session:
        assert entry.tenant_id == world.tenant_id(session)


@pytest.mark.parametrize("each_database", ["postgresql"], indirect=True)
def test_entry_is_written_while_another_request_changes_rows(each_database, monkeypatch):
    monkeypatch.setattr("labext.sandbox.core.postgresql.LOCK_SECONDS", 1)
    log_database = Database(each_database.url)
    log_database.create(Base.metadata)
    with log_database.write() as session:
        session.add(Tenant(id=1, name="campus", enterprise=False))
    values = dependencies.PendingEntry(1, "GET", "/api/v2/users/me", None).values(200, None)
    with each_database.write() as session:
        session.add(Limit(name="rate_requests", value=5))
        session.flush()
        dependencies.AuditLog(log_database).write(values, required=True)
    log_database.close()


def test_entry_names_the_acting_identity(world, kit):
    secret = world.app("app")
    world.user("bob@x.y")
    world.user("late@x.y", suspended=True)
    bearer = f"Bearer {world.token(secret)}"
    deleted = world.secret("app", "gone", deleted=True)
    calls = [
        ((bearer,), {}, (404, None, "app", "secret first")),
        ((bearer,), {"on_behalf_of": "bob@x.y"}, (200, "bob@x.y", "app", "secret first")),
        ((bearer,), {"on_behalf_of": "late@x.y"}, (403, "late@x.y", "app", "secret first")),
        ((bearer,), {"on_behalf_of": "nobody@x.y"}, (403, None, "app", "secret first")),
        ((kit.id_token("bob@x.y"),), {}, (200, "bob@x.y", None, "ID token")),
        ((kit.id_token("late@x.y"),), {}, (403, "late@x.y", None, "ID token")),
        (
            (kit.basic(world.key("bob@x.y", "old", deleted=True)),),
            {},
            (401, "bob@x.y", None, "key old"),
        ),
        ((f"Bearer {world.token(secret, seconds=-2)}",), {}, (401, None, "app", "secret first")),
        ((f"Bearer {world.token(deleted)}",), {}, (401, None, "app", "secret gone")),
        ((kit.basic("sk_unknown"),), {}, (401, None, None, None)),
        ((), {}, (401, None, None, None)),
    ]
    for authorization, options, expected in calls:
        world.campus.get("users/me", *authorization, **options)
        (entry,) = world.log(1)
        assert _summary(entry) == expected
        assert (entry.reason is None) == (entry.status == 200)
        is_deleted = entry.credential in ("key old", "secret gone")
        assert ("deleted" in (entry.reason or "")) == is_deleted


def test_token_call_names_the_app_only_with_valid_credentials(world):
    secret = world.app("asks")
    deleted_secret = world.secret("asks", "gone", deleted=True)
    world.campus.token(client_id="id-asks", client_secret=secret)
    world.campus.token(client_id="id-asks", client_secret=deleted_secret)
    world.campus.token(client_id="id-asks", client_secret="wrong")
    world.campus.token(client_id="id-asks")
    world.clinic.token(client_id="id-asks", client_secret=secret)
    assert [_summary(entry) for entry in world.log(5)] == [
        (200, None, "asks", "secret first"),
        (401, None, "asks", "secret gone"),
        (401, None, None, None),
        (400, None, None, None),
        (401, None, None, None),
    ]
    assert {entry.path for entry in world.log(5)} == {"/api/v2/token"}


@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [
        ("GET", "/", 404, None),
        ("GET", "/api/v2/dna-sequences/", 404, None),
        ("GET", "/api/v2/dna-sequences/seq_x", 404, None),
        ("GET", "/api/v2/dna-sequences:archive", 404, None),
        ("DELETE", "/api/v3/users/me", 404, None),
        ("GET", "/openapi.json", 404, None),
        ("GET", "/docs", 404, None),
        ("POST", "/api/v2/users/me", 405, "GET"),
        ("HEAD", "/api/v2/users/me", 405, "GET"),
        ("OPTIONS", "/api/v2/dna-sequences", 405, "GET"),
        ("BREW", "/api/v2/dna-sequences", 405, "GET"),
        ("POST", "/api/v2/dna-sequences:bulk-get", 405, "GET"),
        ("PATCH", "/api/v2/dna-sequences/seq_a1B2c3D4", 405, "GET"),
        ("DELETE", "/api/v2/folders/lib_a1B2c3D4", 405, "GET"),
        ("POST", "/campus/f/lib_a1B2c3D4-vectors/seq_a1B2c3D4-pbad30/edit", 405, "GET"),
    ],
)
def test_unknown_paths_and_methods_are_logged_calls(world, kit, method, path, status, allow):
    email = f"{method}{path}@x.y".replace("/", ".").replace(":", ".")
    key = world.user(email)
    response = world.campus.request(method, path, kit.basic(key))
    assert (response.status, response.headers.get("allow")) == (status, allow)
    assert response.json()["error"]["type"] == "invalid_request_error"
    (entry,) = world.log(1)
    assert (entry.method, entry.path, entry.status, entry.user) == (method, path, status, email)
    assert world.campus.request(method, path).status == 401
    (entry,) = world.log(1)
    assert (entry.path, entry.status, entry.user) == (path, 401, None)


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "OPTIONS"])
def test_wrong_method_on_the_token_endpoint_needs_no_credentials(world, method):
    response = world.campus.request(method, "/api/v2/token")
    assert (response.status, response.headers["allow"]) == (405, "POST")
    (entry,) = world.log(1)
    assert (entry.method, entry.status) == (method, 405)


def test_secrets_are_not_logged(world, kit):
    key = world.user("quiet@x.y")
    secret = world.app("quiet")
    token = world.token(secret)
    for value in (key, secret, token):
        world.campus.get("users/me", f"Bearer {value}")
        world.campus.get("users/me", kit.basic(value), query=f"api_key={value}")
        world.campus.get("users/me", kit.basic("x", value), on_behalf_of=value)
        world.campus.token(client_id=value, client_secret=value)
        world.campus.token(kit.basic(value, value))
    columns = [column for column in AuditEntry.__table__.columns if column.name != "id"]
    with world.database.read() as session:
        text = str(session.execute(select(*columns)).all())
    for value in (key, secret, token):
        assert value not in text


def test_key_in_a_path_is_masked(world, kit):
    """The service knows only hashes of keys, so it must recognize this key by its form."""
    world.campus.request("GET", f"/api/v2/sk_{'a1B2' * 8}/x", kit.basic(world.user("lost@x.y")))
    (entry,) = world.log(1)
    assert entry.path == "/api/v2/•••/x"


def test_logged_path_is_truncated_to_one_line(world, kit):
    key = world.user("lines@x.y")
    world.campus.request("GET", "/api/v2/a\nb\0ü " + "x" * 5000, kit.basic(key))
    (entry,) = world.log(1)
    assert entry.path.startswith("/api/v2/a%0Ab%00%C3%BC%20xxx")
    assert len(entry.path) == 500


def test_internal_error_is_logged_and_reported_without_details(world, kit, monkeypatch, caplog):
    key = world.user("unlucky@x.y")

    def fail(*_):
        raise RuntimeError("a detail")

    monkeypatch.setattr(access_control, "check_address", fail)
    with caplog.at_level(logging.ERROR):
        response = world.campus.get("users/me", kit.basic(key))
    assert response.status == 500
    assert "a detail" not in response.content.decode()
    assert "a detail" in caplog.text
    (entry,) = world.log(1)
    assert (entry.status, entry.user) == (500, "unlucky@x.y")


@contextlib.contextmanager
def unwritable():
    """Prevent writes to the database during the block."""

    def full(*_, **__):
        raise OperationalError("INSERT", {}, Exception("database or disk is full"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database_module.Database, "write", full)
        yield


def test_entries_are_buffered_while_the_log_is_not_writable(world, kit):
    key = world.user("patient@x.y")
    with unwritable():
        for path, status in (("users/me", 200), ("nowhere", 404), ("users/me", 200)):
            assert world.campus.get(path, kit.basic(key)).status == status
        assert world.campus.get("users/me").status == 401
    assert world.campus.get("users/me", kit.basic(key)).status == 200
    paths = ("/api/v2/users/me", "/api/v2/nowhere")
    assert [(entry.path, entry.status) for entry in world.log(5)] == [
        (paths[0], 200),
        (paths[1], 404),
        (paths[0], 200),
        (paths[0], 401),
        (paths[0], 200),
    ]


def test_buffer_of_unwritten_entries_is_bounded(world, kit, monkeypatch):
    monkeypatch.setattr(dependencies, "MAX_PENDING", 3)
    with unwritable():
        for number in range(5):
            world.campus.get(f"call{number}")
    world.campus.get("last")
    assert [entry.path[-5:] for entry in world.log(4)] == ["call2", "call3", "call4", "/last"]


def test_token_is_refused_if_it_cannot_be_logged(world, monkeypatch):
    secret = world.app("unlogged")

    def full(log, rows):
        raise OperationalError("INSERT", {}, Exception("database or disk is full"))

    with monkeypatch.context() as patch:
        patch.setattr(dependencies.AuditLog, "_insert", full)
        response = world.campus.token(client_id="id-unlogged", client_secret=secret)
        assert response.status == 500
        assert b"access_token" not in response.content
    assert world.campus.token(client_id="id-unlogged", client_secret=secret).status == 200
    assert [entry.status for entry in world.log(1)] == [200]


def test_oldest_entries_are_deleted_above_the_limit(make_world):
    world = make_world()
    with world.database.write() as session:
        tenant = world.tenant_id(session)
        session.add(Limit(name="audit_entries", value=10))
        # 990 is too many once the thousandth call is logged.
        for number in (1, 989, 990, 991, 998):
            values = {"time": current_timestamp(), "method": "GET", "path": "/", "status": 200}
            session.add(AuditEntry(id=number, tenant_id=tenant, **values))
    world.campus.get("users/me")
    assert [entry.id for entry in world.log(9)] == [1, 989, 990, 991, 998, 999]
    world.campus.get("users/me")
    assert [entry.id for entry in world.log(9)] == [991, 998, 999, 1000]


@pytest.fixture
def limited_world(make_world, monkeypatch, clock):
    """A platform that allows five calls in ten seconds, and its clock."""
    monkeypatch.setattr(
        app, "rate_limiter", lambda _database, _name: SlidingWindowLimiter(None, clock=clock)
    )
    world = make_world("named")
    with world.database.write() as session:
        session.add(Limit(name="rate_requests", value=5))
    return world, clock


def _limit_headers(response) -> tuple[int, ...]:
    assert "retry-after" not in response.headers
    return tuple(int(response.headers[f"x-rate-limit-{name}"]) for name in LIMITS)


LIMITS = ("limit", "remaining", "reset")


def test_rate_limit_headers_follow_the_sliding_window(limited_world, kit):
    world, clock = limited_world
    value = kit.basic(world.user("ann@x.y"))
    events = []
    for seconds in (0, 2.5, 2.5, 4, 0):
        clock.now += seconds
        events.append(_limit_headers(world.campus.get("users/me", value)))
    assert events == [(5, 4, 10), (5, 3, 8), (5, 2, 5), (5, 1, 1), (5, 0, 1)]
    refused = world.campus.get("users/me", value)
    assert (refused.status, _limit_headers(refused)) == (429, (5, 0, 1))
    assert refused.json()["error"]["message"] == "More than 5 requests in 10 seconds."
    (entry,) = world.log(1)
    assert _summary(entry) == (429, "ann@x.y", None, "key first")
    clock.now += 0.999
    assert world.campus.get("users/me", value).status == 429
    clock.now += 0.001  # the oldest call is ten seconds old; refused calls do not count
    response = world.campus.get("users/me", value)
    assert (response.status, _limit_headers(response)) == (200, (5, 0, 3))
    assert world.campus.get("users/me", value).status == 429


def test_only_authenticated_calls_count_against_the_rate_limit(limited_world, kit):
    world, _ = limited_world
    key = world.user("late@x.y", suspended=True)
    bearer = f"Bearer {world.token(world.app('bare'))}"
    for _ in range(7):  # never, since the caller is unknown
        response = world.campus.get("users/me", kit.basic("sk_unknown"))
        assert response.status == 401
        assert not [name for name in response.headers if name.startswith("x-rate")]
    counted = [
        (kit.basic(key), "GET", "/api/v2/users/me", 403),
        (kit.basic(key), "GET", "/nowhere", 403),
        (bearer, "GET", "/api/v2/users/me", 404),
        (bearer, "GET", "/nowhere", 404),
        (bearer, "HEAD", "/api/v2/users/me", 405),
        (bearer, "GET", "/api/v2/dna-sequences", 403),
    ]
    events = []
    for value, method, path, status in counted:
        response = world.campus.request(method, path, value)
        assert response.status == status
        events.append(_limit_headers(response)[1])
    assert events == [4, 3, 4, 3, 2, 1]
    for _ in range(7):
        response = world.campus.token(client_id="id-bare", client_secret="cs_bare_first")
        assert response.status == 200
        assert "x-rate-limit-limit" not in response.headers
    assert _limit_headers(world.campus.get("users/me", bearer))[1] == 0


def test_users_and_apps_have_separate_rate_limits(limited_world, kit):
    world, _ = limited_world
    keys = [world.user("ann@x.y"), world.key("ann@x.y", "second")]
    tokens = [world.token(world.app("app")), world.token(world.secret("app", "second"))]
    anns = [kit.basic(keys[0]), kit.basic(keys[1]), kit.id_token("ann@x.y")]
    assert [_limit_headers(world.campus.get("users/me", ann))[1] for ann in anns] == [4, 3, 2]
    apps = [f"Bearer {token}" for token in tokens]
    assert [_limit_headers(world.campus.get("users/me", item))[1] for item in apps] == [4, 3]
    # Calls on behalf of a user count for the app.
    response = world.campus.get("users/me", apps[0], on_behalf_of="ann@x.y")
    assert (response.status, _limit_headers(response)[1]) == (200, 2)
    assert _limit_headers(world.campus.get("users/me", anns[0]))[1] == 1


def test_changed_rate_limit_applies_to_the_next_call(limited_world, kit):
    world, clock = limited_world
    value = kit.basic(world.user("ann@x.y"))
    assert _limit_headers(world.campus.get("users/me", value)) == (5, 4, 10)
    with world.database.write() as session:
        session.merge(Limit(name="rate_requests", value=60))
        session.merge(Limit(name="rate_seconds", value=30))
    clock.now += 4
    assert _limit_headers(world.campus.get("users/me", value)) == (60, 58, 26)


def test_no_limit_where_the_sandbox_keeps_none(make_world, kit):
    world = make_world("off")
    with world.database.write() as session:
        session.add(Limit(name="rate_requests", value=2))
    value = kit.basic(world.user("free@x.y"))
    for _ in range(5):
        response = world.campus.get("users/me", value)
        assert response.status == 200
    assert not [name for name in response.headers if name.startswith("x-rate")]


def test_default_limit_is_100_calls_in_10_seconds(make_world, kit):
    world = make_world("named")
    value = kit.basic(world.user("ann@x.y"))
    response = world.campus.get("users/me", value)
    assert _limit_headers(response) == (100, 99, 10)


@pytest.mark.parametrize("reset", [0.0001, 1.0, 1.0001, 9.9999, 10.0])
def test_reset_is_whole_seconds_rounded_up(reset):
    headers = limits.rate_limit_headers(RateLimitStatus(True, 100, 3, reset))
    assert headers["x-rate-limit-reset"] == str(math.ceil(reset))
