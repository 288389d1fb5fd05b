"""The small cases of the lecture notes, run for real."""
