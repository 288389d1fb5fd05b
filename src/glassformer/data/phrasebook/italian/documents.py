"""The documents' sentences in Italian, and the correct form of their own Italian example.

The documents have "ti amo molto il cibo" as a label. It mixes two sentences: "Ti amo molto" (I love you very much) and
"Amo molto il cibo" (I love food very much). Both are here; the mixture is not.
"""

from __future__ import annotations

from glassformer.data.phrasebook.documents import phrases_of
from glassformer.data.phrasebook.phrase import Phrase

_TABLE = """
I ate an apple. / Ho mangiato una mela. / 1-0 1-1 2-2 3-3 4-4 / 0-0 / perfect / eat apple
He ate the apple because it was tasty. / Lui ha mangiato la mela perché era gustosa. = Ha mangiato \
la mela perché era gustosa. / 0-0 1-1 1-2 2-3 3-4 4-5 6-6 7-7 8-8 / 0-1 5-6 / it-clause / apple eat \
tasty be
The animal didn't cross the street because it was too tired. / L'animale non ha attraversato la \
strada perché era troppo stanco. / 0-0 1-0 2-1 3-3 4-4 5-5 6-6 8-7 9-8 10-9 11-10 / 2-2 2-3 3-2 7-7 \
/ it-clause / animal street cross tired be
The animal didn't cross the street because it was too wide. / L'animale non ha attraversato la \
strada perché era troppo larga. / 0-0 1-0 2-1 3-3 4-4 5-5 6-6 8-7 9-8 10-9 11-10 / 2-2 2-3 3-2 7-7 / \
it-clause / animal street cross wide be
The chicken didn't cross the road because it was tired. / Il pollo non ha attraversato la strada \
perché era stanco. / 0-0 1-1 2-2 3-4 4-5 5-6 6-7 8-8 9-9 10-10 / 2-3 2-4 3-3 7-8 / it-clause / \
chicken road cross tired be
The chicken didn't cross the road because it was wide. / Il pollo non ha attraversato la strada \
perché era larga. / 0-0 1-1 2-2 3-4 4-5 5-6 6-7 8-8 9-9 10-10 / 2-3 2-4 3-3 7-8 / it-clause / \
chicken road cross wide be
Your cat is a lovely cat. / Il tuo gatto è un gatto adorabile. = Il vostro gatto è un gatto \
adorabile. = Il Suo gatto è un gatto adorabile. / 0-0 0-1 1-2 2-3 3-4 4-6 5-5 6-7 /  / \
predicate-noun / be cat lovely
I love food. / Amo il cibo. / 1-0 2-2 3-3 / 0-0 2-1 / fondness / love food
I like eating ice-cream. / Mi piace mangiare gelato. / 0-0 1-1 2-2 3-3 4-4 /  / gern / eat ice-cream \
like
I love you very much. / Ti amo molto. = Vi amo molto. = La amo molto. / 1-1 2-0 3-2 4-2 5-3 / 0-1 / \
fondness / love
How are you? / Come stai? = Come state? = Come sta? / 0-0 1-1 2-1 3-2 /  / greeting / how are you
Thank you. / Grazie. / 0-0 1-0 2-1 /  / greeting / thank you
Congratulations! / Congratulazioni! = Complimenti! / 0-0 1-1 /  / greeting / congratulations
Nice to meet you. / Piacere di conoscerti. = Piacere di conoscervi. = Piacere di conoscerLa. / 0-0 \
1-1 2-2 3-2 4-3 /  / greeting / nice to meet you
We are friends. / Siamo amici. = Siamo amiche. / 1-0 2-1 3-2 / 0-0 / predicate-noun / be friend
The apple is healthy. / La mela è sana. / 0-0 1-1 2-2 3-3 4-4 /  / predicate / apple healthy be
The apple is better than the orange. / La mela è migliore dell'arancia. / 0-0 1-1 2-2 3-3 4-4 5-4 \
6-4 7-5 /  / comparison / apple orange good than be
The cake tasted of chocolate. / La torta sapeva di cioccolato. / 0-0 1-1 2-2 3-3 4-4 5-5 /  / \
tasting / cake chocolate taste of
The man saw the astronomer with a telescope. / L'uomo ha visto l'astronomo con un telescopio. = \
L'uomo ha visto l'astronoma con un telescopio. / 0-0 1-0 2-1 2-2 3-3 4-3 5-4 6-5 7-6 8-7 /  / \
instrument / telescope see man astronomer
The money is in the bank. / Il denaro è nella banca. / 0-0 1-1 2-2 3-3 4-3 5-4 6-5 /  / whereabouts \
/ money bank be
The boat is on the river bank. / La barca è sulla riva del fiume. / 0-0 1-1 2-2 3-3 4-3 5-4 5-5 5-6 \
6-4 6-5 6-6 7-7 /  / whereabouts / boat river bank be
I love food very much. / Amo molto il cibo. / 1-0 2-3 3-1 4-1 5-4 / 0-0 2-2 / fondness / love food
"""

DOCUMENT_SENTENCES: tuple[Phrase, ...] = phrases_of(_TABLE)
