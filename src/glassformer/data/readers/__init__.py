"""Readers: turn files of every kind into records, one for each unit of the input."""
