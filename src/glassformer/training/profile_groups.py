"""A table from the operation names of torch's profiler to the groups that a profile shows."""

from __future__ import annotations

PRODUCTS = "matrix products"
ATTENTION = "attention"
OUTPUT = "output layer and loss"
DROPOUT = "dropout"
NORMS = "norms"
EMBEDDING = "embeddings"
ELEMENTS = "sums, activations, copies"
OPTIMISER = "optimiser and clipping"
BATCHES = "making batches"
PYTHON = "Python and autograd between"
OTHERS = "everything else"
GROUPS = (PRODUCTS, ATTENTION, OUTPUT, DROPOUT, NORMS, EMBEDDING, ELEMENTS, OPTIMISER, BATCHES, PYTHON, OTHERS)

# Our own marks around parts that cannot be recognised by operation names.
STEP, BATCH, DROPPING = "glassformer.step", "glassformer.batch", "glassformer.dropout"

# Everything inside an event whose name begins like this belongs to the group, in the backward pass too.
SCOPES = {
    BATCH: BATCHES,
    DROPPING: DROPOUT,
    "Optimizer.step": OPTIMISER,
    "Optimizer.zero_grad": OPTIMISER,
    "_Products": ATTENTION,  # short_attention
    "_Attention": ATTENTION,  # native/attention
    "aten::scaled_dot_product_attention": ATTENTION,
    "aten::_scaled_dot_product": ATTENTION,
    "_LinearCrossEntropy": OUTPUT,  # vocabulary_loss
    "_Linear": PRODUCTS,  # linear; after _LinearCrossEntropy, which begins with the same letters
    "_Dropout": DROPOUT,
    "_Activation": ELEMENTS,
    "_RmsNorm": NORMS,
    "aten::cross_entropy_loss": OUTPUT,
    "aten::nll_loss": OUTPUT,
    "aten::_log_softmax": OUTPUT,
}

# Operations by themselves.
OPERATIONS = {
    "mkldnn::_linear_pointwise": PRODUCTS,
    **dict.fromkeys(("mm", "addmm", "addmm_", "bmm", "baddbmm", "linear", "matmul", "addmv_", "mv"), PRODUCTS),
    **dict.fromkeys(("_softmax", "_softmax_backward_data", "softmax", "masked_fill", "masked_fill_"), ATTENTION),
    **dict.fromkeys(("random_", "bernoulli_", "native_dropout", "native_dropout_backward"), DROPOUT),
    **dict.fromkeys(("native_layer_norm", "native_layer_norm_backward", "layer_norm"), NORMS),
    **dict.fromkeys(("_fused_rms_norm", "_fused_rms_norm_backward", "rms_norm", "rsqrt"), NORMS),
    **dict.fromkeys(("embedding", "embedding_backward", "embedding_dense_backward", "index_select"), EMBEDDING),
    **dict.fromkeys(("linalg_vector_norm", "_foreach_norm", "_foreach_mul_", "_fused_adamw_"), OPTIMISER),
    **dict.fromkeys(("add", "add_", "sub", "sub_", "mul", "mul_", "div", "div_", "neg", "sum", "mean"), ELEMENTS),
    **dict.fromkeys(("relu", "clamp_min", "threshold_backward", "gelu", "gelu_backward"), ELEMENTS),
    **dict.fromkeys(("silu", "silu_backward", "sigmoid", "sigmoid_backward", "tanh"), ELEMENTS),
    **dict.fromkeys(("copy_", "_to_copy", "to", "clone", "contiguous", "cat", "stack", "index", "repeat"), ELEMENTS),
    **dict.fromkeys(("_index_put_impl_", "index_put_", "gather", "ge", "lt", "eq", "where", "arange"), ELEMENTS),
    **dict.fromkeys(("empty", "empty_like", "empty_strided", "zeros", "zeros_like", "zero_", "fill_"), ELEMENTS),
    **dict.fromkeys(("new_zeros", "new_empty_strided", "new_empty", "resize_", "ones", "ones_like"), ELEMENTS),
    **dict.fromkeys(
        ("view", "reshape", "_unsafe_view", "as_strided", "as_strided_", "transpose", "t", "expand"), ELEMENTS
    ),
    **dict.fromkeys(("slice", "select", "split", "split_with_sizes", "unflatten", "flatten", "permute"), ELEMENTS),
    **dict.fromkeys(("unsqueeze", "squeeze", "narrow", "unbind", "alias", "resolve_conj", "detach"), ELEMENTS),
    **dict.fromkeys(("nonzero", "masked_select", "item", "_local_scalar_dense", "result_type"), ELEMENTS),
}

# Events that are not operations: the autograd engine, its nodes, our own marks, Python functions.
BETWEEN = ("autograd::engine", "torch::autograd", STEP)
