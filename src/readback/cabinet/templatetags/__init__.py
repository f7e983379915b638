"""Template tags of the cabinet."""
