"""The soak: hours of random echoes while the service is reloaded, killed and cut off.

`python -m soak --help` explains its options. `runner.py` runs the service and breaks
things, `clients.py` sends and records, and `verdicts.py` with the modules that it uses
decides from the records alone. The package uses `bench` and `tests.support`; only its
own tests import it.
"""
