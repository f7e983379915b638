"""The house's own rules: what is said in one place is true in the others."""
