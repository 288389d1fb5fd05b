"""Odd inputs to a translator: a defined result or a clear error, never a crash, never a hang."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.errors import ModelError, SettingsError
from glassformer.models.transformer import Transformer, TransformerConfig
from glassformer.tasks.translation.constraints import Constraints, Sampling
from glassformer.tasks.translation.glossary import Glossary
from glassformer.tasks.translation.loading import load
from glassformer.tasks.translation.recipe import TranslationRecipe
from glassformer.tasks.translation.translator import Translator
from glassformer.text import train_tokenizer

ODD = {
    "empty": "",
    "blank": " \t ",
    "one letter": "a",
    "one sign": ".",
    "emoji": "👩‍👩‍👧‍👦 🇩🇪 ☃️",
    "right to left": "הכלב אוכל לחם",
    "mixed directions": "the dog الكلب eats",
    "unknown letters": "ᚠᛇᚻ ꙮ 𐍈",
    "no break": "x" * 300,
    "controls": "a\x00b\x07c\u200b\ufeff",
    "lines": "two\nlines\r\nthree",
    "combining": "e\u0301\u0301\u0301\u0301",
    "marks as text": "<s> </s> <pad> <unk>",
}


@pytest.fixture(scope="module")
def speaker() -> Translator:
    texts = ["the dog eats bread.", "der Hund isst Brot.", "a cat has us", "eine Katze hat uns"] * 3
    tokenizer = train_tokenizer("bpe", texts, vocab_size=300)
    torch.manual_seed(1)
    config = TransformerConfig(size="nano", d=12, h=2, d_ff=16, N=1)
    model = Transformer(config, source_vocabulary=len(tokenizer), target_vocabulary=len(tokenizer))
    return Translator(model.eval(), tokenizer, tokenizer, TranslationRecipe())


def with_decode(translator: Translator, **changed: Any) -> Translator:
    decode = translator.recipe.decode.model_copy(update=changed)
    recipe = translator.recipe.model_copy(update={"decode": decode})
    return Translator(translator.model, translator.source, translator.target, recipe)


@pytest.mark.parametrize("beam", [1, 4])
def test_odd_sentences(speaker: Translator, beam: int) -> None:
    found = with_decode(speaker, max_ratio=1).candidates(list(ODD.values()), beam=beam)
    for name, options in zip(ODD, found, strict=True):
        assert len(options) == 1
        assert np.isfinite(options[0].score)
        blank = name in ("empty", "blank")
        assert (options[0].tokens == ()) == blank or options[0].wrong == "empty"
        assert len(options[0].log_probs) == len(options[0].tokens) + (options[0].finished and not blank)


def test_ten_thousand_tokens(speaker: Translator) -> None:
    text = "the dog eats bread. " * 2000
    length = len(speaker.source.encode(text)) + 1
    assert length > 10_000
    config = TransformerConfig(size="nano", d=6, h=1, d_ff=5, N=1)  # attention over 10,000 tokens takes all the time
    model = Transformer(config, source_vocabulary=len(speaker.source), target_vocabulary=len(speaker.target))
    small = Translator(model.eval(), speaker.source, speaker.target, speaker.recipe)
    short = with_decode(small, max_ratio=0.001, split_over=0)
    (one,) = short.candidates([text], beam=3, guard=False)[0]
    assert 0 < len(one.tokens) <= 0.001 * length + speaker.recipe.decode.max_extra


def test_a_model_without_positions_for_it_says_so(trained: Path) -> None:
    known = load(trained)
    config = TransformerConfig(size="nano", d=12, h=2, d_ff=16, N=1, positions="learned", max_length=8)
    model = Transformer(config, source_vocabulary=len(known.source), target_vocabulary=len(known.target))
    recipe = known.recipe.model_copy(update={"model": config})
    translator = Translator(model.eval(), known.source, known.target, recipe)
    with pytest.raises(ModelError, match="this model learned 8 positions"):
        translator.translate("the dog eats bread " * 4)
    assert len(translator.candidates(["a cat has us."])[0][0].tokens) <= 8


def test_a_beam_wider_than_the_vocabulary(speaker: Translator) -> None:
    (options,) = with_decode(speaker, max_ratio=0.3, max_extra=0).candidates(["a"], beam=500, n_best=400)
    assert 0 < len(options) <= 400
    assert len({option.tokens for option in options}) == len(options)
    assert [o.score for o in options if o.finished] == sorted((o.score for o in options if o.finished), reverse=True)


@pytest.mark.parametrize("extra", [0, 1])
def test_no_room_at_all(speaker: Translator, extra: int) -> None:
    for beam in (1, 5):
        (one,) = with_decode(speaker, max_ratio=1e-6, max_extra=extra).candidates(["the dog"], beam=beam)[0]
        assert len(one.tokens) <= extra


def test_more_wanted_than_the_beam_is_wide(speaker: Translator) -> None:
    with pytest.raises(SettingsError, match=r"3 translations need a beam at least as wide; got a beam of 2"):
        speaker.candidates(["a"], beam=2, n_best=3)


def test_a_word_that_must_and_must_not_be_said(speaker: Translator) -> None:
    """A glossary wins over a ban; words that are both required and banned are refused (test_constraints)."""
    constraints = Constraints(glossary=Glossary({"dog": ("Hund",)}), ban=("Hund",))
    (one,) = with_decode(speaker, max_ratio=1).candidates(["the dog"], constraints=constraints)[0]
    assert "Hund" in one.text


@pytest.mark.parametrize(
    "sampling", [Sampling(temperature=0.01), Sampling(temperature=100), Sampling(top_k=1), Sampling(top_p=0.0)]
)
def test_extreme_lots(speaker: Translator, sampling: Sampling) -> None:
    short = with_decode(speaker, max_ratio=1)
    found = short.candidates(["the dog eats"], n_best=3, constraints=Constraints(sampling=sampling), guard=False)[0]
    assert len(found) == 3
    if sampling.top_k == 1 or sampling.top_p == 0 or sampling.temperature == 0.01:
        greedy = short.candidates(["the dog eats"], beam=1, guard=False)[0][0].text
        assert {one.text for one in found} == {greedy}


def test_as_many_lines_out_as_in_and_in_order(trained: Path, command: Callable[..., Any]) -> None:
    lines = ["the dog eats bread.", "", "   ", "a cat has us.", *(name for name in ODD.values() if "\n" not in name)]
    out = command("translate", trained, "--beam", 1, stdin="".join(f"{line}\n" for line in lines).encode()).out
    assert out.count("\n") == len(lines)
    first = command("translate", trained, "--beam", 1, "the dog eats bread.").out
    assert out.split("\n")[0] == first.strip("\n")
    assert out.split("\n")[1:3] == ["", ""]


def test_memory_stays_flat_over_many_lines(trained: Path) -> None:
    """Ten times the lines take hardly more memory."""
    code = (
        "import io, resource, sys\n"
        "sys.argv = ['glassformer', 'translate', sys.argv[1], '--beam', '1']\n"
        "from glassformer.cli.main import main\n"
        "for lines in (400, 4000):\n"
        " sys.stdin = io.TextIOWrapper(io.BytesIO(b'the dog eats bread.\\n\\n' * (lines // 2)))\n"
        " try:\n  main()\n except SystemExit as end:\n  assert not end.code\n"
        " print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(trained)], text=True, capture_output=True, check=True)
    assert done.stdout.count("\n") == 4400
    few, many = map(int, done.stderr.split()[-2:])
    assert many < few + 30_000  # kB
