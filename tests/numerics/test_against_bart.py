"""The same logits and greedy texts as `transformers`' BART, tiny and random, both ways."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import BartConfig, BartForConditionalGeneration

import glassformer as gf
from glassformer.cli.evaluating import is_translator
from glassformer.data.batches import SourceBatch
from glassformer.errors import DataError, ExportError, ImportingError, ModelError, RunError
from glassformer.hub.huggingface.folders import read_folder, write_folder
from glassformer.hub.huggingface.layouts import marian
from glassformer.store.bundle import save_bundle
from glassformer.tasks.evaluating import open_trained
from glassformer.tasks.generation.generator import ContinuationGenerator
from glassformer.tasks.generation.inputs import SourceInputs
from glassformer.tasks.generation.options import GenerateOptions
from glassformer.tasks.loading import load_bundle
from glassformer.tasks.rewriting import Rewriter
from glassformer.text import Tokenizer, train_tokenizer
from glassformer.text.framing import Frame, with_frame
from toy_corpus import toy_pairs
from toy_texts import settings
from toy_written import write_written

BOS, PAD, EOS = 0, 1, 2


@dataclass
class Batch:
    source: Tensor
    source_lengths: Tensor
    target_in: Tensor


def make_bart(**more: Any) -> BartForConditionalGeneration:
    torch.manual_seed(3)
    values: dict[str, Any] = {
        **{"vocab_size": 29, "d_model": 12, "encoder_layers": 2, "decoder_layers": 3, "max_position_embeddings": 40},
        **{f"{side}_attention_heads": 3 for side in ("encoder", "decoder")},
        **{f"{side}_ffn_dim": 17 for side in ("encoder", "decoder")},
        **{"bos_token_id": BOS, "pad_token_id": PAD, "eos_token_id": EOS, "decoder_start_token_id": EOS},
        **{"forced_bos_token_id": BOS, "forced_eos_token_id": None, "num_beams": 1},
    }
    theirs = BartForConditionalGeneration(BartConfig(**values | more)).eval()
    with torch.no_grad():
        theirs.final_logits_bias.normal_(std=0.3)
        for name, parameter in theirs.named_parameters():
            norm = name.endswith(("norm.weight", "layernorm_embedding.weight"))
            parameter.copy_(float(norm) + (0.2 if norm or name.endswith("bias") else 0.6) * torch.randn_like(parameter))
    return theirs


def batch_of() -> tuple[Batch, Tensor]:
    source = torch.tensor([[BOS, 5, 9, 14, 27, EOS], [BOS, 3, 8, EOS, PAD, PAD]])
    return Batch(source, torch.tensor([6, 4]), torch.tensor([[EOS, BOS, 7, 4], [EOS, BOS, 21, 9]])), source != PAD


def logits_of(theirs: BartForConditionalGeneration, batch: Batch, seen: Tensor) -> Tensor:
    with torch.no_grad():
        return theirs(input_ids=batch.source, attention_mask=seen, decoder_input_ids=batch.target_in).logits


@pytest.mark.parametrize("scaled", [True, False])
def test_logits_both_ways(scaled: bool, tmp_path: Path) -> None:
    theirs = make_bart(scale_embedding=scaled)
    theirs.save_pretrained(tmp_path / "theirs")
    bundle = read_folder(tmp_path / "theirs")
    batch, seen = batch_of()
    wanted = logits_of(theirs, batch, seen)
    with torch.no_grad():
        torch.testing.assert_close(bundle.model(batch), wanted, rtol=0, atol=2e-5)
    (tmp_path / "ours").mkdir()
    write_folder(bundle, tmp_path / "ours")
    again = BartForConditionalGeneration.from_pretrained(tmp_path / "ours").eval()
    torch.testing.assert_close(logits_of(again, batch, seen), wanted, rtol=0, atol=2e-5)


@pytest.mark.parametrize("forced", [BOS, None])
def test_the_same_greedy_tokens(forced: int | None, tmp_path: Path) -> None:
    theirs = make_bart(forced_bos_token_id=forced)
    theirs.save_pretrained(tmp_path)
    bundle = read_folder(tmp_path)
    batch, seen = batch_of()
    with torch.no_grad():
        wanted = theirs.generate(batch.source, attention_mask=seen, max_new_tokens=9, do_sample=False, num_beams=1)
    generator = ContinuationGenerator(with_words(bundle), inputs_for(bundle))
    rows = [batch.source[0].tolist(), batch.source[1, :4].tolist()]
    found = generator.continuations(rows, GenerateOptions(max_new=9), numbers=[0, 1])
    for row, own in zip(wanted.tolist(), found, strict=True):
        end = row.index(EOS, 1) if EOS in row[1:] else len(row)
        assert list(own[0].ids) == row[1:end]


def with_words(bundle: Any) -> Any:
    from dataclasses import replace

    words = [f"w{number}" for number in range(25)]
    tokenizer = train_tokenizer("word", words, vocab_size=29, min_frequency=1)
    return replace(bundle, tokenizer=tokenizer)


def inputs_for(bundle: Any) -> SourceInputs:
    return SourceInputs(with_words(bundle).tokenizer, bundle.marks, 29, EOS, 40)


def test_a_step_of_decoding_is_that_of_the_modules() -> None:
    """The fast ways know the norm after the embeddings."""
    from glassformer.models.transformer import Transformer, TransformerConfig

    torch.manual_seed(1)
    values = {"N": 1, "d": 12, "h": 3, "d_ff": 16, "dropout": 0.0, "norm": "post", "positions": "learned"}
    config = TransformerConfig.model_validate({**values, "embedding_norm": True, "scaled_embedding": False})
    model = Transformer(config, source_vocabulary=29, target_vocabulary=29).eval()
    batch, _ = batch_of()
    with torch.inference_mode():
        state = model.start(SourceBatch(batch.source, batch.source_lengths))
        steps = []
        for place in range(batch.target_in.size(1)):
            logits, state, _ = model.step(batch.target_in[:, place], state)
            steps.append(logits.clone())
        wanted = model(batch)
    torch.testing.assert_close(torch.stack(steps, dim=1), wanted, rtol=0, atol=1e-5)


def test_what_bart_does_not_have_is_refused(tmp_path: Path) -> None:
    make_bart().save_pretrained(tmp_path / "theirs")
    config = tmp_path / "theirs" / "config.json"
    config.write_text(config.read_text().replace('"decoder_ffn_dim": 17', '"decoder_ffn_dim": 18'))
    with pytest.raises(ImportingError, match="decoder_ffn_dim"):
        read_folder(tmp_path / "theirs")


def bart_folder(folder: Path, *, more_rows: int = 0) -> Tokenizer:
    """A BART with a vocabulary; it may have more vectors than tokens."""
    texts = [text for pair in toy_pairs() for text in (*pair, "so")]
    tokenizer = train_tokenizer("word", texts, vocab_size=60)
    bos, eos, pad = tokenizer.bos_id, tokenizer.eos_id, tokenizer.pad_id
    ids = {"bos_token_id": bos, "eos_token_id": eos, "pad_token_id": pad, "decoder_start_token_id": eos}
    make_bart(**ids, forced_bos_token_id=bos, vocab_size=len(tokenizer) + more_rows).save_pretrained(folder)
    framed = with_frame(tokenizer, Frame((bos,), (eos, eos), (eos,)))  # type: ignore[arg-type]
    (folder / "tokenizer.json").write_text(framed.to_json())
    return tokenizer


def test_bart_is_not_a_translator(tmp_path: Path) -> None:
    """A translator would read its inputs without <s>."""
    bart_folder(tmp_path / "theirs")
    save_bundle(load_bundle(tmp_path / "theirs"), tmp_path / "ours")
    for folder in (tmp_path / "theirs", tmp_path / "ours"):
        assert not is_translator(str(folder))
        with pytest.raises(RunError, match="fine-tune this one first"):
            open_trained(folder)
        with pytest.raises(ModelError, match="glassformer rewrite"):
            gf.load(folder, kind=gf.Translator)


def test_a_bart_folder_is_a_start_for_summaries(tmp_path: Path) -> None:
    """With the frame of its tokenizer: <s> text </s> on both sides, and outputs that start from </s>."""
    tokenizer = bart_folder(tmp_path / "bart", more_rows=3)
    bos, eos = tokenizer.bos_id, tokenizer.eos_id
    assert isinstance(gf.load(tmp_path / "bart"), Rewriter)
    data = {"files": str(write_written(tmp_path / "pairs.jsonl")), "max_target": 12}
    sections = settings({"kind": "transformer"}, {"steps": 4, "valid_every": 2, "valid_sentences": 2})
    train = {**sections["train"], "start_from": str(tmp_path / "bart")}
    gf.train({"task": "summarise", "data": data, "train": train}, model={"kind": "transformer"}, out=tmp_path / "run")
    run = gf.load(tmp_path / "run")
    assert isinstance(run, Rewriter)
    assert len(run.model.head.weight) == len(tokenizer) + 3
    row, _ = run.row_of("the dog eats bread.", "")
    assert row[0] == bos
    assert row[-1] == eos
    assert run.bundle.marks.start == eos
    with pytest.raises(ExportError):
        marian.from_config(run.bundle)


def test_a_word_without_a_vector_is_named(tmp_path: Path) -> None:
    tokenizer = bart_folder(tmp_path / "bart", more_rows=-1)
    last = tokenizer.decode([len(tokenizer) - 1]).strip()
    (tmp_path / "pairs.tsv").write_text(20 * "the dog eats.\tthe dog\n" + f"the {last} eats.\tthe dog\n")
    train, out = {"start_from": str(tmp_path / "bart"), "steps": 1, "threads": 1}, tmp_path / "run"
    with pytest.raises(DataError, match=f"not for '{last}'"):
        gf.train(task="rewrite", data=tmp_path / "pairs.tsv", model={"kind": "transformer"}, train=train, out=out)
