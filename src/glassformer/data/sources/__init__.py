"""Sources of examples: files, read once to check and split them, and again as a stream whenever they are needed."""
