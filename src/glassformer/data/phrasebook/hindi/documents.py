"""The documents' sentences in Hindi.

The documents have "How are you" as "आप कैसे हैं" in one place and as "कैसे होते हैं" in another. The second means "how are they
usually"; the first is the one here. "बधाई हो", "धन्यवाद" and "मुझे आइसक्रीम खाना पसंद है" are the documents' own.
"""

from __future__ import annotations

from glassformer.data.phrasebook.documents import phrases_of
from glassformer.data.phrasebook.phrase import Phrase

_TABLE = """
I ate an apple. / मैंने एक सेब खाया। / 0-0 1-3 2-1 3-2 4-4 /  / perfect / eat apple
He ate the apple because it was tasty. / उसने सेब खाया क्योंकि वह स्वादिष्ट था। / 0-0 1-2 3-1 4-3 \
5-4 6-6 7-5 8-7 /  / it-clause / apple eat tasty be
The animal didn't cross the street because it was too tired. / जानवर ने सड़क पार नहीं की क्योंकि वह \
बहुत ज़्यादा थका हुआ था। / 1-0 2-4 3-3 3-5 5-2 6-6 7-7 8-12 9-8 9-9 10-10 10-11 11-13 / 1-1 2-3 2-5 \
/ it-clause / animal street cross tired be
The animal didn't cross the street because it was too wide. / जानवर ने सड़क पार नहीं की क्योंकि वह \
बहुत ज़्यादा चौड़ी थी। / 1-0 2-4 3-3 3-5 5-2 6-6 7-7 8-11 9-8 9-9 10-10 11-12 / 1-1 2-3 2-5 / \
it-clause / animal street cross wide be
The chicken didn't cross the road because it was tired. / मुर्ग़ी ने सड़क पार नहीं की क्योंकि वह थकी \
हुई थी। / 1-0 2-4 3-3 3-5 5-2 6-6 7-7 8-10 9-8 9-9 10-11 / 1-1 2-3 2-5 / it-clause / chicken road \
cross tired be
The chicken didn't cross the road because it was wide. / मुर्ग़ी ने सड़क पार नहीं की क्योंकि वह \
चौड़ी थी। / 1-0 2-4 3-3 3-5 5-2 6-6 7-7 8-9 9-8 10-10 / 1-1 2-3 2-5 / it-clause / chicken road cross \
wide be
Your cat is a lovely cat. / आपकी बिल्ली एक प्यारी बिल्ली है। = तुम्हारी बिल्ली एक प्यारी बिल्ली है। \
/ 0-0 1-1 2-5 3-2 4-3 5-4 6-6 /  / predicate-noun / be cat lovely
I love food. / मुझे खाना बहुत पसंद है। / 0-0 1-2 1-3 2-1 3-5 / 1-4 / fondness / love food
I like eating ice-cream. / मुझे आइसक्रीम खाना पसंद है। / 0-0 1-3 2-2 3-1 4-5 / 1-4 / gern / eat \
ice-cream like
I love you very much. / मैं आपसे बहुत प्यार करता हूँ। = मैं तुमसे बहुत प्यार करता हूँ। = मैं आपसे \
बहुत प्यार करती हूँ। = मैं तुमसे बहुत प्यार करती हूँ। / 0-0 1-3 1-4 2-1 3-2 4-2 5-6 / 1-5 / fondness \
/ love
How are you? / आप कैसे हैं? = तुम कैसे हो? / 0-1 1-2 2-0 3-3 /  / greeting / how are you
Thank you. / धन्यवाद। = शुक्रिया। / 0-0 1-0 2-1 /  / greeting / thank you
Congratulations! / बधाई हो! = मुबारक हो! / 0-0 0-1 1-2 /  / greeting / congratulations
Nice to meet you. / आपसे मिलकर ख़ुशी हुई। = तुमसे मिलकर ख़ुशी हुई। / 0-2 0-3 2-1 3-0 4-4 /  / \
greeting / nice to meet you
We are friends. / हम दोस्त हैं। = हम सहेलियाँ हैं। / 0-0 1-2 2-1 3-3 /  / predicate-noun / be friend
The apple is healthy. / सेब सेहतमंद है। / 1-0 2-2 3-1 4-3 /  / predicate / apple healthy be
The apple is better than the orange. / सेब संतरे से बेहतर है। / 1-0 2-4 3-3 4-2 6-1 7-5 /  / \
comparison / apple orange good than be
The cake tasted of chocolate. / केक में चॉकलेट का स्वाद था। / 1-0 2-4 3-3 4-2 5-6 / 1-1 2-5 / \
tasting / cake chocolate taste of
The man saw the astronomer with a telescope. / आदमी ने एक दूरबीन से खगोलशास्त्री को देखा। / 1-0 2-7 \
4-5 5-4 6-2 7-3 8-8 / 1-1 4-6 / instrument / telescope see man astronomer
The money is in the bank. / पैसा बैंक में है। / 1-0 2-3 3-2 5-1 6-4 /  / whereabouts / money bank be
The boat is on the river bank. / नाव नदी के किनारे पर है। / 1-0 2-5 3-4 5-1 5-2 5-3 6-1 6-2 6-3 7-6 \
/  / whereabouts / boat river bank be
"""

DOCUMENT_SENTENCES: tuple[Phrase, ...] = phrases_of(_TABLE)
