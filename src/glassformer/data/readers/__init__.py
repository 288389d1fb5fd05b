"""Readers: files of every kind to records, one for each unit of the input."""
