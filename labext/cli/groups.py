"""Command groups, shared options and tables of the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import update_wrapper
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from labext import config, messages
from labext.config import secret_store
from labext.errors import ConflictError, InputError, SetupError

if TYPE_CHECKING:
    from labext.sandbox import Sandbox
    from labext.sandbox.core.administration import Administration, Record
    from labext.sandbox.core.data_folder import Kind

Result = tuple["Record | list[Record]", str] | tuple["Record | list[Record]", str, int]
"""The record of a command, its text, and the exit code if it is not 0."""

Function = Callable[..., Any]
Decorator = Callable[[Any], Any]

data_dir = click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Data folder (default: in the platform's folder for user data).",
)
confirmed = click.option("--yes", is_flag=True, help="Confirm the removal.")


people_argument = click.argument("file", type=click.Path(path_type=Path))
keys_option = click.option(
    "--keys",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Create a key for each, and write them to a new CSV file.",
)


def option(name: str, metavar: str, help: str, **settings: Any) -> Decorator:
    """Declare an option that takes a text."""
    return click.option(name, metavar=metavar, help=help, **settings)


def profile_option(service: str, noun: str) -> Decorator:
    """Declare the option that stores created credentials; see `labext.cli.groups`."""
    return option("--profile", "NAME", f"Store address and {noun} for %{service} connect NAME.")


class Group(click.Group):
    """A group that keeps the order of its commands, has aliases and imports modules on first use.

    Attributes:
        aliases: other names of commands.
        modules: commands that are not imported yet, with their modules.
    """

    def __init__(self, name: str, help: str) -> None:
        super().__init__(name, help=help, no_args_is_help=False)
        self.aliases: dict[str, str] = {}
        self.modules: dict[str, str] = {}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse a command line; without a command, print the help and exit with 2."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """List the commands in the order of their definition."""
        return list(dict.fromkeys([*self.commands, *self.modules]))

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return a command by its name or alias."""
        name = self.aliases.get(name, name)
        if name in self.modules and name not in self.commands:
            self.add_command(getattr(import_module(self.modules[name]), name))
        return super().get_command(ctx, name)


class VerbGroup(Group):
    """A group of commands that return a record and its text; they take `--json` and `--data-dir`.

    Args:
        name: of the group.
        help: its first sentence.
        options: further options that all its commands take.
    """

    def __init__(self, name: str, help: str, *options: Decorator) -> None:
        super().__init__(name, help)
        self.options = options

    def verb(self, name: str, *aliases: str, help: str | None = None) -> Decorator:
        """Add a command; its help is `help`, by default the function's docstring."""

        def add(function: Function) -> Function:
            def run(data_dir: Path | None, as_json: bool, **arguments: Any) -> int | None:
                _check_encoding(arguments.values())
                from labext.sandbox.core.data_folder import DataFolder, use_commands

                folder = DataFolder(data_dir or default_data_dir())
                kind: Kind = "server" if program() == "labext server" else "sandbox"
                folder.check_user()
                folder.check_kind(kind)
                with use_commands(kind, folder.path):
                    record, text, *code = self.call(function, data_dir, arguments)
                print(json.dumps(record, indent=2) if as_json else text)
                return next(iter(code), 0) or None

            command: Function = update_wrapper(run, function)
            # A copy, since the commands of two groups may share a function.
            parameters = list(getattr(function, "__click_params__", ()))
            command.__dict__["__click_params__"] = parameters
            as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
            for declare in (as_json, data_dir, *self.options):
                command = declare(command)
            self.command(name, help=help)(command)
            self.aliases |= dict.fromkeys(aliases, name)
            return function

        return add

    def call(self, function: Function, data_dir: Path | None, arguments: dict[str, Any]) -> Result:
        """Call a command's function on the sandbox in a folder."""
        raise NotImplementedError


class ServiceGroup(VerbGroup):
    """The commands that administer a service: `labext sandbox SERVICE NOUN VERB`."""

    def __init__(self, service: str, name: str, help: str, *options: Decorator) -> None:
        super().__init__(name, help, *options)
        self.service = service

    def noun(self, name: str, help: str, *options: Decorator) -> ServiceGroup:
        """Add a group of commands."""
        group = ServiceGroup(self.service, name, help, *options)
        self.add_command(group)
        return group

    def call(self, function: Function, data_dir: Path | None, arguments: dict[str, Any]) -> Result:
        """Call a command's function with the administration of the service."""
        from labext.sandbox.lifecycle import check_system

        check_system()
        arguments.pop("profile", None)  # which `labext.cli.groups` reads
        administration = import_module(f"labext.sandbox.{self.service}.administration")
        with administration.open_administration(data_dir or default_data_dir()) as admin:
            if "tenant" in arguments:
                admin = admin.of(arguments.pop("tenant"))
            result: Result = function(admin, **arguments)
        return result

    def add_limits(self) -> None:
        """Add the noun `limits`: the limits of the service, which its administrator may change."""
        limits = self.noun("limits", "Limits of the service.")

        def known() -> Any:
            return import_module(f"labext.sandbox.{self.service}.limits").LIMITS

        @limits.verb("set", "add")
        @click.argument("name")
        @click.argument("value")
        def set_limit(admin: Administration, name: str, value: str) -> Result:
            """Set a limit of the service.

            `limits list` shows the names. VALUE is a whole number; a size in bytes may also be
            given as 500MB or 2GiB.
            """
            number = known().parse(name, value)
            with admin.database.write() as session:
                changed = known().set(session, name, number)
            return changed, f"{changed['name']} is {changed['value']:,}."

        @limits.verb("list")
        def list_limits(admin: Administration) -> Result:
            """List the limits."""
            with admin.database.read() as session:
                records = known().records(session)
            return listing(records, "name", "value", "default", "about")

        @limits.verb("remove")
        @click.argument("name")
        def remove_limit(admin: Administration, name: str) -> Result:
            """Reset a limit to its default."""
            with admin.database.write() as session:
                changed = known().set(session, name, None)
            return changed, f"{changed['name']} is {changed['value']:,} again."


def program() -> str:
    """Return the program and group of the current command: `labext sandbox` or `labext server`."""
    context = click.get_current_context(silent=True)
    words = context.command_path.split() if context else []
    return "labext server" if words[1:2] == ["server"] else "labext sandbox"


def default_data_dir() -> Path:
    """Return the usual data folder of what the current command administers."""
    return config.server_dir() if program() == "labext server" else config.sandbox_dir()


def _check_encoding(values: Iterable[Any]) -> None:
    """Refuse texts that are not UTF-8; a shell passes on any bytes."""
    for value in values:
        try:
            if isinstance(value, str):
                value.encode()
        except UnicodeEncodeError:
            raise InputError(
                f"{value!a} is not valid UTF-8.", "Type it again, or set the terminal to UTF-8."
            ) from None


def at_most_one(**options: str | None) -> tuple[str, str] | None:
    """Return the name and value of the option that is set; None if none is.

    Raises:
        click.UsageError: several are set.
    """
    chosen = [(name, value) for name, value in options.items() if value is not None]
    if len(chosen) > 1:
        raise click.UsageError(f"Give only one of {_flags(options)}.")
    return chosen[0] if chosen else None


def exactly_one(**options: str | None) -> tuple[str, str]:
    """Return the name and value of the one option that is set; else click.UsageError."""
    chosen = at_most_one(**options)
    if chosen is None:
        raise click.UsageError(f"Give one of {_flags(options)}.")
    return chosen


def _flags(options: Iterable[str]) -> str:
    return ", ".join(f"--{name}" for name in options)


def listing(
    records: Sequence[Record], *columns: str, rows: Iterable[Mapping[str, Any]] | None = None
) -> Result:
    """Return records with their table; `rows` are the cells, if they differ from the records."""
    return list(records), table(records if rows is None else list(rows), *columns)


def table(records: Iterable[Mapping[str, Any]], *columns: str) -> str:
    """Align columns of records: numbers to the right, all else to the left."""
    rows = [[record[column] for column in columns] for record in records]
    if not rows:
        return "None."
    cells = [list(columns), *([_cell(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    signs = [">" if isinstance(value, int | float) else "<" for value in rows[0]]
    line = "  ".join(f"{{:{sign}{width}}}" for sign, width in zip(signs, widths, strict=True))
    return "\n".join(line.format(*row).rstrip() for row in cells)


def imported(records: list[Record], noun: str, file: Path, keys: Path | None) -> Result:
    """Return records that were created for the people in a file, with their number."""
    text = f"{messages.pluralize(len(records), noun)} of {file.name} created"
    return records, f"{text}." if keys is None else f"{text}; their keys are in {keys}."


def removed_with(record: Record, *names: str) -> str:
    """Return ` with 2 keys, 1 job`, the objects removed along with another."""
    lost = [
        messages.pluralize(record[name], name.removesuffix("s")) for name in names if record[name]
    ]
    return f" with {', '.join(lost)}" if lost else ""


def _cell(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, int):
        return f"{value:,}"
    return messages.format_number(value) if isinstance(value, float) else str(value)


def issue_credentials(
    service: config.Service,
    secrets: Mapping[str, str],
    create: Callable[[], Record],
    connection: Callable[[Sandbox], tuple[str, Mapping[str, str]]],
) -> tuple[Record, str]:
    """Create credentials, and print or store them as `--json` and `--profile` require.

    Args:
        service: `lab`, `jobs` or `nb`.
        secrets: by name, as in `secret_store.NAMES`.
        create: makes them valid and returns a record.
        connection: returns the address and options of the profile; called only to store them.

    Returns:
        The record with the profile, and with the secrets if they are to be printed; and how the
        stored ones are used.
    """
    from labext.sandbox import Sandbox

    options = click.get_current_context().params
    profile, as_json = options["profile"], options["as_json"]
    if not as_json and profile is None:
        raise InputError(
            "A secret is shown or stored only once, when it is created, and neither was requested.",
            "Add `--profile NAME` to store it, or `--json` to print it.",
        )
    visible = dict(secrets) if as_json else {}
    if profile is None:
        return create() | visible, "printed once"
    base_url, settings = connection(Sandbox(options["data_dir"] or default_data_dir()))
    with _stored_profile(service, profile, secrets, base_url, settings):
        record = create()
    stored = f"stored in the keyring: `%{service} connect {profile}` uses it"
    return record | {"profile": profile, "base_url": base_url} | visible, stored


@contextmanager
def _stored_profile(
    service: config.Service,
    profile: str,
    secrets: Mapping[str, str],
    base_url: str,
    settings: Mapping[str, str],
) -> Iterator[None]:
    """Store secrets in the keyring with a profile; restore the former ones if the block fails."""
    config.check_profile_name(profile)
    address = config.service_url(service, base_url)
    entry = config.read_profiles().get(profile, {}).get(service)
    other = entry.get("base_url") if isinstance(entry, dict) else None
    if other is not None and other != address:
        raise ConflictError(
            f"The profile {profile} exists already, for {other}.", "Choose another name."
        )
    with ExitStack() as undo:
        for name, value in secrets.items():
            former = secret_store.saved_secret(service, profile, name)
            undo.callback(_restore, service, profile, name, former)
            if not config.save_secret(service, profile, name, value):
                raise SetupError(
                    "There is no keyring here that stores a secret, so none was created.",
                    f"Add `--json` instead of `--profile`; `%{service} connect {address} --save "
                    f"{profile}` prompts for the printed values.",
                )
        former_profiles = config.save_profile(profile, service, address, settings)
        undo.callback(config.write_profiles, former_profiles)
        yield
        undo.pop_all()


def _restore(service: config.Service, profile: str, name: str, value: str | None) -> None:
    if value is None:
        config.forget_secret(service, profile, name)
    else:
        config.save_secret(service, profile, name, value)
