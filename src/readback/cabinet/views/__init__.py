"""The pages, one module each: read with selectors, change with services, render.

No module here writes SQL or decides who may do what to an account; what a page
shares with another stands in `selectors.py`.
"""
