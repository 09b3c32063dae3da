"""The three graphs of a model: the encoder, the decoder's first step, and its further steps."""

from collections.abc import Callable

import numpy as np

from nmt_cli.exchange.formats.onnx.graph import Graph
from nmt_cli.exchange.formats.onnx.layers import EXCLUDED, KeysValuesNames, Layers
from nmt_cli.exchange.requirements import head_widths
from nmt_cli.model.encoder_decoder import EncoderDecoder, stack_depths, vocabulary_sizes

BATCH, SOURCE, TARGET, PAST = (
    "batch_size", "encoder_sequence_length", "decoder_sequence_length", "past_sequence_length",
)  # fmt: skip


def encoder_graph(model: EncoderDecoder) -> Graph:
    """input_ids, attention_mask -> last_hidden_state."""
    graph = Graph("encoder")
    layers = Layers(graph, model)
    ids = graph.add_input("input_ids", (BATCH, SOURCE), np.int64)
    excluded = _padding(graph, graph.add_input("attention_mask", (BATCH, SOURCE), np.int64))
    zero, one = graph.integer(0), graph.integer(1)
    positions = graph.apply("Range", zero, graph.length(ids, 1), one)
    x = layers.embed("src", ids, positions)
    for index in range(stack_depths(model.config)[0]):
        name = f"encoder.{index}"

        def attend(y: str, attention: str = f"{name}.self_attention") -> str:
            keys_values = layers.self_keys_values(attention, y, positions)
            return layers.attend(attention, y, keys_values, excluded, positions)

        x = layers.residual(f"{name}.self_attention_norm", x, attend)
        x = layers.residual(f"{name}.feed_forward_norm", x, _feed_forward(layers, name))
    x = layers.last_norm("encoder", x)
    graph.add_output("last_hidden_state", x, (BATCH, SOURCE, model.config.d_model))
    return graph


def decoder_graph(model: EncoderDecoder, *, with_past: bool) -> Graph:
    """Log-probabilities of the tokens after `input_ids`, and keys and values of all tokens so far.

    with_past: those of the tokens before and of the source are inputs; else they are computed.
    """
    return _Decoder(model, with_past=with_past).graph


class _Decoder:
    """Builds one of the two graphs of the decoder."""

    def __init__(self, model: EncoderDecoder, *, with_past: bool) -> None:
        self._config = model.config
        self._with_past = with_past
        self.graph = graph = Graph("decoder_with_past" if with_past else "decoder")
        self._layers = layers = Layers(graph, model)
        mask = graph.add_input("encoder_attention_mask", (BATCH, SOURCE), np.int64)
        self._source_excluded = _padding(graph, mask)
        ids = graph.add_input("input_ids", (BATCH, TARGET), np.int64)
        if not with_past:
            axes = (BATCH, SOURCE, self._config.d_model)
            self._memory = graph.add_input("encoder_hidden_states", axes, np.float32)
        depth = stack_depths(self._config)[1]
        self._past = [
            {part: self._past_inputs(index, part) for part in ("decoder", "encoder")}
            for index in range(depth if with_past else 0)
        ]
        self._set_positions(ids)
        x = layers.embed("tgt", ids, self._positions)
        presents = []
        for index in range(depth):
            x, present = self._layer(index, x)
            presents.append(present)
        x = layers.log_probs(layers.last_norm("decoder", x))
        size = vocabulary_sizes(self._config)[1]
        graph.add_output("logits", x, (BATCH, TARGET, size))
        for index, present in enumerate(presents):
            self._add_presents(index, present)

    def _set_positions(self, ids: str) -> None:
        """The positions of the tokens, and which tokens they must not attend to."""
        graph = self.graph
        one, start = graph.integer(1), graph.integer(0)
        if self._with_past:
            start = graph.length(self._past[0]["decoder"].key, 2)
        end = graph.apply("Add", start, graph.length(ids, 1))
        self._positions = graph.apply("Range", start, end, one)
        keys = graph.apply("Range", graph.integer(0), end, one)
        queries = graph.apply("Unsqueeze", self._positions, graph.integers(1))
        is_later = graph.apply("Greater", keys, queries)
        self._later_excluded = graph.apply(
            "Where", is_later, graph.number(EXCLUDED), graph.number(0.0)
        )

    def _layer(self, index: int, x: str) -> tuple[str, dict[str, KeysValuesNames]]:
        """One layer, and the keys and values that are outputs."""
        layers, name = self._layers, f"decoder.{index}"
        own, cross = f"{name}.self_attention", f"{name}.cross_attention"
        present: dict[str, KeysValuesNames] = {}

        def attend_self(y: str) -> str:
            keys_values = layers.self_keys_values(own, y, self._positions)
            if self._with_past:
                keys_values = KeysValuesNames(
                    *(
                        self.graph.apply("Concat", before, new, axis=2)
                        for before, new in zip(
                            self._past[index]["decoder"], keys_values, strict=True
                        )
                    )
                )
            present["decoder"] = keys_values
            return layers.attend(own, y, keys_values, self._later_excluded, self._positions)

        if self._with_past:
            source = self._past[index]["encoder"]
        else:
            source = present["encoder"] = layers.keys_values(cross, self._memory)
        x = layers.residual(f"{own}_norm", x, attend_self)
        x = layers.residual(
            f"{cross}_norm", x, lambda y: layers.attend(cross, y, source, self._source_excluded)
        )
        x = layers.residual(f"{name}.feed_forward_norm", x, _feed_forward(layers, name))
        return x, present

    def _past_inputs(self, index: int, part: str) -> KeysValuesNames:
        length = PAST if part == "decoder" else SOURCE
        widths = head_widths(self._config)
        return KeysValuesNames(
            *(
                self.graph.add_input(
                    f"past_key_values.{index}.{part}.{kind}",
                    (BATCH, self._config.heads, length, width),
                    np.float32,
                )
                for kind, width in zip(KeysValuesNames._fields, widths, strict=True)
            )
        )

    def _add_presents(self, index: int, present: dict[str, KeysValuesNames]) -> None:
        widths = head_widths(self._config)
        for part in sorted(present):
            length = SOURCE
            if part == "decoder":
                length = f"{PAST} + {TARGET}" if self._with_past else TARGET
            for kind, value, width in zip(
                KeysValuesNames._fields, present[part], widths, strict=True
            ):
                axes = (BATCH, self._config.heads, length, width)
                self.graph.add_output(f"present.{index}.{part}.{kind}", value, axes)


def _feed_forward(layers: Layers, name: str) -> Callable[[str], str]:
    return lambda y: layers.feed_forward(f"{name}.feed_forward", y)


def _padding(graph: Graph, mask: str) -> str:
    """What is added to the scores of source tokens: EXCLUDED for padding, (batch, 1, 1, source)."""
    inside = graph.apply("Greater", mask, graph.integer(0))
    excluded = graph.apply("Where", inside, graph.number(0.0), graph.number(EXCLUDED))
    return graph.apply("Unsqueeze", excluded, graph.integers(1, 2))
