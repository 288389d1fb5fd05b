"""Models of others as ours and ours as theirs: whole folders, used as a user would."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

import glassformer
from glassformer import load, train_translator
from glassformer.errors import ExportError, ImportingError, RunError, SettingsError
from glassformer.hub.huggingface import checking
from glassformer.hub.huggingface.folders import read_folder
from glassformer.models.registry import MODELS, build, values_of
from glassformer.store.bundle import Bundle, SpecialIds, save_bundle
from glassformer.tasks.exporting import COMPARED, export_to_huggingface
from glassformer.tasks.loading import load_bundle
from glassformer.tasks.translation import Translator
from glassformer.text import Tokenizer
from marian_files import SENTENCES, marian_folder

Command = Callable[..., Any]


@pytest.fixture(scope="module")
def marian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hub") / "opus-mt-en-de"
    marian_folder(folder)
    return folder


def theirs_greedy(folder: Path, translator: Translator, beam: int = 1) -> list[str]:
    """What `transformers` says; read with our tokenizers, since its own need another package."""
    model = transformers.MarianMTModel.from_pretrained(folder).eval()
    found = []
    for text in SENTENCES:
        ids = [*translator.source.encode(text), 0]
        limit = int(len(ids) * 3 + 10)
        given = model.generate(torch.tensor([ids]), num_beams=beam, do_sample=False, max_new_tokens=limit)
        found.append(
            translator.target.decode([i for i in given[0].tolist() if i not in (0, model.config.pad_token_id)])
        )
    return found


def test_a_translator_of_others_translates_as_they_do(marian: Path, tmp_path: Path, command: Command) -> None:
    expected = theirs_greedy(marian, load(marian))
    assert len(set(expected)) == len(SENTENCES)
    assert command("translate", marian, *SENTENCES, "--beam", 1).lines == expected, "as it is"
    told = command("import", marian, "--out", tmp_path / "en-de")
    assert told.code == 0
    assert "transformer, " in told.out
    assert command("translate", tmp_path / "en-de", *SENTENCES, "--beam", 1).lines == expected, "imported"
    assert command("export", tmp_path / "en-de", "--to", "huggingface", "--out", tmp_path / "back").code == 0
    assert command("translate", tmp_path / "back", *SENTENCES, "--beam", 1).lines == expected, "exported again"


def test_beams_find_the_same(marian: Path) -> None:
    translator = load(marian)
    decode = translator.recipe.decode
    assert (decode.beam, decode.no_repeat, decode.refill) == (3, 2, True)
    model = transformers.MarianMTModel.from_pretrained(marian).eval()
    for text in SENTENCES:
        ids = [*translator.source.encode(text), 0]
        given = model.generate(
            torch.tensor([ids]), num_beams=3, early_stopping="never", max_new_tokens=int(len(ids) * 3 + 10)
        )[0].tolist()
        said = [i for i in given if i not in (0, model.config.pad_token_id)]
        assert translator.candidates([text], guard=False)[0][0].text == translator.target.decode(said)


def test_an_imported_translator_has_its_recipe(marian: Path, tmp_path: Path) -> None:
    save_bundle(read_folder(marian), tmp_path / "en-de")
    translator = glassformer.load(tmp_path / "en-de")
    text = translator.recipe.text
    assert (text.kind, text.start, text.never, text.shared) == ("imported", "<pad>", ("<pad>",), True)
    assert translator.recipe.data.languages == ("en", "de")
    assert translator.target_marks.bos == translator.target_marks.pad == len(translator.target) - 1
    again = load_bundle(tmp_path / "en-de")
    assert (again.kind, again.marks.start, again.extras["never"]) == ("transformer", 48, [48])


def test_what_was_imported_learns_on(marian: Path, tmp_path: Path, toy: Any) -> None:
    save_bundle(read_folder(marian), tmp_path / "en-de")
    recipe = toy.recipe(train={"steps": 2, "valid_every": 2, "start_from": str(tmp_path / "en-de")})
    recipe = {name: recipe[name] for name in ("data", "train", "decode")}
    recipe["data"]["max_tokens"] = 100
    with pytest.raises(Exception, match="unknown to it"):  # the toy's words are not this vocabulary's
        train_translator(recipe, tmp_path / "run")
    toy.source.write_text("the cat sat.\nhe sat on a mat.\n" * 8)
    toy.target.write_text("die Katze saß.\nder Hund saß auf.\n" * 8)
    train_translator(recipe, tmp_path / "run")
    assert load(tmp_path / "run").recipe.text.start == "<pad>"


def test_a_tokenizer_of_others_cannot_be_trained(toy: Any, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="fine-tune that model with --from"):
        train_translator(toy.recipe(text={"kind": "imported"}), tmp_path / "run")


def test_a_run_of_ours_translates_the_same_in_transformers(trained: Path, tmp_path: Path, command: Command) -> None:
    told = command("export", trained, "--to", "huggingface", "--out", tmp_path / "hf", "--json")
    assert [one["engine"] for one in json.loads(told.out)["compared"]] == [
        "glassformer (reading it back)",
        "transformers",
    ]
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "hf").eval()
    texts = ["the dog eats bread.", "my boy has us.", "his wife sees old red wine."]
    asked = tokenizer(texts, return_tensors="pt", padding=True, return_token_type_ids=False)
    given = model.generate(**asked, num_beams=1, do_sample=False, max_new_tokens=20)
    ours = load(trained)
    found = [
        ours.target.decode(tokenizer(tokenizer.decode(row, skip_special_tokens=True))["input_ids"]) for row in given
    ]
    assert found == [one[0].text for one in ours.candidates(texts, beam=1, guard=False)]


# Every kind, through our folders and theirs

TINY: dict[str, dict[str, Any]] = {
    "transformer": {
        **{"N": 1, "d": 12, "h": 2, "d_ff": 7, "tied": "all"},
        **{"source_vocabulary": 11, "target_vocabulary": 11},
    },
    "bert": {"vocabulary": 23, "N": 2, "d": 12, "h": 3, "d_ff": 7, "max_length": 13},
    "roformer": {"vocabulary": 23, "N": 2, "d": 12, "h": 3, "d_ff": 7, "max_length": 13},
    "gpt": {"vocabulary": 23, "N": 2, "d": 12, "h": 3, "d_ff": 7, "max_length": 13},
    "llama": {"vocabulary": 23, "N": 2, "d": 12, "h": 3, "d_ff": 7},
    "t5": {"vocabulary": 23, "N": 2, "d": 12, "h": 3, "d_ff": 7, "d_kv": 5},
    "vit": {"N": 2, "d": 12, "h": 3, "d_ff": 7, "patch": 4, "image": 8, "classes": 5},
    "captioner": {
        **{"vocabulary": 23, "N": 2, "d": 12, "h": 3, "d_ff": 7, "max_length": 13},
        "encoder": {"N": 2, "d": 12, "h": 3, "d_ff": 7, "patch": 4, "image": 8},
    },
}


RECURRENT: dict[str, dict[str, Any]] = {  # no other program has them
    "lstm": {"N": 2, "d": 10, "dropout": 0.1, "source_vocabulary": 11, "target_vocabulary": 11},
    "rnn_attention": {"d": 10, "n": 7, "l": 10, "dropout": 0.1, "source_vocabulary": 11, "target_vocabulary": 11},
    "lstm_lm": {"vocabulary": 23, "N": 2, "d": 10},
    "bilstm": {"vocabulary": 23, "N": 2, "d": 10, "head": "tokens"},
}


def tiny(kind: str) -> Bundle:
    torch.manual_seed(5)
    model = build(kind, (TINY | RECURRENT)[kind]).eval()
    return Bundle(kind, model, extras={"note": "kept", "nested": {"mean": [0.5, 1.0]}})


def test_every_kind_is_tested() -> None:
    assert (TINY | RECURRENT).keys() == MODELS.keys()


@pytest.mark.parametrize("kind", MODELS)
def test_every_kind_comes_back_from_our_folder(kind: str, tmp_path: Path) -> None:
    made = tiny(kind)
    save_bundle(made, tmp_path / "own", about={"imported": {"from": "nowhere"}})
    again = load_bundle(tmp_path / "own")
    assert (again.kind, again.extras, again.marks) == (kind, made.extras, made.marks)
    assert values_of(again.model) == values_of(made.model)
    expected, found = (dict(one.model.named_parameters()) for one in (made, again))
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    assert found.keys() == expected.keys()
    manifest = json.loads((tmp_path / "own" / "manifest.json").read_text())
    assert manifest["imported"] == {"from": "nowhere"}


@pytest.mark.parametrize("kind", RECURRENT)
def test_recurrent_models_are_refused_by_name(kind: str, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=f"An? {kind} model cannot be exported: transformers has no"):
        export_to_huggingface(tiny(kind), tmp_path / "a" / "hf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", TINY)
def test_every_kind_is_exported_and_checked(kind: str, tmp_path: Path) -> None:
    made = tiny(kind)
    found = export_to_huggingface(made, tmp_path / "hf", shard_bytes=2000)
    assert len(found) == 2
    assert all(one.largest_difference <= 1e-5 for one in found)
    assert json.loads((tmp_path / "hf" / COMPARED).read_text())[1]["engine"] == "transformers"
    assert (tmp_path / "hf" / "model.safetensors.index.json").is_file()
    assert read_folder(tmp_path / "hf").kind == kind


@pytest.mark.parametrize(("kind", "user"), [("bert", "TextEncoder"), ("vit", "ImageModel"), ("gpt", "LanguageModel")])
def test_load_gives_what_fits(kind: str, user: str, tmp_path: Path) -> None:
    texts = Tokenizer.from_json((SHARED_TEXTS % json.dumps(VOCABULARY)), origin="test")
    marks = SpecialIds(bos=0, eos=0, pad=1, cls=0, sep=0, mask=2)
    save_bundle(replace(tiny(kind), tokenizer=texts, marks=marks), tmp_path / "own")
    assert type(glassformer.load(tmp_path / "own")).__name__ == user


SHARED_TEXTS = '{"model": {"type": "WordLevel", "vocab": %s, "unk_token": "<unk>"}, "added_tokens": []}'
VOCABULARY = {"</s>": 0, "<pad>": 1, "<mask>": 2, "<unk>": 3, "a": 4, "b": 5}


def test_an_export_that_reads_back_otherwise_does_not_happen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def changed(folder: Path) -> Bundle:
        found = read_folder(folder)
        with torch.no_grad():
            next(found.model.parameters())[3, 2] += 0.01
        return found

    monkeypatch.setattr(checking, "read_folder", changed)
    with pytest.raises(ExportError, match=r"reading it back\) does not compute what this model does.*Nothing was"):
        export_to_huggingface(tiny("gpt"), tmp_path / "a" / "hf")
    assert list(tmp_path.iterdir()) == []


def test_an_export_that_transformers_computes_otherwise_does_not_happen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changed(folder: Path) -> Any:
        tensors = load_file(folder / "model.safetensors")
        tensors["transformer.wpe.weight"][3, 2] += 0.01
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        return loaded(folder)

    loaded = checking.loaded
    monkeypatch.setattr(checking, "loaded", changed)
    with pytest.raises(ExportError, match="transformers does not compute what this model does"):
        export_to_huggingface(tiny("gpt"), tmp_path / "hf")
    assert list(tmp_path.iterdir()) == []


def test_without_transformers_we_check_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking.importlib.util, "find_spec", lambda _: None)
    assert len(export_to_huggingface(tiny("gpt"), tmp_path / "hf")) == 1


def test_a_broken_model_is_not_exported(tmp_path: Path) -> None:
    made = tiny("gpt")
    with torch.no_grad():
        made.model.head.weight[2, 3] = float("nan")
    with pytest.raises(ExportError, match=r"weight has 1 of 276 values that are NaN or infinite: the model is broken"):
        export_to_huggingface(made, tmp_path / "hf")


# What can be wrong with a folder


@pytest.fixture
def gpt_folder(tmp_path: Path) -> Path:
    export_to_huggingface(tiny("gpt"), tmp_path / "hf")
    return tmp_path / "hf"


def with_tensors(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def poison(tensors: dict[str, torch.Tensor]) -> None:
    tensors["transformer.h.1.ln_2.bias"][3] = float("inf")
    tensors["transformer.wpe.weight"][0, :2] = float("nan")


WRONG_TENSORS = [
    (lambda t: t.pop("transformer.h.1.ln_2.bias"), "transformer.h.1.ln_2.bias is missing"),
    (lambda t: t.update(extra=torch.zeros(2)), "extra is unexpected"),
    (lambda t: t.update({"transformer.wpe.weight": torch.zeros(12, 13)}), r"has shape \(12, 13\), expected \(13, 12\)"),
    (lambda t: t.update({"transformer.wpe.weight": torch.zeros(13, 12).int()}), "holds no floating-point numbers"),
    (lambda t: t.update({"lm_head.weight": torch.zeros(23, 12)}), "lm_head.weight should be the same as"),
    (poison, "ln_2.bias has 1 of 12 values that are NaN or infinite"),
    (poison, "wpe.weight has 2 of 156 values that are NaN or infinite"),
    (lambda t: [t.pop(name) for name in sorted(t)[:9]], "; and 4 more"),
]


@pytest.mark.parametrize(("change", "reason"), WRONG_TENSORS)
def test_every_tensor_is_accounted_for(gpt_folder: Path, change: Callable, reason: str) -> None:
    with_tensors(gpt_folder, change)
    with pytest.raises(ImportingError, match=reason):
        read_folder(gpt_folder)


def test_an_alias_may_be_there_alone_or_beside_its_name(gpt_folder: Path) -> None:
    expected = read_folder(gpt_folder).model.head.weight.clone()
    with_tensors(gpt_folder, lambda t: t.update({"lm_head.weight": t["transformer.wte.weight"].clone()}))
    assert torch.equal(read_folder(gpt_folder).model.head.weight, expected)
    with_tensors(gpt_folder, lambda t: t.pop("transformer.wte.weight"))
    assert torch.equal(read_folder(gpt_folder).model.head.weight, expected)


def test_files_in_half_precision_are_read(gpt_folder: Path) -> None:
    expected = read_folder(gpt_folder).model.head.weight.bfloat16().float()
    with_tensors(gpt_folder, lambda t: t.update({name: one.bfloat16() for name, one in t.items()}))
    found = read_folder(gpt_folder).model.head.weight
    assert found.dtype == torch.float32
    assert torch.equal(found, expected)


# The command line, with what people give it


def test_what_import_refuses(gpt_folder: Path, tmp_path: Path, command: Command) -> None:
    def told(*arguments: object) -> str:
        outcome = command("import", *arguments)
        assert outcome.code == 2
        assert outcome.out == ""
        assert outcome.err.startswith("glassformer: ")
        assert outcome.err.count("\n") == 1, "one line"
        return outcome.err

    new = tmp_path / "new"
    (tmp_path / "empty").mkdir()
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "config.json").write_text('{"model_type": "mamba"}')
    assert "no such folder" in told(tmp_path / "gone", "--out", new)
    assert "config.json" in told(tmp_path / "empty", "--out", new)
    assert "model_type = 'mamba' is not supported. Known: marian" in told(tmp_path / "odd", "--out", new)
    assert "already exists" in told(gpt_folder, "--out", tmp_path / "empty")
    (gpt_folder / "model.safetensors").rename(gpt_folder / "pytorch_model.bin")
    assert "only as a pickle" in told(gpt_folder, "--out", new)
    assert not new.exists()


def test_what_export_refuses(gpt_folder: Path, tmp_path: Path, command: Command) -> None:
    def told(*arguments: object) -> str:
        outcome = command("export", *arguments)
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err.count("\n") == 1, "one line"
        return outcome.err

    assert "already exists" in told(gpt_folder, "--to", "huggingface", "--out", gpt_folder)
    assert "no such folder" in told(tmp_path / "gone", "--to", "huggingface", "--out", tmp_path / "x")
    assert "not an engine" in told(gpt_folder, "--to", "onnx", "--out", tmp_path / "x")
    assert "--sample is for" in told(
        gpt_folder, "--to", "huggingface", "--sample", gpt_folder / "config.json", "--out", tmp_path / "x"
    )
    assert "A gpt model cannot translate" in told(gpt_folder, "--to", "ctranslate2", "--out", tmp_path / "x")


def test_a_folder_of_another_kind_is_no_translator(gpt_folder: Path, tmp_path: Path, command: Command) -> None:
    save_bundle(read_folder(gpt_folder), tmp_path / "own")
    for folder in (gpt_folder, tmp_path / "own"):
        outcome = command("translate", folder, "hello")
        assert outcome.code == 2
        assert "A gpt model cannot translate. Models that can: translators" in outcome.err


def test_our_folder_is_checked_when_it_is_read(tmp_path: Path) -> None:
    save_bundle(tiny("gpt"), tmp_path / "own")
    weights = tmp_path / "own" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    with pytest.raises(RunError, match="damaged or was changed"):
        load_bundle(tmp_path / "own")
    with pytest.raises(RunError, match=r"glassformer import org/name --out FOLDER"):
        load_bundle("org/name")


def test_a_name_on_the_hub(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch, gpt_folder: Path) -> None:
    from glassformer.hub.huggingface import fetching

    class Hub:
        def __init__(self, answer: Path | Exception) -> None:
            self.answer = answer

        def snapshot_download(self, name: str, **_: object) -> str:
            assert name == "org/name"
            if isinstance(self.answer, Exception):
                raise self.answer
            return str(self.answer)

    def answering(answer: Path | Exception | None) -> Callable[[str], Hub]:
        def imported(name: str) -> Hub:
            if answer is None:
                raise ImportError(name)
            return Hub(answer)

        return imported

    monkeypatch.setattr(fetching.importlib, "import_module", answering(None))
    assert "pip install 'glassformer[hub]'" in command("import", "org/name", "--out", tmp_path / "new").err
    monkeypatch.setattr(fetching.importlib, "import_module", answering(OSError("no route to host.\nmore")))
    told = command("import", "org/name", "--out", tmp_path / "new")
    assert (told.code, told.err.count("\n")) == (2, 1)
    assert "cannot be fetched from the Hub (no route to host). Download" in told.err
    monkeypatch.setattr(fetching.importlib, "import_module", answering(gpt_folder))
    monkeypatch.undo()
    monkeypatch.setattr(fetching, "fetched", lambda _: gpt_folder)
    assert fetching.local_folder("org/name") == gpt_folder


# Showing


def test_show_of_every_kind_of_folder(
    marian: Path, trained: Path, gpt_folder: Path, tmp_path: Path, command: Command
) -> None:
    save_bundle(read_folder(gpt_folder), tmp_path / "own")
    for folder in (marian, trained, gpt_folder, tmp_path / "own"):
        expected = sum(parameter.numel() for parameter in load_bundle(folder).model.parameters())
        told = command("show", folder, "--json")
        assert json.loads(told.out)["parameters"] == expected
    assert "2 × block" in command("show", gpt_folder, "--depth", 1).out
    assert "--set changes a named size" in command("show", gpt_folder, "--set", "d=3").err
    with_tensors(gpt_folder, lambda t: t.update(extra=torch.zeros(2)))
    assert "extra is unexpected" in command("show", gpt_folder).err
    told = command("show", tmp_path)
    assert (told.code, told.err.count("\n")) == (2, 1)
