"""Addresses, options and secrets from profiles, session, environment, keyring and sandbox."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import keyring
import platformdirs
import pytest

import labext
from labext import config
from labext.errors import InputError, SetupError, StorageError
from labext.redaction import mask


def running_sandbox(folder: Path, key: str = "sandbox-key") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    jobs = {"base_url": "http://127.0.0.1:4711/api/", "api_key": key}
    (folder / "connection.json").write_text(json.dumps({"jobs": jobs, "pid": 1}))


def write_profiles(home: Path, text: str) -> None:
    (home / "config").mkdir(exist_ok=True)
    (home / "config" / "profiles.toml").write_text(text)


def test_saved_profile_keeps_the_rest_of_the_file(isolated: Path) -> None:
    text = '# ours\ncolor = "x"\n\n[work.jobs] # office\nbase_url = "http://jobs.example/"\n'
    write_profiles(isolated, f"\ufeff{text}")
    assert config.save_profile("work", "nb", "http://nb.example") == text
    config.save_profile("home", "jobs", "http://127.0.0.1:8000", {"ca_bundle": "ca.pem"})
    written = (isolated / "config" / "profiles.toml").read_text()
    assert written.startswith(text)
    assert tomllib.loads(written) == {
        "color": "x",
        "work": {
            "jobs": {"base_url": "http://jobs.example/"},
            "nb": {"base_url": "http://nb.example"},
        },
        "home": {"jobs": {"base_url": "http://127.0.0.1:8000", "ca_bundle": "ca.pem"}},
    }


def test_missing_configuration_names_the_next_step() -> None:
    with pytest.raises(SetupError) as caught:
        config.connection("jobs")
    assert caught.value.message == "No jobs service is configured."
    assert "`labext.sandbox.Sandbox().start(); " in caught.value.next_step
    assert 'save_profile("PROFILE", "jobs", "URL")' in caught.value.next_step


def test_precedence_is_argument_session_environment_default(
    isolated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("default", "course", "other"):
        config.save_profile(name, "jobs", f"https://{name}.example/api/")
    assert config.connection("jobs").profile == "default"
    monkeypatch.setenv("LABEXT_JOBS_BASE_URL", "https://env.example/api/")
    assert config.connection("jobs").base_url == "https://env.example/api/"
    config.choose_profile("jobs", "course")
    assert config.connection("jobs").profile == "course"
    assert config.connection("jobs", "other").profile == "other"
    running_sandbox(isolated / "sandbox")
    assert config.connection("jobs", "sandbox").base_url == "http://127.0.0.1:4711/api/"
    config.choose_profile("jobs", None)
    assert config.connection("jobs").profile is None


def test_connection_can_be_set_for_a_session() -> None:
    typed = config.Connection("jobs", None, "https://typed.example/api/", {"api_key": "typed-key"})
    config.use_connection(typed)
    assert config.connection("jobs") == typed
    assert mask("typed-key") != "typed-key"
    config.save_profile("course", "jobs", "https://course.example/api/")
    config.choose_profile(None, "course")
    assert config.connection("jobs").profile == "course"


def test_key_of_the_environment_is_used_with_its_address_only(
    isolated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.save_profile("course", "jobs", "https://course.example/api/")
    running_sandbox(isolated / "sandbox")
    monkeypatch.setenv("LABEXT_JOBS_API_KEY", "env-key")
    assert config.connection("jobs", "course").secrets == {"api_key": "env-key"}
    assert config.connection("jobs", "sandbox").secrets == {"api_key": "sandbox-key"}
    monkeypatch.setenv("LABEXT_JOBS_BASE_URL", "https://env.example/api/")
    assert config.connection("jobs").secrets == {"api_key": "env-key"}
    assert config.connection("jobs", "course").secrets == {}


def test_key_is_stored_in_the_keyring_per_profile(ring: Any) -> None:
    config.save_profile("course", "jobs", "https://course.example/api/")
    assert config.save_secret("jobs", "course", "api_key", "kept-key")
    assert ring.secrets == {("labext", "course/jobs/api_key"): "kept-key"}
    config.forget_session()
    connection = config.connection("jobs", "course")
    assert connection.secrets == {"api_key": "kept-key"}
    config.forget_secret("jobs", "course", "api_key")
    config.forget_secret("jobs", "course", "api_key")  # a second time is no error
    assert config.connection("jobs", "course").secrets == {}


def test_each_secret_is_read_once_from_the_keyring(
    ring: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.save_profile("work", "lab", "https://lab.example.org")
    ring.set_password("labext", "work/lab/api_key", "key-of-work")
    reads: list[str] = []
    get = ring.get_password
    monkeypatch.setattr(ring, "get_password", lambda *of: (reads.append(of[1]), get(*of))[1])
    for _ in range(2):
        assert config.connection("lab", "work").secrets == {"api_key": "key-of-work"}
    assert len(reads) == len(set(reads))
    ring.secrets.clear()
    config.forget_session()
    assert config.connection("lab", "work").secrets == {}


@pytest.mark.parametrize("profile", ["course", None])
@pytest.mark.parametrize("fails", [True, False])
def test_secret_without_a_keyring_lasts_for_the_session(
    fails: bool, profile: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: str) -> str:
        raise OSError("the bus is gone")

    for function in ("get_password", "set_password", "delete_password") if fails else ():
        monkeypatch.setattr(keyring, function, fail)
    monkeypatch.setenv("LABEXT_JOBS_BASE_URL", "http://127.0.0.1:9/api/")
    config.save_profile("course", "jobs", "https://course.example/api/")
    for forget in (lambda: config.forget_secret("jobs", profile, "api_key"), config.forget_session):
        assert config.connection("jobs", profile).secrets == {}
        assert not config.save_secret("jobs", profile, "api_key", "kept-key")
        assert config.connection("jobs", profile).secrets == {"api_key": "kept-key"}
        forget()
    assert config.connection("jobs", profile).secrets == {}


def test_environment_takes_precedence_over_the_keyring(
    ring: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.save_profile("course", "jobs", "https://course.example/api/")
    config.save_secret("jobs", "course", "api_key", "kept-key")
    monkeypatch.setenv("LABEXT_JOBS_API_KEY", "env-key")
    assert config.connection("jobs", "course").secrets == {"api_key": "env-key"}
    for variable in ("LABEXT_JOBS_API_KEY", "LABEXT_JOBS_BASE_URL"):  # blank counts as not set
        monkeypatch.setenv(variable, " \n")
    assert config.connection("jobs", "course").secrets == {"api_key": "kept-key"}


def test_repr_of_a_connection_shows_no_secret(isolated: Path) -> None:
    running_sandbox(isolated / "sandbox")
    connection = config.connection("jobs", "sandbox")
    assert "sandbox-key" not in repr(connection)
    assert mask("the sandbox-key is") == "the ••• is"


def test_profiles_file_contains_no_secret(isolated: Path, ring: Any) -> None:
    config.save_profile("course", "lab", "https://lab.example", {"ca_bundle": "/etc/ca.pem"})
    config.save_profile("course", "jobs", "https://jobs.example/api/")
    config.save_secret("jobs", "course", "api_key", "kept-key")
    text = (isolated / "config" / "profiles.toml").read_text()
    assert "kept-key" not in text
    assert config.connection("lab", "course").options == {"ca_bundle": "/etc/ca.pem"}
    assert config.connection("jobs", "course").base_url == "https://jobs.example/api/"
    assert [path.name for path in (isolated / "config").iterdir()] == ["profiles.toml"]


def test_profile_names_start_with_the_sandbox(isolated: Path) -> None:
    config.save_profile("course", "jobs", "https://course.example/")
    assert config.profile_names() == ["course"]
    running_sandbox(isolated / "sandbox")
    assert config.profile_names() == ["sandbox", "course"]


def test_response_limits_are_options_of_a_profile(isolated: Path) -> None:
    write_profiles(
        isolated, '[work.jobs]\nbase_url = "http://jobs.example/"\nmax_response_mib = 512\n'
    )
    assert config.connection("jobs", "work").options == {"max_response_mib": "512"}


def test_profiles_file_may_begin_with_a_byte_order_mark(isolated: Path) -> None:
    write_profiles(isolated, '\ufeff[work.jobs]\nbase_url = "http://jobs.example/"\n')
    assert config.profile_names() == ["work"]


def test_profiles_file_may_be_a_symbolic_link(isolated: Path) -> None:
    write_profiles(isolated, "")
    link = isolated / "config" / "profiles.toml"
    link.symlink_to(link.rename(isolated / "dotfile.toml"))
    config.save_profile("course", "jobs", "https://course.example/")
    assert link.is_symlink()
    assert "course.example" in (isolated / "dotfile.toml").read_text()


def test_unknown_profile_key_is_named_with_a_similar_one(isolated: Path) -> None:
    write_profiles(
        isolated, '[home.nb]\nbase_url = "http://nb.example/api"\nbackends = "open-notebook"\n'
    )
    with pytest.raises(SetupError, match=r'unknown key backends for nb \(did you mean "backend"'):
        config.connection("nb", "home")


@pytest.mark.parametrize(
    "option", ["ca_bundle = false", 'ca_bundle = ["a"]', "max_response_mib = true", "method = true"]
)
def test_option_of_another_type_is_refused(isolated: Path, option: str) -> None:
    write_profiles(isolated, f'[home.lab]\nbase_url = "https://lab.example"\n{option}\n')
    with pytest.raises(SetupError, match=f"{option.split()[0]} of lab in the profile home"):
        config.connection("lab", "home")


def test_misspelt_address_is_named_as_an_unknown_key(isolated: Path) -> None:
    write_profiles(isolated, '[home.nb]\nbaseurl = "http://nb.example/api"\n')
    with pytest.raises(SetupError, match=r'unknown key baseurl for nb \(did you mean "base_url"'):
        config.connection("nb", "home")


def test_secret_in_the_profiles_file_is_refused_with_its_place(isolated: Path) -> None:
    write_profiles(
        isolated, '[home.jobs]\nbase_url = "http://jobs.example/api"\napi_key = "k-123456789"\n'
    )
    with pytest.raises(SetupError, match="profiles hold no secrets") as raised:
        config.connection("jobs", "home")
    assert raised.value.next_step.endswith("or set LABEXT_JOBS_API_KEY.")
    assert "k-123456789" not in str(raised.value)


def test_sandbox_folder_can_be_chosen(isolated: Path, tmp_path: Path) -> None:
    running_sandbox(tmp_path / "mine", "other-key")
    config.choose_sandbox(tmp_path / "mine")
    assert config.connection("jobs", "sandbox").secrets == {"api_key": "other-key"}
    config.choose_sandbox(None)
    assert config.sandbox_dir() == isolated / "sandbox"
    with pytest.raises(SetupError, match="not running"):
        config.connection("jobs", "sandbox")


@pytest.mark.parametrize("content", ["", "[]", "{", '{"jobs": 1}', '{"jobs": {}}', '{"lab": {}}'])
def test_invalid_connection_file_means_no_running_sandbox(isolated: Path, content: str) -> None:
    (isolated / "sandbox").mkdir()
    (isolated / "sandbox" / "connection.json").write_text(content)
    with pytest.raises(SetupError, match="not running"):
        config.connection("jobs", "sandbox")


@pytest.mark.parametrize(
    "url",
    [
        *("", "jobs.example", "ftp://jobs.example", "https://", "https://a b/", "http://[::1"),
        *("x", "http://a:99999/", "http://a\\@b/", "http://a\\b/", "http://a/\tb"),
    ],
)
def test_invalid_url_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="not the address"):
        config.save_profile("course", "jobs", url)


@pytest.mark.parametrize("url", ["https://ada:pw@h.example/", "https://h.example/?key=1"])
def test_secret_in_a_url_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(InputError, match="a password or a query") as caught:
        config.save_profile("course", "jobs", url)
    assert "pw" not in str(caught.value).replace("password", "")


@pytest.mark.parametrize("name", ["sandbox", "environment", "", "a b", "a/b", "x" * 65])
def test_invalid_profile_name_is_refused(name: str) -> None:
    with pytest.raises(InputError):
        config.save_profile(name, "jobs", "https://jobs.example/")


def test_unknown_profile_suggests_a_similar_name() -> None:
    config.save_profile("course", "jobs", "https://course.example/")
    with pytest.raises(SetupError, match="Did you mean course"):
        config.choose_profile("jobs", "coarse")
    with pytest.raises(SetupError, match="There are: course, sandbox"):
        config.connection("jobs", "zzz")


def test_name_of_a_profile_that_is_no_text_is_refused() -> None:
    with pytest.raises(InputError, match="5 is not the name of a profile"):
        labext.connect("jobs", 5)  # type: ignore[call-overload]


def test_profile_without_the_service_is_an_error() -> None:
    config.save_profile("course", "lab", "https://lab.example")
    with pytest.raises(SetupError, match="no address for jobs"):
        config.connection("jobs", "course")


@pytest.mark.parametrize("text", ["[course", "course = 1", 'a.jobs.base_url = "no address"'])
def test_invalid_profiles_file_is_an_error(isolated: Path, text: str) -> None:
    write_profiles(isolated, text)
    with pytest.raises((SetupError, InputError)):
        config.connection("jobs", "a")


def test_unwritable_folder_is_an_error(isolated: Path) -> None:
    (isolated / "config").write_text("a file, not a folder")
    with pytest.raises((StorageError, SetupError)):
        config.save_profile("course", "jobs", "https://course.example/")


def test_unknown_services_options_and_secrets_are_refused() -> None:
    with pytest.raises(InputError, match="no service"):
        config.connection("gobs")
    with pytest.raises(InputError, match="no option"):
        config.save_profile("course", "jobs", "https://h.example/", {"gpu": "1"})
    with pytest.raises(InputError, match="no secret called"):
        config.save_secret("jobs", "course", "password", "x")


def test_folders_follow_the_environment(isolated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert config.state_dir() == isolated / "state"
    for variable in ("LABEXT_STATE_DIR", "LABEXT_SANDBOX_DIR", "LABEXT_CONFIG_DIR"):
        monkeypatch.delenv(variable)
    for folder in (config.state_dir(), config.sandbox_dir(), config.config_dir()):
        assert folder.is_absolute()
        assert "labext" in folder.parts or "labext" in str(folder)


def test_account_without_a_home_folder_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home(*_: object, **__: object) -> Path:
        raise RuntimeError("could not determine the home directory")

    for kind in ("config", "state", "data"):
        monkeypatch.setattr(platformdirs, f"user_{kind}_path", no_home)
    for variable in ("CONFIG", "STATE", "SANDBOX"):
        monkeypatch.delenv(f"LABEXT_{variable}_DIR")
    for find in (config.config_dir, config.state_dir, config.sandbox_dir):
        with pytest.raises(SetupError, match="home folder of this account is unknown") as caught:
            find()
        assert "HOME" in caught.value.next_step
        assert "LABEXT_SERVER_DIR" in caught.value.next_step
    assert not config.is_default_sandbox(Path("sandbox"))


def test_connect_returns_a_client_of_the_profile(isolated: Path) -> None:
    running_sandbox(isolated / "sandbox")
    client = labext.connect("jobs", "sandbox")
    assert isinstance(client, labext.JobsClient)
    assert "sandbox-key" not in repr(client)
    with pytest.raises(InputError, match="no client"):
        labext.connect("gobs")  # type: ignore[call-overload]
    with pytest.raises(InputError, match="no client"):
        labext.connect(["jobs"])  # type: ignore[call-overload]


def test_invalid_address_names_where_it_is_set(
    isolated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_profiles(isolated, '[course.jobs]\nbase_url = "jobs.example.org"\n')
    with pytest.raises(InputError, match=r"the profile course in .*profiles\.toml"):
        config.connection("jobs", "course")
    monkeypatch.setenv("LABEXT_JOBS_BASE_URL", "jobs.example.org")
    with pytest.raises(InputError, match="It is set by LABEXT_JOBS_BASE_URL"):
        config.connection("jobs")


@pytest.mark.parametrize("url", ["http://lab.example.org", "http://127.0.0.1:9/api/v2"])
def test_lab_requires_https(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    with pytest.raises(InputError, match="requires HTTPS") as caught:
        config.save_profile("course", "lab", url)
    assert "https://" in caught.value.next_step
    monkeypatch.setenv("LABEXT_LAB_BASE_URL", url)
    with pytest.raises(InputError, match="requires HTTPS"):
        config.connection("lab")
    monkeypatch.setenv("LABEXT_JOBS_BASE_URL", url)
    assert config.connection("jobs").base_url == url


def test_session_can_override_options_of_a_profile() -> None:
    config.save_profile("course", "lab", "https://lab.example.org", {"method": "key"})
    config.choose_profile("lab", "course", {"method": "oauth", "user": "ada@example.org"})
    assert config.connection("lab").options == {"method": "oauth", "user": "ada@example.org"}
    assert config.connection("lab", "course").options == {"method": "key"}
    config.choose_profile("lab", "course")
    assert config.connection("lab").options == {"method": "key"}


def test_sign_out_keeps_secrets_in_the_keyring(ring: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    config.save_profile("course", "jobs", "https://course.example/api/")
    config.save_secret("jobs", "course", "api_key", "kept-key")
    config.choose_profile("jobs", "course")
    config.sign_out("jobs")
    assert config.connection("jobs").secrets == {}
    assert config.connection_with_secrets("jobs").secrets == {"api_key": "kept-key"}
    assert config.connection("jobs", "course").secrets == {"api_key": "kept-key"}
    config.choose_profile("jobs", "course")
    assert config.connection("jobs").secrets == {"api_key": "kept-key"}
    assert ring.secrets


def test_sign_out_forgets_secrets_of_the_session() -> None:
    url = "https://jobs.example.org/api/"
    config.use_connection(config.Connection("jobs", None, url, {"api_key": "typed-key"}))
    config.sign_out("jobs")
    assert config.connection_with_secrets("jobs").secrets == config.connection("jobs").secrets == {}
    assert config.connection("jobs").base_url == url


def test_client_id_is_not_masked() -> None:
    secrets = {"client_id": "client_abc123", "client_secret": "hidden-abc123"}
    config.use_connection(config.Connection("lab", None, "https://lab.example.org", secrets))
    assert mask("client_abc123 and hidden-abc123") == "client_abc123 and •••"


def test_sandbox_takes_missing_secrets_from_the_environment(
    isolated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running_sandbox(isolated / "sandbox")
    monkeypatch.setenv("LABEXT_JOBS_API_KEY", "key-of-another-service")
    assert config.connection("jobs", "sandbox").secrets == {"api_key": "sandbox-key"}
    known = {"lab": {"base_url": "https://localhost:1", "api_key": "sandbox-key"}}
    (isolated / "sandbox" / "connection.json").write_text(json.dumps(known))
    monkeypatch.setenv("LABEXT_LAB_ID_TOKEN", "token-of-the-student")
    assert config.connection("lab", "sandbox").secrets == {
        "api_key": "sandbox-key",
        "id_token": "token-of-the-student",
    }
