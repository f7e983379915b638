"""Keys: create one, see it once, try it, and watch what arrives with it.

Everything that a key's owner sees about its requests is made here, from what the API
wrote to the database.
"""
