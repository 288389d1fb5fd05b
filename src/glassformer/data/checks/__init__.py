"""Checks: find problems in the data, drop what cannot be used, and account for every unit."""
