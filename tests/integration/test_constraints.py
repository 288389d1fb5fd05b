"""Constraints hold: glossaries, placeholders, required and banned words; also from the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.data.phrasebook import phrasebook
from glassformer.errors import DataError, SettingsError
from glassformer.models.transformer import Transformer, TransformerConfig
from glassformer.tasks.translation.constraints import Constraints, Sampling
from glassformer.tasks.translation.glossary import Glossary, count_terms
from glassformer.tasks.translation.loading import load
from glassformer.tasks.translation.masking import kept, masked
from glassformer.tasks.translation.recipe import TranslationRecipe
from glassformer.tasks.translation.spelling import Speller
from glassformer.tasks.translation.translator import Translator
from glassformer.text import train_tokenizer

TERMS = {
    "dog": ("Hund", "Hunde", "Hunden"),
    "house": ("Wohngebäude",),
    "light bulb": ("Glühlampe", "Glühbirne"),
    "teacher": ("Lehrkraft",),
    "IBM": ("IBM",),
    "Katze": ("Katze", "Katzen"),
    "%": ("Prozent",),
}


@pytest.fixture(scope="module")
def book() -> list[tuple[str, str]]:
    return [(phrase.source, phrase.references[0]) for phrase in phrasebook(train=2000, valid=0, test=0).train]


@pytest.fixture(scope="module", params=["bpe", "wordpiece"])
def speaker(request: pytest.FixtureRequest, book: list[tuple[str, str]]) -> Translator:
    """It says anything: its weights are random. What it must say it still says."""
    letters = [" ".join("{}<>%$()/ ='0123456789" + "abcdefghijklmnopqrstuvwxyzäöüßABCDEFGHIJKLMNOPQRSTUVWXYZ")] * 2
    texts = [text for pair in book for text in pair] + letters + [text.replace(" ", "") for text in letters]
    tokenizer = train_tokenizer(request.param, texts, vocab_size=600)
    torch.manual_seed(3)
    model = Transformer(
        TransformerConfig(size="nano", d=16, h=2, d_ff=24),
        source_vocabulary=len(tokenizer),
        target_vocabulary=len(tokenizer),
    )
    with torch.no_grad():
        model.head.weight.mul_(4)
    short = TranslationRecipe.model_validate({"decode": {"max_ratio": 0.7, "max_extra": 4}})  # it would never end
    return Translator(model.eval(), tokenizer, tokenizer, short)


def with_terms(book: list[tuple[str, str]], count: int) -> list[str]:
    """Sentences with none to three terms in them, some twice."""
    random, names = np.random.default_rng(5), list(TERMS)
    found = []
    for source, _ in book[:count]:
        words = source.split()
        for _ in range(random.integers(0, 4)):
            words.insert(random.integers(0, len(words) + 1), names[random.integers(len(names))])
        found.append(" ".join(words))
    return found


def test_every_term_of_every_sentence_is_said(speaker: Translator, book: list[tuple[str, str]]) -> None:
    glossary, sources = Glossary(TERMS), with_terms(book, 60)
    found = speaker.candidates(sources, beam=2, constraints=Constraints(glossary=glossary), guard=False)
    texts = [options[0].text for options in found]
    asked = [glossary.found_in(source) for source in sources]
    assert sum(map(len, asked)) > 50
    missed = [
        (source, text, terms)
        for source, text, terms in zip(sources, texts, asked, strict=True)
        if count_terms(text, [forms for _, forms in terms]) < len(terms)
    ]
    assert missed == []
    rate = glossary.hit_rate(sources, texts)
    assert rate is not None
    assert rate.value == 100


def test_sentences_without_terms_stay_as_they_were(speaker: Translator, book: list[tuple[str, str]]) -> None:
    glossary = Glossary(TERMS)
    sources = with_terms(book, 24)
    free = [i for i, source in enumerate(sources) if not glossary.found_in(source)]
    plain = speaker.candidates([sources[i] for i in free], beam=3, guard=False)
    found = speaker.candidates(sources, beam=3, constraints=Constraints(glossary=glossary), guard=False)
    assert free
    assert [found[i][0].text for i in free] == [one[0].text for one in plain]


def test_the_guard_does_not_lose_terms(speaker: Translator, book: list[tuple[str, str]]) -> None:
    glossary, sources = Glossary(TERMS), with_terms(book, 16)
    found = speaker.candidates(sources, beam=1, constraints=Constraints(glossary=glossary))
    assert any(one[0].wrong for one in found)
    rate = glossary.hit_rate(sources, [one[0].text for one in found])
    assert rate is not None
    assert rate.value == 100


def test_terms_do_not_depend_on_the_batch(speaker: Translator, book: list[tuple[str, str]]) -> None:
    constraints, sources = Constraints(glossary=Glossary(TERMS)), with_terms(book, 16)
    together = [one[0].text for one in speaker.candidates(sources, beam=2, constraints=constraints, guard=False)]
    alone = [speaker.candidates([text], beam=2, constraints=constraints, guard=False)[0][0].text for text in sources]
    assert sum(a != b for a, b in zip(together, alone, strict=True)) <= 1  # except for a tie in the last digit


def test_what_the_vocabulary_cannot_spell_is_refused(book: list[tuple[str, str]]) -> None:
    words = train_tokenizer("word", [text for pair in book for text in pair], vocab_size=3000)
    speller = Speller(words, eos=words.eos_id or 0)
    with pytest.raises(DataError, match=r"cannot spell 'Glühlampe'"):
        speller.term(("Glühlampe",))
    assert speller.term(("Glühlampe", "Hund")).forms


def test_placeholders_stay_as_they_are(speaker: Translator) -> None:
    sources = [
        "Hello {name}, you have %d new messages.",
        "Click <b>here</b> to go on.",
        "%s saw %s.",
        "<a href='x'>{0}</a> and {1}",
        "%(user)s has left.",
        "nothing of that kind",
    ]
    found = speaker.candidates(sources, constraints=Constraints(keep_placeholders=True))
    for source, one in zip(sources, found, strict=True):
        assert kept(source, one[0].text), (source, one[0].text)
        assert len(one[0].inserted) == len(masked(source).marks)


def test_the_rest_of_a_sentence_is_what_it_is_without_placeholders(speaker: Translator) -> None:
    """The model has never seen a brace or a tag: they must not reach it."""
    marked = ["the {x} dog eats <b>two eggs</b>.", "%s his wife sees me", "a cat has $WHAT us."]
    plain = ["the dog eats two eggs.", "his wife sees me", "a cat has us."]
    found = speaker.candidates(marked, constraints=Constraints(keep_placeholders=True))
    usual = speaker.candidates(plain)
    for one, other in zip(found, usual, strict=True):
        assert one[0].tokens == other[0].tokens
        assert "".join(masked(one[0].text).plain.split()) == "".join(other[0].text.split())


def test_words_that_must_and_must_not_be_said(speaker: Translator, book: list[tuple[str, str]]) -> None:
    sources = [source for source, _ in book[:16]]
    said = [one[0].text for one in speaker.candidates(sources, beam=3, constraints=Constraints(say=("Haus", "Katze")))]
    assert all(count_terms(text, [("Haus",), ("Katze",)]) == 2 for text in said)
    free = [one[0].text for one in speaker.candidates(sources, beam=3, guard=False)]
    words = [word for text in free for word in re.findall(r"\w+", text)]
    often = max(set(words), key=words.count)
    banned = speaker.candidates(sources, beam=3, n_best=3, constraints=Constraints(ban=(often,)), guard=False)
    assert any(count_terms(text, [(often,)]) for text in free)
    assert not any(count_terms(one.text, [(often,)]) for options in banned for one in options if one.finished)


def test_a_beginning_is_kept(speaker: Translator, book: list[tuple[str, str]]) -> None:
    sources = [source for source, _ in book[:20]]
    for one in speaker.candidates(sources, constraints=Constraints(begin="Gestern hat")):
        assert one[0].text.startswith("Gestern hat")


def test_samples_of_a_sentence_are_its_own_in_any_batch(speaker: Translator, book: list[tuple[str, str]]) -> None:
    """Its number in the request and the seed decide, not the sentences that it shares a batch with."""
    constraints = Constraints(sampling=Sampling(seed=4, temperature=0.7))
    sources = [source for source, _ in book[:12]]
    together = [
        [o.text for o in one] for one in speaker.candidates(sources, n_best=3, constraints=constraints, guard=False)
    ]
    small = speaker.recipe.decode.model_copy(update={"batch_tokens": 1})
    one_by_one = Translator(
        speaker.model, speaker.source, speaker.target, speaker.recipe.model_copy(update={"decode": small})
    )
    alone = [
        [o.text for o in one] for one in one_by_one.candidates(sources, n_best=3, constraints=constraints, guard=False)
    ]
    same = [a == b for a, b in zip(together, alone, strict=True)]
    assert sum(same) >= 11  # the last digits of a probability may depend on the batch, which can change a draw
    other = speaker.candidates(
        sources, n_best=3, constraints=Constraints(sampling=Sampling(seed=5, temperature=0.7)), guard=False
    )
    assert [[o.text for o in one] for one in other] != together


def test_constraints_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(SettingsError, match="Sampling cannot force words"):
        Constraints(sampling=Sampling(), say=("Haus",))
    with pytest.raises(SettingsError, match="blank word"):
        Constraints(ban=(" ",))


@pytest.mark.parametrize("beam", [1, 4])
def test_the_pieces_of_a_stream_are_the_translation(
    speaker: Translator, book: list[tuple[str, str]], beam: int
) -> None:
    for source, _ in book[:5]:
        pieces = list(speaker.stream(source, beam=beam))
        assert "".join(pieces) == speaker.candidates(source, beam=beam, guard=False)[0].text
        assert all(pieces)
    assert list(speaker.stream("  ")) == []


def test_a_stream_of_what_must_be_said_or_is_drawn(speaker: Translator, book: list[tuple[str, str]]) -> None:
    for constraints in (Constraints(say=("Haus",)), Constraints(sampling=Sampling(seed=3))):
        found = speaker.candidates(
            book[0][0], beam=None if constraints.sampling else 1, constraints=constraints, guard=False
        )[0].text
        assert "".join(speaker.stream(book[0][0], constraints=constraints)) == found
        assert constraints.sampling or count_terms(found, [("Haus",)])
    with pytest.raises(SettingsError, match="use one of the two"):
        speaker.stream(book[0][0], beam=2, constraints=Constraints(sampling=Sampling()))


# Glossaries as files


def test_a_glossary_is_read_with_its_forms(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text("# ours\ndog\tHund | Hunde\n\nlight bulb\tGlühlampe\ndog\tHunden\n", encoding="utf-8")
    glossary = Glossary.read(path)
    assert glossary.forms == {"dog": ("Hund", "Hunde", "Hunden"), "light bulb": ("Glühlampe",)}
    assert [term for term, _ in glossary.found_in("Dogs, a Dog and a light bulb.")] == ["dog", "light bulb"]


def test_terms_with_capitals_are_found_as_they_are_written() -> None:
    glossary = Glossary({"IT": ("EDV",), "US": ("USA",), "µ": ("Mikro",)})
    assert [term for term, _ in glossary.found_in("it is for us. IT in the US, \u03bc")] == ["IT", "US", "µ"]
    assert glossary.found_in("使用IT设备") == [("IT", ("EDV",))]


@pytest.mark.parametrize("line", ["dog", "dog\t", "\tHund", "dog\t|", "dog\tHund\ta note"])
def test_a_line_that_is_not_a_term_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text(f"cat\tKatze\n{line}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"line 2: got .* A line is a term, a tab, and its translation"):
        Glossary.read(path)


def test_a_longer_term_comes_before_a_shorter_one_in_it() -> None:
    glossary = Glossary({"bulb": ("Zwiebel",), "light bulb": ("Glühlampe",)})
    assert [term for term, _ in glossary.found_in("a light bulb and a bulb")] == ["light bulb", "bulb"]


def test_the_hit_rate_counts_every_occurrence() -> None:
    glossary = Glossary({"dog": ("Hund", "Hunde")})
    sources = ["a dog and a dog", "the dog", "no such thing"]
    found = glossary.hit_rate(sources, ["ein Hund und ein Hund", "die Hundehütte", "nichts"])
    assert found is not None
    assert (found.value, found.sentences) == (pytest.approx(100 * 2 / 3), 2)
    assert glossary.hit_rate(["nothing"], ["nichts"]) is None
    assert "2 of 3" in found.signature


# Terms that the model has never said


def test_an_unknown_term_is_put_where_the_usual_word_was(trained: Path) -> None:
    """A search that must say it would glue it on: "der Hund isst Brot. Fellnase"."""
    model = load(trained)
    terms = Glossary({"dog": ("Fellnase",), "bread": ("Backwerk",), "wife": ("Gattin",)})
    sources = ["the dog eats bread.", "his wife sees me.", "a cat has us."]
    usual = model.translate(sources)
    found = [one[0] for one in model.candidates(sources, constraints=Constraints(glossary=terms))]
    for one, before, said in zip(found, usual, (2, 1, 0), strict=True):
        terms_said = [word for word in one.text.strip(".").split() if word in ("Fellnase", "Backwerk", "Gattin")]
        others = [word for word in zip(one.text.split(), before.split(), strict=True) if word[0] != word[1]]
        assert sorted(terms_said) == sorted(one.inserted)
        assert len(others) == len(terms_said) == said  # nothing else has changed, nothing was added


def test_terms_that_the_vocabulary_cannot_spell_are_put_in(book: list[tuple[str, str]]) -> None:
    words = train_tokenizer("word", [text for pair in book for text in pair], vocab_size=300)
    config = TransformerConfig(size="nano", d=16, h=2, d_ff=24)
    model = Transformer(config, source_vocabulary=len(words), target_vocabulary=len(words))
    translator = Translator(model.eval(), words, words, TranslationRecipe())
    glossary = Glossary({"dog": ("Ωμέγα",)})
    one = translator.candidates(["the dog eats"], constraints=Constraints(glossary=glossary))[0][0]
    assert count_terms(one.text, [("Ωμέγα",)]) or one.wrong == "terms"


# Time


def test_terms_that_share_their_first_word_are_found_by_a_look_each() -> None:
    """Every term with the first word was compared at every place: 100,000 terms took 0.8 s a sentence."""
    looks = 0

    class Counting(dict[tuple[str, ...], list[tuple[list[str], str]]]):
        def get(self, key: Any, default: Any = None) -> Any:
            nonlocal looks
            looks += 1
            return super().get(key, default)

    counts = []
    for size in (100, 3000):
        glossary, looks = Glossary({f"big thing{i}": ("x",) for i in range(size)}), 0
        glossary.__dict__["by_words"] = Counting(glossary.by_words)
        assert [term for term, _ in glossary.found_in("big big thing7 big")] == ["big thing7"]
        counts.append(looks)
    assert counts[0] == counts[1] <= 4


def test_many_terms_in_a_sentence_are_put_in_without_a_search(
    speaker: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    glossary = Glossary({f"w{i}": (f"Glühlampenschirm{i}",) for i in range(30)})
    source = " ".join(f"w{i}" for i in range(30))
    bound: list[int] = []
    real = Translator.found

    def counting(self: Translator, batch: Any, request: Any) -> Any:
        bound.append(sum(map(bool, batch.terms)))
        return real(self, batch, request)

    monkeypatch.setattr(Translator, "found", counting)
    speaker.candidates([source], beam=1, constraints=Constraints(glossary=glossary), guard=False)
    assert bound
    assert sum(bound) == 0


def test_too_many_given_words_are_refused(speaker: Translator) -> None:
    with pytest.raises(SettingsError, match="must contain have"):
        Constraints(say=("x" * 3000,))
    with pytest.raises(SettingsError, match="at most 100 are allowed"):
        speaker.candidates(["a dog"], constraints=Constraints(say=("qxzqj " * 90,)))


# The command line


def test_a_glossary_on_the_command_line(trained: Path, tmp_path: Path, command: Callable[..., Any]) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("bread\tWein\n", encoding="utf-8")
    done = command("translate", trained, "the dog eats bread.", "--glossary", terms, "--json")
    assert count_terms(json.loads(done.out)["text"], [("Wein",)])
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("the dog eats bread.\tder Hund isst Brot.\na cat has us.\teine Katze hat uns.\n", encoding="utf-8")
    plain = command("evaluate", trained, pairs, "--glossary", terms)
    assert re.search(r"terms +100\.00", plain.out)
    told = {
        one["name"]: one for one in json.loads(command("evaluate", trained, pairs, "--glossary", terms, "--json").out)
    }
    assert (told["terms"]["value"], told["terms"]["sentences"]) == (100, 1)


def test_alignments_on_the_command_line(trained: Path, command: Callable[..., Any]) -> None:
    plain = command("translate", trained, "the dog eats bread.", "a cat has us.", "--align")
    for line in plain.lines:
        text, links = line.split("\t")
        pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
        assert pairs == sorted(pairs)
        assert {target for _, target in pairs} == set(range(len(text.split())))
        assert all(0 <= source < 4 for source, _ in pairs)
    told = json.loads(command("translate", trained, "the dog eats bread.", "--align", "--json").out)
    assert told["alignment"] == plain.lines[0].split("\t")[1]


def test_the_tree_of_a_search(trained: Path, command: Callable[..., Any]) -> None:
    told = json.loads(command("explain", trained, "the dog eats bread.", "--tree", "--beam", 3, "--json").out)
    nodes = {one["number"]: one for one in told["beginnings"]}
    assert told["beam"] == 3
    assert sum(one["parent"] == 0 for one in nodes.values()) == 3
    ways = [one for one in nodes.values() if one["best"]]
    assert (
        "".join(f"{one['piece']} " for one in ways if not one["ended"]).replace("▁", "").split()
        == told["translation"].replace(".", " .").split()
    )
    for one in nodes.values():
        before = nodes[one["parent"]]["log_prob"] if one["parent"] else 0.0
        assert one["log_prob"] == pytest.approx(before + np.log(one["probability"]), abs=1e-4)
    shown = command("explain", trained, "the dog eats bread.", "--tree", "--beam", 3).out
    assert told["translation"] in shown
    assert "✓" in shown or "✗" in shown


def test_what_must_be_said_may_not_be_forbidden() -> None:
    for constrained in ({"say": ("der Hund",)}, {"begin": "Hund und"}):
        with pytest.raises(SettingsError, match="'Hund' is both required and banned"):
            Constraints(ban=("Hund",), **constrained)
    Constraints(ban=("Hund",), say=("Hunde",))  # another word
