"""`readback migrate` and `readback manage`: the database and Django's commands."""

import click

from readback.cli import django_setup


@click.command()
def migrate() -> None:
    """Migrate the database to this version.

    Several can run at the same time: one migrates, the others wait.
    """
    config = django_setup.set_up_django()
    with django_setup.report_database_errors():
        applied = django_setup.migrate(config)
    for name in applied:
        click.echo(f"applied {name}")
    click.echo("The database is up to date.")


@click.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def manage(arguments: tuple[str, ...]) -> None:
    """Run a Django command; `readback manage help` lists them."""
    config = django_setup.set_up_django()
    from django.core.management import execute_from_command_line

    with django_setup.report_database_errors():
        execute_from_command_line(["readback manage", *arguments])
    django_setup.protect_files(config)
