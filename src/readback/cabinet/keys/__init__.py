"""Keys: create one, see it once, try it, and watch what arrives with it.

Everything that the owner of a key sees about its requests is made here, from what the
API has written to the database.
"""
