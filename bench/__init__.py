"""The benchmark: Readback compared with nginx, web frameworks and mock servers.

`python -m bench --help` lists its commands. It may import `tests.support` for a real
server, PostgreSQL and load; no test and no part of the product imports it.
"""
