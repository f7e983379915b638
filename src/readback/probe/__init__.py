"""The probe: tests the connection to a Readback server step by step.

There is one module per layer, from the address to the returned text. Each step returns
a diagnosis; the texts of all diagnoses are in `diagnoses`. The probe is a client: it
needs the contract, the key format, certifi and rich, and no part of the server. It runs
on Python 3.9, older than the server needs: it goes where the programs are.
"""
