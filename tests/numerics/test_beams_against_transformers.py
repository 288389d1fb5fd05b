"""Beam search whose beam stays full finds what `transformers` finds with early_stopping="never", scores included."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from decoder_peers import EOS, PAD, Texts, randomised, read
from transformers import GPT2Config, GPT2LMHeadModel

from glassformer.decode import BestRefilled, Hypothesis, Search, by_length, search
from glassformer.models.decoding.decoder_only import DecoderOnly

V, NEW = 7, 9


def make(seed: int) -> GPT2LMHeadModel:
    torch.manual_seed(seed)
    shape = {"vocab_size": V, "n_embd": 12, "n_layer": 2, "n_head": 2, "n_positions": 32}
    theirs = GPT2LMHeadModel(GPT2Config(**shape, bos_token_id=EOS, eos_token_id=EOS, pad_token_id=PAD))
    return randomised(theirs, std=0.15)


def ours(model: DecoderOnly, batch: Texts, *, beam: int, alpha: float, n_best: int) -> list[list[Hypothesis]]:
    task = Search(
        model=model,
        batch=batch,
        limits=np.full(len(batch.ids), NEW),
        bos=np.array([row[-1] for row in batch.rows()]),
        eos=EOS,
        device=torch.device("cpu"),
        chooser=BestRefilled(beam, EOS),
        ranked=partial(by_length, alpha=alpha),
        n_best=n_best,
        cut_last=False,
    )
    return search(task)


@pytest.mark.parametrize(("beam", "n_best"), [(2, 1), (3, 3), (5, 2)])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_the_same_hypotheses_with_the_same_scores(beam: int, n_best: int, alpha: float, tmp_path: Path) -> None:
    ended = 0
    for seed in range(4):
        theirs = make(seed)
        model = read(theirs, tmp_path / f"{seed}").model
        batch = Texts(torch.randint(2, V, (6, 4)), torch.full((6,), 4))
        found = theirs.generate(
            batch.ids,
            attention_mask=torch.ones_like(batch.ids),
            max_new_tokens=NEW,
            num_beams=beam,
            num_return_sequences=n_best,
            length_penalty=alpha,
            early_stopping="never",
            do_sample=False,
            return_dict_in_generate=True,
            output_scores=True,
        )
        expected = [[token for token in row if token not in (EOS, PAD)] for row in found.sequences[:, 4:].tolist()]
        ended += sum(EOS in row for row in found.sequences[:, 4:].tolist())
        got = [one for options in ours(model, batch, beam=beam, alpha=alpha, n_best=n_best) for one in options]
        assert [[token for token in one.ids if token != PAD] for one in got] == expected
        np.testing.assert_allclose([one.score for one in got], found.sequences_scores.numpy(), atol=1e-5)
    assert ended > 5, "some must come to their end"
