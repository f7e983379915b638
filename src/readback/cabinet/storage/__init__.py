"""Storage: the database and its schema, private files, and encryption.

Nothing here depends on accounts or keys.
"""
