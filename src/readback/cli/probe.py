"""`readback probe`: passes its arguments on to the probe's own command line.

The probe also runs without click, from the file that the cabinet hands out, so its
options are in `readback.probe.command`.
"""

import click


@click.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def probe(context: click.Context, arguments: tuple[str, ...]) -> None:
    """Find out why a connection does not work."""
    from readback.probe.command import main

    context.exit(main(list(arguments)))
