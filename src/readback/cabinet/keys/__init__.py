"""Keys: create one, see it once, try it, and watch what arrives with it.

What owners see about the requests of their keys comes from what the API wrote to the
database.
"""
