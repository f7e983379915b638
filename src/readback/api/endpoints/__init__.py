"""The contract: what each request is answered, decided from memory alone."""
