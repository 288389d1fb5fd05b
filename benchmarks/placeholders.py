"""Placeholders, tags and invented glossary terms: are they kept, are they in place, and what is the BLEU of the rest?

    python benchmarks/placeholders.py --run RUN --data MULTI30K [--part val] [--sentences 1000] [--beam 5]

For an English-German run; MULTI30K holds PART.en.gz and PART.de.gz (or without .gz). Each sentence gets 1 to 3
placeholders or pairs of tags at random places; without them, the BLEU of the output should be that of the plain
sentences. A pair of tags around a noun should be around its translation. Then frequent nouns get invented German words:
each must be in the output and replace the usual word.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections.abc import Sequence
from pathlib import Path

from glossary import TERMS

from glassformer.data.readers.texts import texts_of
from glassformer.evaluate.translation import bleu_and_chrf
from glassformer.tasks.translation.constraints import Constraints
from glassformer.tasks.translation.glossary import Glossary, count_term
from glassformer.tasks.translation.loading import load
from glassformer.tasks.translation.masking import kept, masked
from glassformer.tasks.translation.translator import Translator

SINGLE = ("{name}", "%s", "%(count)d", "<br/>", "{0}", "$VAR", "&amp;", "{{ user }}", "%1$s")
PAIRS = ("b", "i", "a href='x.html'", "span")
INVENTED = {
    "man": "Kerlchen", "woman": "Dorfschönheit", "dog": "Fellnase", "dogs": "Fellnasen", "boy": "Knirps",
    "girl": "Backfisch", "child": "Dreikäsehoch", "street": "Pflastermeile", "water": "Nasselement",
    "beach": "Sandküste", "ball": "Rundleder", "car": "Blechkiste", "hat": "Deckelchen", "snow": "Weißpracht",
    "horse": "Klepper", "guitar": "Klampfe", "table": "Tafelbrett", "field": "Ackerfläche", "building": "Prachtbau",
}  # fmt: skip


def with_placeholders(text: str, lot: random.Random) -> str:
    """1 to 3 placeholders between words, or pairs of tags around one to three of them."""
    words = text.split()
    for _ in range(lot.randint(1, 3)):
        if lot.random() < 0.4:
            tag = lot.choice(PAIRS)
            first = lot.randrange(len(words))
            last = min(len(words) - 1, first + lot.randrange(3))
            words[first] = f"<{tag}>{words[first]}"
            words[last] = f"{words[last]}</{tag.split()[0]}>"
        else:
            words.insert(lot.randint(0, len(words)), lot.choice(SINGLE))
    return " ".join(words)


def squeezed(text: str) -> str:
    return " ".join(text.split())


def measure_placeholders(translator: Translator, sources: Sequence[str], references: Sequence[str], beam: int) -> None:
    lot = random.Random(1)
    marked = [with_placeholders(source, lot) for source in sources]
    began = time.perf_counter()
    plain = [options[0].text for options in translator.candidates(sources, beam=beam)]
    middle = time.perf_counter()
    found = [
        options[0]
        for options in translator.candidates(marked, beam=beam, constraints=Constraints(keep_placeholders=True))
    ]
    ended = time.perf_counter()
    rest = [squeezed(masked(one.text).plain) for one in found]
    all_kept = sum(kept(source, one.text) for source, one in zip(marked, found, strict=True))
    refs = [(reference,) for reference in references]
    print(f"plain              BLEU {bleu_and_chrf(plain, refs)[0]:.2f}  {middle - began:.1f} s")
    print(
        f"with placeholders  BLEU {bleu_and_chrf(rest, refs)[0]:.2f} without them  kept in {all_kept} of {len(found)}  "
        f"flagged {sum(bool(one.wrong and not one.repaired) for one in found)}  {ended - middle:.1f} s"
    )


def measure_tags(translator: Translator, sources: Sequence[str], beam: int) -> None:
    """Tags around a noun, and a placeholder right before and right after one."""
    cases = [
        (source, match, TERMS[match.group().lower()])
        for source in sources
        for match in [next((m for m in re.finditer(r"\w+", source) if m.group().lower() in TERMS), None)]
        if match is not None and len(re.findall(rf"\b{match.group()}\b", source)) == 1
    ]
    plain = [options[0].text for options in translator.candidates([source for source, _, _ in cases], beam=beam)]
    cases = [one for one, text in zip(cases, plain, strict=True) if count_term(text, one[2]) == 1]
    constraints = Constraints(keep_placeholders=True)
    for name, left, right, pattern in (
        ("tags around a noun", "<b>", "</b>", r"<b>{}</b>"),
        ("a placeholder before a noun", "{x} ", "", r"\{{x\}} {}\b"),
        ("a placeholder after a noun", "", " {x}", r"\b{} \{{x\}}"),
    ):
        texts = [f"{s[: m.start()]}{left}{m.group()}{right}{s[m.end() :]}" for s, m, _ in cases]
        found = [options[0].text for options in translator.candidates(texts, beam=beam, constraints=constraints)]
        there = sum(
            any(re.search(pattern.format(re.escape(form)), text) for form in forms)
            for text, (_, _, forms) in zip(found, cases, strict=True)
        )
        print(f"{name}: exactly there in {there / len(found):.1%} of {len(found)}")


def measure_words(translator: Translator, sources: Sequence[str], references: Sequence[str], beam: int) -> None:
    """A placeholder in place of a noun, as in messages that a program fills in; in the reference, too."""
    cases = []
    for source, reference in zip(sources, references, strict=True):
        noun = next((m for m in re.finditer(r"\w+", source) if m.group().lower() in TERMS), None)
        if noun is None or len(re.findall(rf"\b{noun.group()}\b", source)) != 1:
            continue
        there = [m for m in re.finditer(r"\w+", reference) if m.group() in TERMS[noun.group().lower()]]
        if len(there) == 1:
            pairs = ((source, noun), (reference, there[0]))
            cases.append([f"{text[: one.start()]}{{x}}{text[one.end() :]}" for text, one in pairs])
    constraints = Constraints(keep_placeholders=True)
    found = translator.candidates([source for source, _ in cases], beam=beam, constraints=constraints)
    score = bleu_and_chrf([options[0].text for options in found], [(reference,) for _, reference in cases])[0]
    print(f"a placeholder in place of a noun: BLEU {score:.2f} with it, of {len(cases)}")


def measure_terms(translator: Translator, sources: Sequence[str], beam: int) -> None:
    glossary = Glossary({noun: (word,) for noun, word in INVENTED.items()})
    own = [(source, [term for term, _ in glossary.found_in(source)]) for source in sources]
    own = [(source, terms) for source, terms in own if terms and len(set(terms)) == len(terms)]
    plain = [options[0].text for options in translator.candidates([source for source, _ in own], beam=beam)]
    found = [
        options[0].text
        for options in translator.candidates([s for s, _ in own], beam=beam, constraints=Constraints(glossary=glossary))
    ]
    total = said = usual = replaced = 0
    for (_, terms), before, after in zip(own, plain, found, strict=True):
        for term in terms:
            total += 1
            said += count_term(after, (INVENTED[term],)) > 0
            others = sum(count_term(before, TERMS[other]) for other in terms)
            if count_term(before, TERMS[term]) == 1 and others == len(terms):
                usual += 1
                stands = re.sub(rf"\b(?:{'|'.join(TERMS[term])})\b", INVENTED[term], before)
                place = stands.split().index(next(w for w in stands.split() if INVENTED[term] in w))
                gone = count_term(after, TERMS[term]) == 0
                replaced += gone and any(INVENTED[term] in word for word in after.split()[place : place + 1])
    print(
        f"invented terms: said {said} of {total}; "
        f"in place of the usual word {replaced} of {usual} ({replaced / usual:.1%})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True, help="Folder with PART.en.gz and PART.de.gz.")
    parser.add_argument("--part", default="val")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--beam", type=int, default=5)
    given = parser.parse_args()
    files = [[p for p in given.data.glob(f"{given.part}.{side}*")] for side in ("en", "de")]
    if not all(files):
        parser.error(f"{given.data} has no {given.part}.en and {given.part}.de (or .gz)")
    sources, references = (list(texts_of(own[0]))[: given.sentences] for own in files)
    translator = load(given.run)
    measure_placeholders(translator, sources, references, given.beam)
    measure_tags(translator, sources, given.beam)
    measure_words(translator, sources, references, given.beam)
    measure_terms(translator, sources, given.beam)


if __name__ == "__main__":
    main()
