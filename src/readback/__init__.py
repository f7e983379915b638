"""Readback: a connection-test API that reads one message back, unchanged.

Only the version lives here. Importing the package must stay free of cost and of
side effects: the command line, the API and the cabinet each import what they need.
"""

__version__ = "0.1.0"
