"""What other programs on this machine would do with the same address and key."""
