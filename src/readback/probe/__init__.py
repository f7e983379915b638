"""The probe: tests the connection to a Readback server step by step.

A run reads from left to right: what was `entered`, the `connection`, the `service`.
Each step returns a diagnosis; the texts of all of them are in `texts`. `runner` lists
the steps and runs them, `output` shows the report. `common` and `transport` are what
the steps share. The probe runs where the programs run: on Python 3.9, with certifi.
"""
