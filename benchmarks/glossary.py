"""Cost and effect of a glossary: BLEU, terms in the output and their positions, with it and without.

    python benchmarks/glossary.py --run RUN --source test.en --target test.de [--beam 5]

For an English-German run. The terms are common nouns, each with its forms; only sentences whose
reference contains the term are measured. A term appended at the end would show in `last word` and in `off its place`:
the distance of a term from its place in the reference, as a share of the sentence.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from glassformer.evaluate.translation import bleu_and_chrf
from glassformer.tasks.translation.constraints import Constraints
from glassformer.tasks.translation.glossary import Glossary, count_term
from glassformer.tasks.translation.loading import load

TERMS = {
    "man": ("Mann", "Mannes"),
    "woman": ("Frau",),
    "people": ("Menschen", "Leute", "Personen"),
    "boy": ("Junge", "Jungen"),
    "girl": ("Mädchen",),
    "child": ("Kind", "Kindes"),
    "children": ("Kinder", "Kindern"),
    "dog": ("Hund", "Hundes"),
    "dogs": ("Hunde", "Hunden"),
    "street": ("Straße",),
    "water": ("Wasser",),
    "beach": ("Strand",),
    "grass": ("Gras", "Wiese"),
    "ball": ("Ball",),
    "bicycle": ("Fahrrad",),
    "bike": ("Fahrrad", "Rad"),
    "car": ("Auto",),
    "hat": ("Hut",),
    "jacket": ("Jacke",),
    "shirt": ("Hemd", "T-Shirt", "Oberteil"),
    "building": ("Gebäude", "Gebäudes"),
    "table": ("Tisch",),
    "crowd": ("Menschenmenge", "Menge"),
    "snow": ("Schnee",),
    "mountain": ("Berg",),
    "horse": ("Pferd",),
    "guitar": ("Gitarre",),
    "camera": ("Kamera",),
    "field": ("Feld",),
    "player": ("Spieler",),
    "sidewalk": ("Gehweg", "Bürgersteig"),
    "sunglasses": ("Sonnenbrille", "Sonnenbrillen"),
}


def places(text: str, forms: Sequence[str]) -> list[float]:
    """The positions of a term in a text, 0 at its beginning, 1 at its end."""
    words = re.findall(r"[\w-]+", text)
    last = max(1, len(words) - 1)
    return [i / last for i, word in enumerate(words) if word in forms]


def off_place(texts: Sequence[str], references: Sequence[str], terms: Sequence[Sequence[Sequence[str]]]) -> float:
    """The mean distance between a term's position and the nearest one in the reference."""
    found = [
        min(abs(a - b) for a in places(text, forms) for b in places(reference, forms))
        for text, reference, own in zip(texts, references, terms, strict=True)
        for forms in own
        if places(text, forms) and places(reference, forms)
    ]
    return float(np.mean(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--beam", type=int, default=5)
    given = parser.parse_args()
    translator, glossary = load(given.run), Glossary(TERMS)
    pairs = list(zip(*(p.read_text(encoding="utf-8").splitlines() for p in (given.source, given.target)), strict=True))
    terms = [[forms for _, forms in glossary.found_in(source)] for source, _ in pairs]
    kept = [i for i, own in enumerate(terms) if own and all(count_term(pairs[i][1], forms) for forms in own)]
    free = [i for i, own in enumerate(terms) if not own]
    own, references = [terms[i] for i in kept], [pairs[i][1] for i in kept]
    print(f"{len(kept)} sentences with {sum(map(len, own))} terms that are in their references; {len(free)} without")
    for name, constraints in (("without", Constraints()), ("with", Constraints(glossary=glossary))):
        began = time.perf_counter()
        found = translator.candidates([pairs[i][0] for i in kept], beam=given.beam, constraints=constraints)
        seconds = time.perf_counter() - began
        texts = [options[0].text for options in found]
        bleu, chrf = bleu_and_chrf(texts, [(reference,) for reference in references])
        rate = glossary.hit_rate([pairs[i][0] for i in kept], texts)
        last = np.mean([1.0 in places(text, forms) for text, each in zip(texts, own, strict=True) for forms in each])
        print(
            f"{name:8} BLEU {bleu:.2f}  chrF {chrf:.2f}  terms {rate.value:.2f}% ({rate.signature})  "
            f"last word {last:.1%}  off its place {off_place(texts, references, own):.3f}  {seconds:.1f} s"
        )
    last = np.mean([1.0 in places(text, f) for text, each in zip(references, own, strict=True) for f in each])
    print(f"in the references a term is the last word in {last:.1%}")
    sources = [pairs[i][0] for i in free]
    plain, with_glossary = (
        [options[0].text for options in translator.candidates(sources, beam=given.beam, constraints=constraints)]
        for constraints in (Constraints(), Constraints(glossary=glossary))
    )
    print(f"sentences without terms: {sum(a != b for a, b in zip(plain, with_glossary, strict=True))} changed")


if __name__ == "__main__":
    main()
