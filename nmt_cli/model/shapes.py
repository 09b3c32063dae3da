"""The sizes of a model and the names and shapes of its weights, which follow from its settings."""

from nmt_cli.config.schema import ModelConfig

# Which matrix serves as source embedding, target embedding and output (section 3.4).
TIES = {
    "all": {"src": "shared", "tgt": "shared", "output": "shared"},
    "target": {"src": "src", "tgt": "tgt", "output": "tgt"},
    "none": {"src": "src", "tgt": "tgt", "output": "output"},
}
Shapes = dict[str, tuple[int, ...]]


def head_widths(config: ModelConfig) -> tuple[int, int]:
    """d_k and d_v; both are d_model / h unless set (section 3.2.2)."""
    d_k = config.d_model // config.heads if config.d_k == "auto" else config.d_k
    d_v = config.d_model // config.heads if config.d_v == "auto" else config.d_v
    return d_k, d_v


def vocabulary_sizes(config: ModelConfig) -> tuple[int, int]:
    """Sizes of the source and target vocabulary.

    Raises ValueError if they are not known, or unequal although the sides share a matrix.
    """
    src, tgt = config.src_vocab_size, config.tgt_vocab_size
    if src == "auto" or tgt == "auto":
        raise ValueError("a model needs the sizes of its vocabularies; a corpus gives them")
    if config.tie_embeddings == "all" and src != tgt:
        raise ValueError("one shared matrix needs one vocabulary for both sides")
    return src, tgt


def stack_depths(config: ModelConfig) -> tuple[int, int]:
    """Layers of the encoder and of the decoder."""
    encoder = config.layers if config.encoder_layers == "auto" else config.encoder_layers
    decoder = config.layers if config.decoder_layers == "auto" else config.decoder_layers
    return encoder, decoder


def transformer_shapes(config: ModelConfig) -> Shapes:
    """The shape of each weight of a `model.transformer.Transformer`, by name, in its order.

    Raises ValueError as `vocabulary_sizes` does.
    """
    sizes, d_model = vocabulary_sizes(config), config.d_model
    shapes: Shapes = {}
    if config.output_bias:
        shapes["output_bias"] = (sizes[1],)
    for use, name in TIES[config.tie_embeddings].items():
        shapes[f"embedding.{name}"] = (sizes[0] if use == "src" else sizes[1], d_model)
    if config.positions == "learned":
        for name in ("positions", "tgt_positions"):
            shapes[f"{name}.weight"] = (config.max_positions, d_model)
    for stack, depth in zip(("encoder", "decoder"), stack_depths(config), strict=True):
        for layer in range(depth):
            shapes |= _layer_shapes(config, f"{stack}.{layer}", cross=stack == "decoder")
    if config.norm_order == "pre":
        for stack in ("encoder", "decoder"):
            shapes |= _norm_shapes(config, f"{stack}_norm")
    return shapes


def _layer_shapes(config: ModelConfig, layer: str, *, cross: bool) -> Shapes:
    d_model, d_ff = config.d_model, config.d_ff
    d_k, d_v = head_widths(config)
    shapes: Shapes = {}

    def add(name: str, outputs: int, inputs: int, *, bias: bool) -> None:
        shapes[f"{layer}.{name}.weight"] = (outputs, inputs)
        if bias:
            shapes[f"{layer}.{name}.bias"] = (outputs,)

    for attention in ("self_attention", "cross_attention") if cross else ("self_attention",):
        for name, width in (("query", d_k), ("key", d_k), ("value", d_v)):
            outputs = config.heads * width
            add(f"{attention}.{name}", outputs, d_model, bias=config.attention_bias)
        add(f"{attention}.output", d_model, config.heads * d_v, bias=config.attention_bias)
        shapes |= _norm_shapes(config, f"{layer}.{attention}_norm")
    add("feed_forward.inner", d_ff, d_model, bias=config.feed_forward_bias)
    add("feed_forward.outer", d_model, d_ff, bias=config.feed_forward_bias)
    if config.activation == "swiglu":
        add("feed_forward.gate", d_ff, d_model, bias=config.feed_forward_bias)
    shapes |= _norm_shapes(config, f"{layer}.feed_forward_norm")
    return shapes


def _norm_shapes(config: ModelConfig, name: str) -> Shapes:
    shapes: Shapes = {f"{name}.weight": (config.d_model,)}
    if config.norm == "layer_norm":
        shapes[f"{name}.bias"] = (config.d_model,)
    return shapes
