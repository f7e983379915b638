"""Keys: create one, see it once, try it, and watch its requests."""
