"""Checks: what is wrong with sentences, what is dropped for it, and every unit accounted for."""
