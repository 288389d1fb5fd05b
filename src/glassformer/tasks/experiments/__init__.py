"""Experiments: comparisons of the literature, repeated in small on your own data. `glassformer experiment NAME`."""
