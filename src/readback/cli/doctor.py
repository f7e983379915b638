"""`readback doctor`: check this installation without changing anything."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import click

from readback.cli import console
from readback.cli.database import report_database_errors
from readback.cli.exit_codes import CannotStart, ExitCode
from readback.config import read
from readback.setting_values import ConfigError

_SETTINGS = "settings"


class CheckResult(NamedTuple):
    status: str
    check: str
    found: str


@click.command()
@console.json_option
@console.flag("--offline", help="Do not ask the public addresses.")
@click.pass_context
def doctor(context: click.Context, as_json: bool, offline: bool) -> None:
    """Check settings, database, mail, login provider and public addresses.

    Changes nothing. The exit code is 3 if a setting is invalid, and 1 if another check
    fails; warnings do not count.
    """
    results = list(_results(offline))
    if as_json:
        console.print_json([result._asdict() for result in results])
    else:
        console.print_rows(("", "check", "found"), results)
    failed = [result.check for result in results if result.status == "fail"]
    if _SETTINGS in failed:
        context.exit(ExitCode.CANNOT_START)
    context.exit(ExitCode.FAILURE if failed else ExitCode.OK)


def _results(offline: bool) -> Iterator[CheckResult]:
    from readback.cabinet.pages import brand
    from readback.cli import checks

    try:
        config = read()
        brand.read(config)
    except ConfigError as error:
        # Every other check depends on the settings.
        for problem in error.problems:
            yield CheckResult("fail", _SETTINGS, problem)
        return
    yield CheckResult("ok", _SETTINGS, "all are valid")
    for name, check in (
        ("secret key", checks.secret_key),
        ("permissions", checks.permissions),
        ("certificate", checks.certificate),
        ("READBACK_PUBLIC_BASE_URL", checks.api_address),
        ("READBACK_CABINET_URL", checks.cabinet_address),
        ("mail", checks.mail),
        ("single sign-on", checks.provider),
    ):
        yield from _try(name, partial(check, config))
    [database] = _try("database", partial(checks.database, config))
    yield database
    if database.status == "ok" and not offline:
        from readback.cli import public_addresses

        for name, check_address in public_addresses.checks(config):
            yield from _try(name, check_address)


def _try(name: str, check: Callable[[], str]) -> Iterator[CheckResult]:
    """Yield the check's result, or nothing if the check does not apply."""
    from readback.cli.checks import Doubt

    try:
        with report_database_errors():
            found = check()
    except CannotStart as error:
        yield CheckResult("fail", name, error.message)
    except Doubt as doubt:
        yield CheckResult("warn", name, str(doubt))
    else:
        if found:
            yield CheckResult("ok", name, found)
