"""Rules for the code base itself: a fact is the same wherever it is repeated."""
