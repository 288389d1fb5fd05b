"""Claims about Transformers and their ancestors, each measured by an experiment. `glassformer experiment claims`."""
