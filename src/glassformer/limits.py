"""The maximum values of numbers that users set. Settings, flags and Python arguments all read them here.

They are far above any real use. They catch typing errors and damaged files, which would otherwise cost hours, abort the
process or overflow. Whether a model fits into this machine's memory is checked separately.
"""

from __future__ import annotations

# Decoding
HYPOTHESES = 1000  # in a beam; also the most samples
TOKENS = 1_000_000  # in one text
NO_REPEAT = 20
PENALTY = 10
TEMPERATURE = 100
SEED = 2**63 - 1

# Pages
PAGE_MB = 64  # million bytes: browsers open larger files slowly
USUAL_PAGE_MB = 24

# Training
STEPS = 1_000_000_000_000
EPOCHS = 1_000_000
BATCH_TOKENS = 100_000_000
ACCUMULATE = 1_000_000
THREADS = 1024
RANKS = 65_536
MINUTES = 525_600  # a year

# Text and data
VOCABULARY = 1_000_000  # of a tokenizer that is trained here; imported ones may be larger
PHRASES = 1_000_000  # in the phrasebook
SIDE = 2048  # pixels of training images, high or wide
SCENES = 1_000_000  # drawn

# Word vectors
WORD_WIDTH = 10_000
WINDOW = 1000  # words on each side
NEGATIVES = 1000
TOKENS_COUNTED = 1_000_000_000_000
SHUFFLES = 1000

# Models
BLOCKS = 1000
WIDTH = 2**20
HEADS = 4096
PIECES = 2**24  # rows of an embedding
POSITIONS = 2**24
CLASSES = 2**20
WORD_ROWS = 2**24
EXPERTS = 4096
PIXELS = 2**16  # height or width
CHANNELS = 1024
RATIO = 1e15  # bases and factors of rotary positions, and other plain numbers
