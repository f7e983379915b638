"""What is stored: the database and its schema, private files, and what is encrypted.

Nothing here knows what an account or a key is for.
"""
