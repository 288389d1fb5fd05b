"""Where examples come from: files, read once to check and choose, and again as a stream whenever they are needed."""
