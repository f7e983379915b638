"""Rules of the code base itself: the same fact is the same everywhere."""
