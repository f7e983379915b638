"""What responds at the address: which service it is, and whether it works."""
