"""The soak: hours of random echoes while the service is reloaded, killed and cut off.

`python -m soak --help` explains its options. `scene.py` runs the service and its
clients and breaks things; `clients.py` sends and records; `verdicts.py` and the modules
that it uses decide from the records alone. It may import `bench` and `tests.support`;
apart from its own tests nothing imports it.
"""
