"""Every architecture by its kind. A model's file is imported when it is first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, cast

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from glassformer.config import Settings, sections_of, validate
from glassformer.errors import SettingsError

MODELS: dict[str, tuple[str, str, str]] = {  # kind: file, config, model
    "transformer": ("glassformer.models.transformer", "TransformerConfig", "Transformer"),
    "bert": ("glassformer.models.bert", "BertConfig", "Bert"),
    "roformer": ("glassformer.models.roformer", "RoFormerConfig", "RoFormer"),
    "gpt": ("glassformer.models.gpt", "GptConfig", "Gpt"),
    "llama": ("glassformer.models.llama", "LlamaConfig", "Llama"),
    "t5": ("glassformer.models.t5", "T5Config", "T5"),
    "vit": ("glassformer.models.vit", "VitConfig", "Vit"),
    "lstm": ("glassformer.models.lstm", "LstmConfig", "Lstm"),
    "lstm_lm": ("glassformer.models.lstm_lm", "LstmLmConfig", "LstmLm"),
    "bilstm": ("glassformer.models.bilstm", "BiLstmConfig", "BiLstm"),
    "rnn_attention": ("glassformer.models.rnn_attention", "RnnAttentionConfig", "RnnAttention"),
    "captioner": ("glassformer.models.captioner", "CaptionerConfig", "Captioner"),
}
TRANSLATORS = ("transformer", "lstm", "rnn_attention")  # they read one text and write another, in any two vocabularies
RECURRENT = ("lstm", "rnn_attention", "lstm_lm", "bilstm")  # no other program has them, so they cannot be exported
VOCABULARIES = ("source_vocabulary", "target_vocabulary")  # of translators; they are not in the config


def config_class(kind: str) -> type[Settings]:
    return cast(type[Settings], _part(kind, 1))


def model_class(kind: str) -> type[nn.Module]:
    return cast(type[nn.Module], _part(kind, 2))


def sizes(kind: str) -> dict[str, dict[str, Any]]:
    """The named sizes of a kind."""
    return cast(dict[str, dict[str, Any]], import_module(_entry(kind)[0]).SIZES)


class SkipInit(TorchFunctionMode):
    """Leaves weights uninitialised: they will be loaded, and initialising takes longer than loading."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        given = dict(kwargs or {})
        if func in (Tensor.normal_, Tensor.uniform_) or getattr(func, "__module__", "") == "torch.nn.init":
            return args[0] if args else given["tensor"]
        return func(*args, **given)


def build_without_init(kind: str, values: Mapping[str, Any], *, origin: str = "model") -> nn.Module:
    """A model with arbitrary weights: the caller must fill in every one of them."""
    with SkipInit():
        return build(kind, values, origin=origin)


def build(kind: str, values: Mapping[str, Any], *, origin: str = "model") -> nn.Module:
    """A new model with these settings. They may include the kind; for translators, also their two vocabularies.

    Without a `size` nothing is filled in: each setting that is not given has its default.
    """
    known = dict(values)
    given = {name: known.pop(name) for name in VOCABULARIES if kind in TRANSLATORS and name in known}
    known = known if "size" in known else spelled_out(config_class(kind), known)
    return model_class(kind)(validate(config_class(kind), known, origin=origin), **given)


def translator(config: Settings, *, source_vocabulary: int, target_vocabulary: int) -> nn.Module:
    """A new translator with these settings."""
    kind: str = config.kind  # type: ignore[attr-defined]
    return model_class(kind)(config, source_vocabulary=source_vocabulary, target_vocabulary=target_vocabulary)


def spelled_out(kind: type[Settings], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values, and the default of every other field that has one, in sections too, so that no size sets anything."""
    found = dict(values)
    for name, field in kind.model_fields.items():
        sections = sections_of(field)
        if sections and isinstance(found.get(name), Mapping) and "size" not in found[name]:
            found[name] = spelled_out(sections[0], found[name])
        elif name not in found and not field.is_required():
            found[name] = field.get_default(call_default_factory=True, validated_data={})
    return found


def values_of(model: nn.Module) -> dict[str, Any]:
    """The settings from which `build` makes the same kind of model, its kind first."""
    values = without_sizes(cast(Settings, model.config).model_dump(exclude_none=True))
    if values["kind"] in TRANSLATORS:
        inputs = (model.get_submodule(f"{side}.inputs.embedding") for side in ("encoder", "decoder"))
        counts = (cast(nn.Parameter, embedding.weight).size(0) for embedding in inputs)
        values |= dict(zip(VOCABULARIES, counts, strict=True))
    return values


def without_sizes(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values without `size`: they contain all that it set, and the name may no longer fit them."""
    return {
        name: without_sizes(value) if isinstance(value, Mapping) else value
        for name, value in values.items()
        if name != "size"
    }


def _entry(kind: str) -> tuple[str, str, str]:
    if kind not in MODELS:
        raise SettingsError(f"{kind!r} is not a kind of model. Known: {', '.join(MODELS)}.")
    return MODELS[kind]


def _part(kind: str, place: int) -> Any:
    entry = _entry(kind)
    return getattr(import_module(entry[0]), entry[place])
