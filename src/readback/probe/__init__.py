"""The probe: tests the connection to a Readback server step by step.

A run first checks what was `entered`, then the `connection`, then the `service`. Each
step returns diagnoses, whose wording is in `texts`. `runner` lists the steps and runs
them, and `output` shows the report. The steps share `common` and `transport`. The probe
has to run wherever client programs run, so it needs only Python 3.9 and certifi.
"""
