"""Keys: create one, see it once, try it, and watch its requests.

Owners see the requests with their keys as the API recorded them in the database.
"""
