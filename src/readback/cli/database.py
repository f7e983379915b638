"""`readback migrate` and `readback manage`: the database, and Django's own tools."""

import click

from readback.cli import cabinet


@click.command()
def migrate() -> None:
    """Bring the database to this version; safe to run several at once."""
    cabinet.set_up()
    from readback.cabinet import schema

    with cabinet.database_faults():
        applied = schema.migrate()
    for name in applied:
        click.echo(f"applied {name}")
    click.echo("The database is up to date.")


@click.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def manage(arguments: tuple[str, ...]) -> None:
    """Run one of Django's own commands; `readback manage help` lists them."""
    cabinet.set_up()
    from django.core.management import execute_from_command_line

    with cabinet.database_faults():
        execute_from_command_line(["readback manage", *arguments])
