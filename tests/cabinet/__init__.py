"""The account plane from the inside: models, services, selectors, on both databases."""
