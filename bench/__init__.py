"""The benchmark: Readback compared with nginx, web frameworks and mock servers.

`python -m bench --help` lists its commands. The package uses helpers from
`tests.support`; only its own tests, the soak and the clients import it.
"""
