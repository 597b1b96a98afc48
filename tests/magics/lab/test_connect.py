"""`%lab connect`, `login` and `logout`: three ways to sign in, prompts and stored secrets."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_fixtures import MemoryKeyring
from IPython.core.interactiveshell import InteractiveShell
from labext_test_shell import Run, User

from labext import config
from labext.errors import InputError, NotFoundError, SetupError, SignInError, UnreachableError
from labext.frames.views import frame_text
from labext.sandbox import Sandbox

pytestmark = pytest.mark.contract

WRONG = "typed-but-wrong-0123456789"
STUDENT = "student@sandbox.local"


@pytest.fixture
def shell(shell_without_sandbox: InteractiveShell) -> InteractiveShell:
    return shell_without_sandbox


@pytest.fixture
def sandbox(run: Run, box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A session that uses the sandbox."""
    monkeypatch.setenv("LABEXT_SANDBOX_DIR", str(box.data_dir))
    run("%lab connect sandbox")
    return run


@pytest.fixture
def address(box: Sandbox) -> str:
    """The tenant's address with a trusted certificate."""
    return f"{box.lab.base_url} --ca-bundle {box.lab.ca_bundle}"


@pytest.fixture
def id_token(command: Callable[[str], Any]) -> str:
    """The identity provider's claims about the student."""
    return str(command("lab").json("id-token", STUDENT)["id_token"])


def status(run: Run) -> dict[str, str]:
    return dict(run("%lab status")["value"])


def who(run: Run) -> dict[str, Any]:
    identity = run("%lab whoami").iloc[0].astype("object")
    return dict(identity.where(identity.notna(), None))


def test_sandbox_sign_in_prompts_for_nothing(sandbox: Run, user: User, box: Sandbox) -> None:
    assert "\napp" not in frame_text(sandbox("%lab whoami")), "it has no value"
    assert who(sandbox) == {
        "name": "Sam Student",
        "email": STUDENT,
        "method": "key",
        "address": box.lab.base_url,
        "app": None,
    }
    sandbox("%lab login --method oauth")
    assert who(sandbox)["method"] == "oauth"
    assert who(sandbox)["app"] == box.lab.client_id
    assert who(sandbox)["email"] is None
    assert 0 < int(status(sandbox)["token expires in"].split()[0]) < 15
    sandbox(f"%lab login --method oauth --user {STUDENT}")
    assert (who(sandbox)["email"], who(sandbox)["app"]) == (STUDENT, box.lab.client_id)
    sandbox("%lab login --method oauth")
    assert who(sandbox)["email"] is None
    sandbox("%lab login --method key")
    assert who(sandbox)["email"] == STUDENT
    assert "token expires in" not in status(sandbox)
    assert not user.hidden_prompts
    assert not user.visible_prompts


def test_sandbox_secret_gets_an_id_token(
    sandbox: Run, user: User, box: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    sandbox("%lab login --method oidc")
    assert "by ID token" in capsys.readouterr().out
    assert (who(sandbox)["email"], who(sandbox)["method"]) == (STUDENT, "oidc")
    assert int(status(sandbox)["token expires in"].split()[0]) > 50
    assert not user.hidden_prompts
    assert not user.visible_prompts
    sandbox("%lab logout")
    assert status(sandbox)["signed in as"] == "nobody"
    sandbox("%lab login --method oidc")
    assert who(sandbox)["method"] == "oidc"
    sandbox("%lab connect sandbox --method oidc")
    assert who(sandbox)["method"] == "oidc"


def test_refused_sandbox_secret_leads_to_a_token_prompt(
    sandbox: Run, user: User, id_token: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    known = config.connection_with_secrets("lab")
    stale = replace(known, secrets={**known.secrets, "oidc_secret": WRONG})
    user.answers = [id_token]
    with monkeypatch.context() as patch:
        patch.setattr(config, "connection_with_secrets", lambda *_: stale)
        sandbox("%lab login --method oidc")
    out = capsys.readouterr().out
    assert "not accepted" in out
    assert WRONG not in out
    assert len(user.hidden_prompts) == 1
    assert (who(sandbox)["email"], who(sandbox)["method"]) == (STUDENT, "oidc")


def test_id_token_from_environment_or_prompt(
    run: Run, address: str, user: User, id_token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = f"%lab connect {address} --method oidc"
    with pytest.raises(SetupError) as error_info:
        run(connect)
    assert "LABEXT_LAB_ID_TOKEN" in error_info.value.next_step
    assert f"id-token {STUDENT}".split()[0] in error_info.value.next_step
    user.answers = [id_token]
    run(connect)
    assert (who(run)["email"], who(run)["method"]) == (STUDENT, "oidc")
    assert "token expires in" in status(run)
    assert not user.offers  # it will have expired tomorrow
    run("%lab logout")
    monkeypatch.setenv("LABEXT_LAB_ID_TOKEN", id_token)
    run("%lab login --method oidc")
    assert who(run)["method"] == "oidc"
    assert len(user.hidden_prompts) == 2


def test_refused_key_is_prompted_again_by_the_same_line(
    sandbox: Run, box: Sandbox, address: str, user: User
) -> None:
    user.answers = [WRONG, box.lab.api_key]
    with pytest.raises(SignInError, match="rejected the API key") as caught:
        sandbox(f"%lab connect {address}")
    step = "Run this line again, and enter another key. `%lab` still uses"
    assert caught.value.next_step.startswith(step)
    assert status(sandbox)["profile"] == "sandbox", "nothing has changed"
    sandbox(f"%lab connect {address}")
    assert status(sandbox)["profile"] != "sandbox"


def test_typed_key_is_offered_to_the_keyring(
    run: Run, box: Sandbox, address: str, user: User, ring: MemoryKeyring, isolated: Path
) -> None:
    user.answers = [box.lab.api_key, box.lab.api_key]
    run(f"%lab connect {address} --save work")
    assert user.offers == 1
    assert not ring.secrets
    assert box.lab.base_url in user.hidden_prompts[0]
    user.keeps = True
    run("%lab logout")
    run("%lab login")
    assert ring.secrets == {("labext", "work/lab/api_key"): box.lab.api_key}
    config.forget_session()
    run("%lab connect work")
    assert who(run)["email"] == STUDENT
    assert len(user.hidden_prompts) == user.offers == 2
    assert box.lab.api_key not in (isolated / "config" / "profiles.toml").read_text()


def test_client_id_prompt_is_visible(
    run: Run, box: Sandbox, address: str, user: User, ring: MemoryKeyring
) -> None:
    user.answers = [box.lab.client_id, box.lab.client_secret]
    run(f"%lab connect {address} --save work --method oauth --keep")
    assert [len(user.visible_prompts), len(user.hidden_prompts), user.offers] == [1, 1, 0]
    assert ring.secrets == {
        ("labext", "work/lab/client_id"): box.lab.client_id,
        ("labext", "work/lab/client_secret"): box.lab.client_secret,
    }
    assert config.connection("lab", "work").options["method"] == "oauth"
    config.forget_session()
    run("%lab connect work")
    assert who(run)["app"] == box.lab.client_id


def test_sign_in_method_is_saved_with_the_profile(
    run: Run, box: Sandbox, address: str, user: User, ring: MemoryKeyring
) -> None:
    user.answers = [box.lab.api_key, box.lab.client_id, box.lab.client_secret]
    run(f"%lab connect {address} --save work --keep")
    run("%lab login --method oauth --keep")
    config.forget_session()
    run("%lab connect work")
    assert who(run)["method"] == "oauth"
    run("%lab connect work --method key")
    assert who(run)["method"] == "key"
    assert len(ring.secrets) == 3


def test_no_prompt_without_standard_input(run: Run, address: str, user: User) -> None:
    for method, variables in {
        "key": ["LABEXT_LAB_API_KEY"],
        "oauth": ["LABEXT_LAB_CLIENT_ID", "LABEXT_LAB_CLIENT_SECRET"],
        "oidc": ["LABEXT_LAB_ID_TOKEN"],
    }.items():
        with pytest.raises(SetupError, match="input is not possible here") as caught:
            run(f"%lab connect {address} --method {method}")
        assert all(variable in caught.value.next_step for variable in variables)


def test_signing_out_and_in_again(
    sandbox: Run, box: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    sandbox("%lab logout")
    for line in ("%lab whoami", "%lab sequences", "%lab show pBAD30"):
        with pytest.raises(SignInError) as caught:
            sandbox(line)
        assert "`%lab login`" in caught.value.next_step
    capsys.readouterr()
    assert status(sandbox)["signed in as"] == "nobody"
    assert "`%lab login`" in capsys.readouterr().out
    assert status(sandbox)["address"] == box.lab.base_url
    sandbox("%lab login")
    assert who(sandbox)["email"] == STUDENT


def test_logout_keeps_the_keyring_by_default(
    run: Run, box: Sandbox, address: str, user: User, ring: MemoryKeyring,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    user.answers = [box.lab.api_key]
    run(f"%lab connect {address} --save work --keep")
    run("%lab logout")
    assert "`--yes` deletes it too" in capsys.readouterr().out
    run("%lab login")
    assert len(user.hidden_prompts) == 1
    run("%lab logout --yes")
    assert not ring.secrets
    with pytest.raises(SetupError, match="needs a key"):
        run("%lab login")


def test_logout_says_that_the_keyring_refused_to_delete_its_entry(
    run: Run, box: Sandbox, address: str, user: User, ring: MemoryKeyring,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    user.answers = [box.lab.api_key]
    run(f"%lab connect {address} --save work --keep")
    monkeypatch.setattr(ring, "delete_password", lambda *_: None)
    run("%lab logout --yes")
    assert "The keyring refused to delete its entry" in capsys.readouterr().out


def test_typed_key_is_forgotten_at_logout(run: Run, box: Sandbox, address: str, user: User) -> None:
    user.answers = [box.lab.api_key]
    run(f"%lab connect {address}")
    assert not user.offers  # there is no profile to store it under
    run("%lab logout")
    with pytest.raises(SetupError, match="needs a key"):
        run("%lab login")


def test_unencrypted_remote_address_is_not_contacted(run: Run, user: User) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        plain = f"http://127.0.0.1:{listening.getsockname()[1]}"
        for line in (f"%lab connect {plain}", f"%lab connect {plain} --save work"):
            with pytest.raises(InputError, match="requires HTTPS") as caught:
                run(line)
            assert "https://" in caught.value.next_step
        with pytest.raises(BlockingIOError):
            listening.accept()
    assert not user.hidden_prompts
    assert config.profile_names() == []


def test_untrusted_certificate_is_reported_before_the_key_prompt(
    run: Run, box: Sandbox, user: User
) -> None:
    user.answers = [box.lab.api_key]
    with pytest.raises(SetupError, match="not trusted"):
        run(f"%lab connect {box.lab.base_url}")
    assert not user.hidden_prompts


def test_unreachable_host_is_reported_before_the_key_prompt(run: Run, user: User) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy_socket:
        port = busy_socket.getsockname()[1]
    with pytest.raises(UnreachableError, match="No lab platform answers"):
        run(f"%lab connect https://127.0.0.1:{port}")
    assert not user.hidden_prompts


def test_another_server_is_not_a_platform_and_gets_no_key(
    run: Run, box: Sandbox, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = box.lab.oidc_configuration_url.removesuffix("/.well-known/openid-configuration")
    line = f"%lab connect {provider} --ca-bundle {box.lab.ca_bundle}"
    with pytest.raises(NotFoundError, match="no list of sequences at this address"):
        run(line)
    assert not user.hidden_prompts
    monkeypatch.setenv("LABEXT_LAB_API_KEY", WRONG)
    with pytest.raises(NotFoundError, match="no list of sequences at this address"):
        run(line)


CONFLICTS = [
    ("%lab connect URL --keep", "stores credentials for a profile"),
    ("%lab connect sandbox --keep", "stores credentials for a profile"),
    ("%lab connect URL --save sandbox", "reserved for the sandbox"),
    ("%lab connect URL --save other", "already exists"),
    ("%lab connect other --save more", "need an address"),
    ("%lab connect ohter", "no profile ohter"),
    ("%lab connect jobs", "no address for lab"),
    ("%lab connect odd", 'has no sign-in method "magic"'),
    ("%lab connect URL --method magic", "key, oauth or oidc"),
    ("%lab connect URL --save 'a b'", "not a valid profile name"),
    ("%lab connect https://lab.example.org --ca-bundle nosuch.pem", "no file nosuch.pem"),
    ("%lab connect lab.example.org", "%lab connect https://lab.example.org"),
    ("%lab connect localhost:8443/api", "%lab connect https://localhost:8443/api"),
    ("%lab connect https://", "begins with https://, a host"),
    ("%lab connect https://lab.example.org --ca-bundle junk.pem", "contains no certificate"),
    ("%lab login --user ada@example.org", "so it needs `--method oauth`"),
    ("%lab login --method key --user ada@example.org", "so it needs `--method oauth`"),
]


def test_conflicting_options_are_refused(sandbox: Run, address: str) -> None:
    config.save_profile("other", "lab", "https://lab.example.org")
    config.save_profile("jobs", "jobs", "https://jobs.example.org/api/")
    config.save_profile("odd", "lab", "https://lab.example.org", {"method": "magic"})
    Path("junk.pem").write_text("no certificate")
    for line, message in CONFLICTS:
        with pytest.raises((InputError, SetupError), match=message):
            sandbox(line.replace("URL", address))
    assert who(sandbox)["email"] == STUDENT


def test_secret_on_a_line_is_refused_and_masked(
    run: Run, capsys: pytest.CaptureFixture[str], address: str
) -> None:
    for line in (
        "%lab connect URL KEY",
        "%lab login --client-secret=KEY",
        "%lab login --id-token KEY",
        "%lab connect https://me:KEY@127.0.0.1/",
    ):
        with pytest.raises(InputError, match="history") as caught:
            run(line.replace("URL", address).replace("KEY", WRONG))
        assert "`%lab connect`" in caught.value.next_step
        assert "LABEXT_LAB_API_KEY" in caught.value.next_step
        assert "JOBS" not in str(caught.value)
        assert WRONG not in capsys.readouterr().out + str(caught.value)


def test_no_secret_is_in_history_or_output(
    sandbox: Run, shell: InteractiveShell, box: Sandbox, address: str, user: User, id_token: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    user.answers = [box.lab.client_id, box.lab.client_secret, id_token]
    outputs = [
        str(sandbox(line))
        for line in (
            "%lab sandbox status",
            "%lab status",
            f"%lab connect {address} --method oauth",
            "%lab status",
            "%lab whoami",
            "%lab login --method oidc",
            "%lab status",
            "%lab whoami",
            "%lab sequences --limit 1",
            "%lab logout",
            "%lab status",
        )
    ]
    assert not user.answers
    outputs += [capsys.readouterr().out, *shell.history_manager.input_hist_raw]
    outputs += [repr(value) for name, value in shell.user_ns.items() if name[:1] != "_"]
    for secret in (box.lab.api_key, box.lab.client_secret, id_token):
        assert secret not in "".join(outputs)
