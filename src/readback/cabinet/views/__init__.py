"""The views, one module per page: read with selectors, change with services, render.

Queries live in `selectors.py` and rules in `services.py`, not here.
"""
