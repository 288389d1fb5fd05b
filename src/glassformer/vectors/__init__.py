"""Static word vectors: one vector per word, whatever its sentence.

import glassformer as gf

vectors = gf.vectors.train("corpus.txt")
vectors.neighbours("king")
vectors.analogy(["king", "woman"], ["man"])
vectors.save("corpus.vec")
gf.vectors.load("glove.6B.100d.txt").odd_one_out(["breakfast", "cereal", "dinner", "car"])
"""

from __future__ import annotations

from glassformer.vectors.reading import load
from glassformer.vectors.training import train
from glassformer.vectors.word_vectors import Neighbour, OddOne, Similarity, WordVectors, similarity

__all__ = ["Neighbour", "OddOne", "Similarity", "WordVectors", "load", "similarity", "train"]
