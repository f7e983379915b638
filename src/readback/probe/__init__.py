"""The probe: walks the way to a Readback step by step and says where it ends.

One module per layer, from the address to the text that comes back. Each step gives a
finding; what a finding says stands in `diagnoses`. The probe is a client: it needs
the contract, the form of a key, httpx and rich, and nothing of the server.
"""
