"""Readback: a connection-test API that returns one message unchanged.

Only the version lives here. Importing the package must stay cheap and free of side
effects: the command line, the API and the cabinet each import what they need.
"""

__version__ = "1.0.0"
