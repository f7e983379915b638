"""Inputs that cost most, and how much work the code does for them."""
