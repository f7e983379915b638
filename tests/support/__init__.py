"""Helpers for several folders of tests; there are no fixtures and no tests here.

Most of them use the product from outside. Some run parts of it in the test process:
echo_server.py and listener.py with sockets, work.py and streams.py without.
"""
