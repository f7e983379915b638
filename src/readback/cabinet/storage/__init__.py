"""Storage: the database and its schema, private files, and encryption.

Nothing here knows what an account or a key is for.
"""
