"""The Transformer of 2017: "Attention Is All You Need" (Vaswani et al., arXiv 1706.03762), figure 1.

Read from top to bottom, this file is the figure: encoder block, decoder block, the two stacks, the whole.
N, d, h, d_ff and dropout are named as in the paper. Shapes: B sentences, R rows (hypotheses), S source tokens,
T target tokens, D = d, H = h, E = D/H, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, Protocol, Self, cast

import numpy as np
import torch
from pydantic import Field, ModelWrapValidatorHandler, model_validator
from torch import Tensor, nn

from glassformer.config import Settings
from glassformer.models.decoding_state import DecodingState, Grid
from glassformer.models.fast_step import fast_advance
from glassformer.models.taped import TapedDecoder, TapedEncoder
from glassformer.models.tapes import Tapes
from glassformer.nn.attention import CrossAttention, SelfAttention
from glassformer.nn.cache import KVCache
from glassformer.nn.dropout import Dropout
from glassformer.nn.embedding import Embedding
from glassformer.nn.feed_forward import FeedForward
from glassformer.nn.heads import VocabularyHead
from glassformer.nn.masks import additive, padding_mask
from glassformer.nn.norms import LayerNorm
from glassformer.nn.positions import (
    FixedPositions,
    LearnedPositions,
    RotaryPositions,
    Rotation,
    sinusoidal,
    sinusoidal_halves,
)
from glassformer.nn.products import forget, product_by_rows
from glassformer.nn.tape import Best
from glassformer.nn.taps import Tap, WithTaps, listen

# The paper's base and big (its table 3), and smaller ones that an ordinary CPU trains in minutes.
SIZES: dict[str, dict[str, Any]] = {
    "nano": {"N": 2, "d": 64, "h": 4, "d_ff": 128, "dropout": 0.1},
    "tiny": {"N": 4, "d": 128, "h": 4, "d_ff": 256, "dropout": 0.1},
    "small": {"N": 3, "d": 256, "h": 4, "d_ff": 1024, "dropout": 0.1},
    "base": {"N": 6, "d": 512, "h": 8, "d_ff": 2048, "dropout": 0.1},
    "big": {"N": 6, "d": 1024, "h": 16, "d_ff": 4096, "dropout": 0.3},
}
Positions = Literal["sinusoidal", "sinusoidal-halves", "learned", "rotary"]


class TransformerConfig(Settings):
    """The shape of the model. `size` fills in what is not given."""

    size: Literal["nano", "tiny", "small", "base", "big"] = Field(
        "tiny", description="Fills in N, d, h, d_ff and dropout: nano, tiny, small, and the paper's base and big."
    )
    N: int = Field(ge=1, description="Blocks in the encoder, and in the decoder unless N_decoder says otherwise.")
    N_decoder: int | None = Field(None, ge=1, description="Blocks in the decoder, if not N.")
    d: int = Field(ge=1, description="Width of the model: every token is a vector of d numbers.")
    h: int = Field(ge=1, description="Attention heads; d must be a multiple of h.")
    d_ff: int = Field(ge=1, description="Inner width of the feed-forward network.")
    dropout: float = Field(ge=0, lt=1, description="Share of values zeroed in training, against overfitting.")
    norm: Literal["pre", "post"] = Field(
        "pre", description="Where LayerNorm stands: 'post' as in the paper, 'pre' trains more easily."
    )
    positions: Positions = Field(
        "sinusoidal", description="How order is told: sinusoidal (-halves: sines first), learned, rotary."
    )
    max_length: int = Field(512, ge=1, description="Learned positions only: how many there are.")
    activation: Literal["relu", "gelu", "gelu_tanh", "silu"] = Field("relu", description="Inside the feed-forward.")
    tied: Literal["all", "output", "none"] = Field(
        "all", description="Which matrices are one: both embeddings and the output; target and output; none."
    )
    output_bias: bool = Field(False, description="A learned bias on the logits.")

    @model_validator(mode="wrap")
    @classmethod
    def _fill_in_size(cls, values: Any, validated: ModelWrapValidatorHandler[TransformerConfig]) -> TransformerConfig:
        """What the size fills in does not count as set."""
        if not isinstance(values, dict):
            return validated(values)  # not a section: the fields' own check says so
        config = validated({**SIZES.get(str(values.get("size", "tiny")), SIZES["tiny"]), **values})
        config.__pydantic_fields_set__.intersection_update(values)
        return config

    @model_validator(mode="after")
    def _heads_divide_width(self) -> TransformerConfig:
        if self.d % self.h:
            raise ValueError(f"d = {self.d} is not a multiple of h = {self.h}: the heads share the width evenly")
        return self


class AddNorm(nn.Module):
    """The figure's "Add & Norm" around a sub-layer: LN(x + f(x)) in the paper, x + f(LN(x)) with pre-norm."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.pre_norm = config.norm == "pre"
        self.norm = LayerNorm(config.d)
        self.dropout = Dropout(config.dropout)
        self.before, self.added, self.after = Tap(), Tap(), Tap()

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        x = self.before(x)
        added = self.added(self.dropout(sublayer(self.norm(x) if self.pre_norm else x)))
        x = x + added
        return self.after(x if self.pre_norm else self.norm(x))


class EncoderBlock(nn.Module):
    """Left half of the figure: self-attention, then feed-forward."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = SelfAttention(config.d, heads=config.h)
        self.self_attention_residual = AddNorm(config)
        self.feed_forward = FeedForward(config.d, config.d_ff, activation=config.activation)
        self.feed_forward_residual = AddNorm(config)

    def forward(self, x: Tensor, *, mask: Tensor | None, rotation: Rotation | None) -> Tensor:
        x = self.self_attention_residual(x, partial(self.self_attention, mask=mask, rotation=rotation))
        return self.feed_forward_residual(x, self.feed_forward)


class DecoderBlock(nn.Module):
    """Right half of the figure: masked self-attention, attention to the encoder's output, feed-forward."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = SelfAttention(config.d, heads=config.h)
        self.self_attention_residual = AddNorm(config)
        self.cross_attention = CrossAttention(config.d, heads=config.h)
        self.cross_attention_residual = AddNorm(config)
        self.feed_forward = FeedForward(config.d, config.d_ff, activation=config.activation)
        self.feed_forward_residual = AddNorm(config)

    def forward(
        self,
        x: Tensor,
        memory: tuple[Tensor, Tensor],
        *,
        memory_mask: Tensor | None,
        rotation: Rotation | None,
        cache: KVCache | None = None,
        causal: bool = True,
        mask: Tensor | None = None,
    ) -> Tensor:
        attend_self = partial(self.self_attention, causal=causal, mask=mask, rotation=rotation, cache=cache)
        x = self.self_attention_residual(x, attend_self)
        x = self.cross_attention_residual(x, partial(self.cross_attention, keys_values=memory, mask=memory_mask))
        return self.feed_forward_residual(x, self.feed_forward)


class Inputs(nn.Module):
    """The figure's bottom: token embedding times sqrt(d), plus the position, then dropout."""

    def __init__(self, config: TransformerConfig, embedding: Embedding) -> None:
        super().__init__()
        self.embedding = embedding
        self.positions = make_positions(config)
        self.dropout = Dropout(config.dropout)
        self.token, self.position, self.sum = Tap(), Tap(), Tap()

    def forward(self, ids: Tensor, *, start: int = 0, length: int | None = None) -> Tensor:
        """Of the positions from `start` on; with a `length` of 1 all ids stand at the same one."""
        x = self.token(self.embedding(ids))  # (B, T, D)
        if self.positions is not None:
            x = x + self.position(self.positions(ids.size(1) if length is None else length, start=start))
        return self.sum(self.dropout(x))


def make_positions(config: TransformerConfig) -> FixedPositions | LearnedPositions | None:
    """What is added to the embeddings; rotary positions add nothing, they turn queries and keys instead."""
    if config.positions == "learned":
        return LearnedPositions(config.max_length, config.d)
    tables = {"sinusoidal": sinusoidal, "sinusoidal-halves": sinusoidal_halves}
    table = tables.get(config.positions)
    return None if table is None else FixedPositions(partial(table, width=config.d))


def make_rotary(config: TransformerConfig) -> RotaryPositions | None:
    return RotaryPositions(config.d // config.h) if config.positions == "rotary" else None


class Encoder(nn.Module):
    """Inputs, then N blocks. Pre-norm needs one more norm at the end, since its residual stream is never normed."""

    def __init__(self, config: TransformerConfig, embedding: Embedding) -> None:
        super().__init__()
        self.inputs = Inputs(config, embedding)
        self.rotary = make_rotary(config)
        self.blocks = nn.ModuleList(EncoderBlock(config) for _ in range(config.N))
        self.final_norm = LayerNorm(config.d) if config.norm == "pre" else nn.Identity()

    def forward(self, ids: Tensor, *, mask: Tensor | None) -> Tensor:
        """ids (B, S) -> memory (B, S, D)."""
        x = self.inputs(ids)
        rotation = None if self.rotary is None else self.rotary(ids.size(1))
        for block in self.blocks:
            x = block(x, mask=mask, rotation=rotation)
        return self.final_norm(x)


class Decoder(WithTaps):
    """Inputs, then N blocks, each of which reads the final output of the encoder."""

    def __init__(self, config: TransformerConfig, embedding: Embedding) -> None:
        super().__init__()
        self.inputs = Inputs(config, embedding)
        self.rotary = make_rotary(config)
        self.blocks = nn.ModuleList(DecoderBlock(config) for _ in range(config.N_decoder or config.N))
        self.final_norm = LayerNorm(config.d) if config.norm == "pre" else nn.Identity()

    def advance(self, ids: Tensor, state: DecodingState, lineage: Tensor | None) -> Tensor:
        """The next token of each hypothesis, ids (B, k) -> hidden states (B, k, D). The caches move on.

        lineage (B, 1, k, slots): which slots a hypothesis sees.
        """
        x = self.inputs(ids, start=state.length, length=1)
        rotation = None if self.rotary is None else self.rotary(1, start=state.length)
        for block, memory, cache in zip(self.blocks, state.memories, state.caches, strict=True):
            x = block(
                x,
                memory,
                memory_mask=state.memory_mask,
                rotation=rotation,
                cache=cache,
                causal=False,
                mask=lineage,
            )
        return self.final_norm(x)

    def hidden(
        self, ids: Tensor, state: DecodingState, *, want_attention: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """The next token of each row, ids (R,) -> hidden states (R, D), and if wanted the cross-attention."""
        grid = Grid.of(state)
        lineage = None if state.lineage is None else grid.spread(state.lineage).unsqueeze(1)  # (B, 1, k, slots)
        side_by_side = grid.spread(ids)  # (B, k)
        if not want_attention:
            advance = self.advance if self.heard else partial(fast_advance, self)
            return grid.gathered(advance(side_by_side, state, lineage)), None
        with listen(self, lambda name: name.endswith("cross_attention.core.pattern")) as heard:
            hidden = self.advance(side_by_side, state, lineage)
        layers = [heard[name][0].transpose(1, 2) for name in sorted_by_block(heard)]  # (B, k, H, S)
        return grid.gathered(hidden), grid.gathered(torch.stack(layers, dim=2))  # (R, N, H, S)

    def read(self, memory: Tensor) -> list[tuple[Tensor, Tensor]]:
        """The cross-attention keys and values of every block for this memory."""
        attentions = (cast(DecoderBlock, block).cross_attention for block in self.blocks)
        return [attention.read(memory) for attention in attentions]

    def forward(
        self,
        ids: Tensor,
        memories: list[tuple[Tensor, Tensor]],
        *,
        memory_mask: Tensor | None,
        caches: list[KVCache] | None = None,
    ) -> Tensor:
        """ids (R, T) -> hidden states (R, T, D). With caches, ids continue what the caches hold."""
        start = caches[0].length if caches else 0
        x = self.inputs(ids, start=start)
        rotation = None if self.rotary is None else self.rotary(ids.size(1), start=start)
        for i, block in enumerate(self.blocks):
            cache = caches[i] if caches else None
            x = block(x, memories[i], memory_mask=memory_mask, rotation=rotation, cache=cache)
        return self.final_norm(x)


class SourceBatch(Protocol):
    """What the encoder needs: padded ids (B, S) and how long each sentence is (B,)."""

    @property
    def source(self) -> Tensor: ...
    @property
    def source_lengths(self) -> Tensor: ...


class PairBatch(SourceBatch, Protocol):
    """What teacher forcing needs besides: the target shifted right, (B, T)."""

    @property
    def target_in(self) -> Tensor: ...


class Transformer(WithTaps):
    """Encoder, decoder and the output layer. Speaks the decoding protocol: start, step, select."""

    def __init__(self, config: TransformerConfig, *, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        if config.tied == "all" and source_vocabulary != target_vocabulary:
            raise ValueError(f"tied = 'all' needs one vocabulary, got {source_vocabulary} and {target_vocabulary}")
        self.config = config
        target = Embedding(target_vocabulary, config.d)
        source = target if config.tied == "all" else Embedding(source_vocabulary, config.d)
        self.encoder = Encoder(config, source)
        self.decoder = Decoder(config, target)
        tied_to = None if config.tied == "none" else target.weight
        self.head = VocabularyHead(config.d, target_vocabulary, tied_to=tied_to, bias=config.output_bias)
        self.memory, self.logits = Tap(), Tap()
        self.tapes = Tapes()

    # Training: every position of the target at once (teacher forcing).

    def train(self, mode: bool = True) -> Self:
        """What decoding has prepared of the weights is forgotten when they are about to change."""
        if mode:
            forget(self)
            self.tapes = Tapes()
        return super().train(mode)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Moved, or of another precision: the same."""
        forget(self)
        self.tapes = Tapes()
        return super()._apply(fn, recurse)

    def forward(self, batch: PairBatch) -> Tensor:
        """Logits (B, T, V) of each next target token."""
        return self.logits(self.head(self.hidden(batch)))

    def hidden(self, batch: PairBatch) -> Tensor:
        """The decoder's last hidden states (B, T, D), before the output layer."""
        memories, mask = self.encode(batch)
        return self.decoder(batch.target_in, memories, memory_mask=mask)

    def encode(self, batch: SourceBatch) -> tuple[list[tuple[Tensor, Tensor]], Tensor | None]:
        """Runs the encoder and reads its output for every decoder block: memories and their padding mask."""
        mask = source_mask(batch, self.head.weight.dtype)
        memory = self.memory(self.encoder(batch.source, mask=mask))
        return self.decoder.read(memory), mask

    # Decoding: one position after the other, the past kept in caches.

    def start(self, batch: SourceBatch) -> DecodingState:
        if self.tapes.ready(self) and self.can_be_written and batch.source.numel() and batch.source.is_cpu:
            mask = source_mask(batch, self.head.weight.dtype)
            write = partial(TapedEncoder, self.encoder, self.decoder)
            memories = self.tapes.kept("encoder", batch.source.numel(), write).run(batch.source, mask)
        else:
            memories, mask = self.encode(batch)
        return DecodingState(memories, mask, [KVCache() for _ in memories], owners=np.arange(len(batch.source)))

    def step(
        self, ids: Tensor, state: DecodingState, *, want_attention: bool = False
    ) -> tuple[Tensor, DecodingState, Tensor | None]:
        """The last token of each row (R,) -> logits (R, V) of the next, the state that follows, and if wanted the
        cross-attention (R, N, H, S). `state` itself moves on."""
        taped = not want_attention and self.taped(state)
        self.make_room(ids, state, share=1 / 2 if taped else 1 / 8)
        if taped:
            logits, attention = self.tape(ids).run(ids, state), None
        else:
            hidden, attention = self.decoder.hidden(ids, state, want_attention=want_attention)
            logits = product_by_rows(self.head, hidden)
        state.length += 1
        return logits, state, attention

    def step_to_best(self, ids: Tensor, state: DecodingState, n: int) -> tuple[Best, DecodingState] | None:
        """The same where only the n most likely tokens of each row are wanted: their log-probabilities and ids, both
        (R, n). None where tapes cannot do it."""
        if not self.taped(state):
            return None
        self.make_room(ids, state, share=1 / 2)
        found = self.tape(ids).best(ids, state, n)
        state.length += 1
        return found, state

    @property
    def can_be_written(self) -> bool:
        """Rotary positions are not for these tapes."""
        return self.decoder.rotary is None

    def taped(self, state: DecodingState) -> bool:
        """Whether the compiled step may stand in for the modules."""
        return state.plain and self.can_be_written and self.tapes.usable(self)

    def tape(self, ids: Tensor) -> TapedDecoder:
        return self.tapes.kept("decoder", len(ids), partial(TapedDecoder, self))

    def make_room(self, ids: Tensor, state: DecodingState, *, share: float) -> None:
        """For one more token of each row. Sentences that have ended leave when they are such a share of all: tapes
        pass over them, whole batches of products do not."""
        if ids.numel() != state.rows:
            raise ValueError(f"got {ids.numel()} tokens for {state.rows} hypotheses")
        state.leave(share=share)
        state.grow()

    def select(self, state: DecodingState, rows: Tensor) -> DecodingState:
        """The state whose row i is the old row rows[i]."""
        return state.select(rows)


def source_mask(batch: SourceBatch, dtype: torch.dtype) -> Tensor | None:
    """The additive padding mask of the source, or None where nothing is padded (the kernel is faster then)."""
    size = batch.source.size(1)
    if bool((batch.source_lengths == size).all()):
        return None
    return additive(padding_mask(batch.source_lengths, size), dtype)


def sorted_by_block(names: dict[str, list[Tensor]]) -> list[str]:
    """Tap names in the order of their blocks: "blocks.10..." after "blocks.9..."."""
    return sorted(names, key=lambda name: int(name.split(".")[1]))
