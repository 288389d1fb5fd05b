"""The built-in corpus: English sentences, their German translations, and the word alignment.

A synchronous grammar builds both sides of each sentence from one description, so gender, case, agreement and word
order are correct, and the word alignment is known. Nothing is downloaded.

    book = phrasebook()
    book.train[0].source, book.train[0].references[0]

A phrase lists every translation that the grammar accepts: du, ihr and Sie for "you" (unless somebody is addressed by
name), perfect and preterite, both orders of a known object and the time, both genders of "teacher". The first one is a
function of the English sentence alone: du, the perfect, the usual order.
"""

from __future__ import annotations

from glassformer.data.phrasebook.aligned import words
from glassformer.data.phrasebook.documents import DOCUMENT_SENTENCES
from glassformer.data.phrasebook.language import LANGUAGES
from glassformer.data.phrasebook.phrase import Phrase
from glassformer.data.phrasebook.split import CONSTRUCTIONS, Phrasebook, document_sentences, phrasebook

__all__ = [
    "CONSTRUCTIONS",
    "DOCUMENT_SENTENCES",
    "LANGUAGES",
    "Phrase",
    "Phrasebook",
    "document_sentences",
    "phrasebook",
    "words",
]
