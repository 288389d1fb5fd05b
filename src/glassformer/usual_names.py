"""What other toolkits call our settings, so that an unknown name gets the right hint. Only hints: none is accepted."""

from __future__ import annotations

USUAL_NAMES = {
    other: ours
    for ours, others in {
        "model.d": "d_model model_dim hidden_size hidden_dim hidden dim embed_dim embedding_dim n_embd width",
        "model.N": "layers num_layers n_layers n_layer num_hidden_layers encoder_layers depth",
        "model.N_decoder": "decoder_layers num_decoder_layers",
        "model.h": "heads num_heads n_heads n_head nhead num_attention_heads attention_heads",
        "model.d_ff": "ffn ff ffn_dim dim_feedforward feedforward intermediate_size mlp_dim",
        "train.batch_tokens": "batch_size batch bs max_tokens_per_batch",
        "train.lr": "learning_rate",
        "train.warmup": "warmup_steps num_warmup_steps",
        "train.steps": "max_steps num_steps train_steps iterations",
        "train.epochs": "num_epochs max_epochs num_train_epochs",
        "train.accumulate": "gradient_accumulation gradient_accumulation_steps accum",
        "train.valid_every": "eval_every eval_steps validate_every",
        "train.patience": "early_stopping early_stopping_patience",
        "text.vocab_size": "vocabulary vocab vocabulary_size",
        "decode.beam": "beam_size num_beams beams",
        "decode.alpha": "length_penalty",
    }.items()
    for other in others.split()
}
