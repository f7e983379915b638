"""`readback doctor`: check everything that a start needs, and change nothing.

If settings are invalid, the report has one line for each of them and nothing else,
because every check depends on the settings.
"""

from collections.abc import Iterator
from dataclasses import fields
from enum import StrEnum
from functools import partial
from typing import NamedTuple

import click

from readback.cli import console, settings
from readback.cli.exit_codes import ExitCode
from readback.config import read
from readback.setting_values import ConfigError


class CheckStatus(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class CheckResult(NamedTuple):
    """One line: what was checked, what was found, what to do."""

    status: CheckStatus
    check: str
    found: str
    action: str = ""


CheckResults = Iterator[CheckResult]
ok, warn, fail = (partial(CheckResult, status) for status in CheckStatus)


@click.command()
@console.json_option
@click.pass_context
def doctor(context: click.Context, as_json: bool) -> None:
    """Check settings, files, certificate, database, clock, mail and addresses.

    Changes nothing. The exit code is 1 if a check fails; warnings do not count.
    """
    settings.require_server_packages()
    results = _results()
    if as_json:
        console.print_json([result._asdict() for result in results])
    else:
        console.print_rows(("", "check", "found", "what to do"), results)
    failed = any(result.status == CheckStatus.FAIL for result in results)
    context.exit(ExitCode.FAILURE if failed else ExitCode.OK)


def _results() -> list[CheckResult]:
    # Here, so that no other command imports what only the checks need.
    from readback.cabinet.serving import brand
    from readback.cli.doctor import database, files, network

    action = "Correct or remove the variable; docs/settings.md lists all of them."
    try:
        config = read()
        action = (
            "Correct or remove the file; docs/branding.md says what it may contain."
        )
        brand.read(config)
    except ConfigError as error:
        return [fail("settings", problem, action) for problem in error.problems]
    changed = sum(getattr(config, row.name) != row.default for row in fields(config))
    results = [ok("settings", f"all valid; {changed} differ from the default")]
    # Each is a generator of results in a module of its subject.
    for check in (
        files.data_directory,
        files.disk,
        files.security_log,
        files.secret_key,
        files.permissions,
        files.secret_files,
        network.certificate,
        network.addresses,
        database.database,
        network.mail_server,
        network.provider,
        network.binds,
    ):
        results += check(config)
    return results
