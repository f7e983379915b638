"""Serve the cabinet: the worker and its connections, the database, files and errors.

Everything here would be the same for another product. Nothing here knows what an
account or a key is for.
"""
