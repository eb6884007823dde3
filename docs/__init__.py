"""The pages of the documentation, and what its build needs."""
