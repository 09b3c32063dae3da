"""Figure 1 as a whole: what may and may not influence a logit, in every variant of the model."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from variants import VARIANTS, model_config

from nmt_cli.batch import Batch, Segments, make_batch
from nmt_cli.model.attention import BACKENDS, fused_attention
from nmt_cli.model.state import DecoderState
from nmt_cli.model.transformer import Transformer, initialise, parameter_count

SRC_LENGTHS = [3, 1, 6, 2]
TGT_LENGTHS = [5, 2, 4, 7]

every_variant = pytest.mark.parametrize("settings", VARIANTS, ids=range(len(VARIANTS)))


def close(found: Tensor, expected: Tensor) -> None:
    """The same number by another order of float64 sums."""
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


def pairs_of(batch: Batch) -> list[tuple[Tensor, Tensor]]:
    return list(
        zip(
            batch.src.split(batch.src_segments.lengths.tolist()),
            batch.tgt_out.split(batch.tgt_segments.lengths.tolist()),
            strict=True,
        )
    )


def batch_of(pairs: list[tuple[Tensor, Tensor]], start_id: int) -> Batch:
    sources, targets = ([pair[side].numpy() for pair in pairs] for side in (0, 1))
    return make_batch(sources, targets, range(len(pairs)), start_id)


def logits_of(model: Transformer, pairs: list[tuple[Tensor, Tensor]]) -> list[Tensor]:
    """The logits of each pair, computed in one batch."""
    batch = batch_of(pairs, model.config.bos_id)
    with torch.no_grad():
        return list(model(batch).split(batch.tgt_segments.lengths.tolist()))


@pytest.fixture
def pairs(random_batch) -> list[tuple[Tensor, Tensor]]:
    return pairs_of(random_batch(model_config({"model.src_vocab_size": 11,
        "model.tie_embeddings": "none"}), SRC_LENGTHS, TGT_LENGTHS))  # fmt: skip


@every_variant
def test_a_batch_gives_what_each_pair_gives_alone(settings, make_model, pairs) -> None:
    model = make_model(settings)
    together = logits_of(model, pairs)
    for pair, found in zip(pairs, together, strict=True):
        close(found, logits_of(model, [pair])[0])
    turned = logits_of(model, pairs[::-1])[::-1]
    for one, other in zip(turned, together, strict=True):
        close(one, other)


@every_variant
def test_packed_and_rectangular_layouts_agree(settings, make_model, random_batch) -> None:
    model = make_model(settings)
    batch = random_batch(model.config, [4, 4, 4, 6], [3, 3, 3, 5])
    pairs = pairs_of(batch)
    rectangular = batch_of(pairs[:3], model.config.bos_id)
    assert rectangular.src_segments.is_rectangular
    assert not batch.src_segments.is_rectangular
    for one, other in zip(logits_of(model, pairs[:3]), logits_of(model, pairs), strict=False):
        close(one, other)


@every_variant
def test_no_logit_knows_later_tokens_or_other_sentences(settings, make_model, pairs) -> None:
    model = make_model(settings)
    before = logits_of(model, pairs)
    changed, place = 2, 1
    src, tgt = (side.clone() for side in pairs[changed])
    tgt[place] = 13 if tgt[place] != 13 else 12
    after = logits_of(model, [*pairs[:changed], (src, tgt), *pairs[changed + 1 :]])
    # tgt[place] enters the decoder one step later.
    close(after[changed][: place + 1], before[changed][: place + 1])
    moved = (after[changed] - before[changed]).abs().amax(1)
    assert (moved[place + 1 :] > 1e-6).all()
    src[0] = 10 if src[0] != 10 else 9
    after = logits_of(model, [*pairs[:changed], (src, tgt), *pairs[changed + 1 :]])
    assert ((after[changed] - before[changed]).abs().amax(1) > 1e-6).all()
    for number in (0, 1, 3):
        close(after[number], before[number])


class Walk:
    """Hypotheses that grow by random tokens while rows are repeated, moved, dropped and added.

    Each keeps the logits that steps gave it, to be compared with those of teacher forcing.
    """

    def __init__(self, model: Transformer, sources: list[Tensor], first: list[int]) -> None:
        self.model = model
        self.chooser = np.random.default_rng(11)
        self.sources = sources
        self.hypotheses: list[tuple[int, list[int], list[Tensor]]] = []
        self.retired: list[tuple[int, list[int], list[Tensor]]] = []
        self.state = self.admit(first)

    def admit(self, numbers: list[int]) -> DecoderState:
        segments = Segments.from_lengths([len(self.sources[number]) for number in numbers])
        src = torch.cat([self.sources[number] for number in numbers])
        self.hypotheses += [(number, [], []) for number in numbers]
        return self.model.start(self.model.encode(src, segments), segments)

    def refill(self, numbers: list[int]) -> None:
        self.state = self.state.merge(self.admit(numbers))

    def select(self, rows: list[int]) -> None:
        gone = set(range(len(self.hypotheses))) - set(rows)
        self.retired += [self.hypotheses[row] for row in sorted(gone)]
        self.state = self.state.select(torch.tensor(rows, dtype=torch.int64))
        kept = [self.hypotheses[row] for row in rows]
        self.hypotheses = [(source, [*ids], [*logits]) for source, ids, logits in kept]

    def step(self) -> None:
        ids = self.chooser.integers(4, 14, len(self.hypotheses))
        for number, (_, prefix, _) in enumerate(self.hypotheses):
            if not prefix:
                ids[number] = self.model.config.bos_id
        logits, self.state = self.model.step(self.state, torch.from_numpy(ids))
        for row, one, (_, prefix, seen) in zip(logits, ids, self.hypotheses, strict=True):
            prefix.append(int(one))
            seen.append(row)

    def check(self) -> int:
        """Compare everything with teacher forcing; how many logits were compared."""
        everyone = [one for one in self.retired + self.hypotheses if one[1]]
        eos = self.model.config.eos_id
        pairs = [
            (self.sources[source], torch.tensor([*ids[1:], eos])) for source, ids, _ in everyone
        ]
        for (_, _, seen), expected in zip(everyone, logits_of(self.model, pairs), strict=True):
            close(torch.stack(seen), expected)
        return sum(len(seen) for _, _, seen in everyone)


@every_variant
@torch.no_grad()
def test_steps_give_what_teacher_forcing_gives(settings, make_model, pairs, monkeypatch) -> None:
    monkeypatch.setattr("nmt_cli.model.state.GROWTH", 3)
    walk = Walk(make_model(settings), [src for src, _ in pairs], [0, 1])
    walk.step()
    walk.select([0, 0, 0, 1, 1, 1])
    assert walk.state.beams == 3
    walk.step()
    walk.step()
    walk.select([2, 0, 0, 4, 3, 5])
    walk.step()
    walk.select([5, 2, 0])
    assert walk.state.beams == 0
    walk.step()
    walk.refill([2])
    walk.step()
    walk.select([3, 3, 1])
    walk.step()
    walk.refill([3, 0])
    for _ in range(3):
        walk.step()
    walk.select([4, 3])
    walk.step()
    assert walk.check() > 50


@torch.no_grad()
@pytest.mark.parametrize("seed", range(8))
def test_any_walk_of_the_search_gives_what_teacher_forcing_gives(
    seed, make_model, random_batch, monkeypatch
) -> None:
    monkeypatch.setattr("nmt_cli.model.state.GROWTH", 2)
    model = make_model({"model.positions": ("sinusoidal", "rotary")[seed % 2]})
    chooser = np.random.default_rng(seed)
    lengths = chooser.integers(1, 9, 6).tolist()
    sources = [src for src, _ in pairs_of(random_batch(model.config, lengths, lengths))]
    walk = Walk(model, sources, [0, 5])
    for _ in range(14):
        if not walk.hypotheses or chooser.random() < 0.3:
            walk.refill(chooser.integers(0, 6, chooser.integers(1, 3)).tolist())
        if chooser.random() < 0.5:
            rows = len(walk.hypotheses)
            walk.select(chooser.integers(0, rows, chooser.integers(0, min(rows, 5) + 1)).tolist())
        if walk.hypotheses:
            walk.step()
    assert walk.check() >= 14


@torch.no_grad()
def test_the_backend_for_gpus_gives_the_same(make_model, pairs, monkeypatch) -> None:
    model = make_model({})
    plain = logits_of(model, pairs)
    monkeypatch.setitem(BACKENDS, "cpu", fused_attention)
    for found, expected in zip(logits_of(model, pairs), plain, strict=True):
        close(found, expected)
    walk = Walk(model, [src for src, _ in pairs], [0, 2])
    for rows in ([1, 1, 0], [2, 0, 1], [0, 1, 2]):
        walk.select(rows)
        walk.step()
    assert walk.check() == 9


@torch.no_grad()
def test_a_state_without_rows_can_be_filled_again(make_model, pairs) -> None:
    walk = Walk(make_model({}), [src for src, _ in pairs], [1, 2])
    walk.step()
    walk.select([])
    assert (walk.state.rows, len(walk.state.cross_mask)) == (0, 0)
    walk.refill([3])
    walk.step()
    walk.step()
    assert walk.check() == 4


@torch.no_grad()
def test_selecting_drops_sources_without_rows(make_model, pairs) -> None:
    walk = Walk(make_model({}), [src for src, _ in pairs], [0, 1, 2])
    walk.select([2, 0, 2])
    assert walk.state.source_of.tolist() == [1, 0, 1]
    assert walk.state.cross_keys.shape[1] == len(walk.state.cross_mask) == 2


@every_variant
def test_gradients_reach_every_weight(settings, make_model, random_batch) -> None:
    model = make_model(settings)
    batch = random_batch(model.config, SRC_LENGTHS, TGT_LENGTHS)
    F.cross_entropy(model(batch), batch.tgt_out).backward()
    for path, weight in model.named_parameters():
        assert weight.grad is not None, path
        # A bias of the keys moves all scores of a query alike, which softmax does not feel.
        if not path.endswith("key.bias"):
            assert weight.grad.abs().max() > 1e-9, path


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
@torch.no_grad()
def test_sentences_may_be_longer_than_the_position_table(
    positions, make_model, random_batch
) -> None:
    model = make_model({"model.positions": positions, "model.layers": 1})
    long = random_batch(model.config, [1_100, 3], [1_090, 2])
    pairs = pairs_of(long)
    found = logits_of(model, pairs)[0]
    assert len(found) == 1_090
    assert found.isfinite().all()
    # Causality: the first tokens do not depend on how long the sentence becomes.
    close(found[:5], logits_of(model, [(pairs[0][0], pairs[0][1][:5])])[0])
    state = model.start(model.encode(long.src, long.src_segments), long.src_segments)
    ids = long.tgt_in[:1_090]
    for place in range(1_090):
        logits, state = model.step(state, ids[place].expand(2))
        if place in (0, 1_023, 1_024, 1_089):
            close(logits[0], found[place])


def test_position_order_matters(make_model, pairs) -> None:
    for positions in ("sinusoidal", "sinusoidal_halves", "learned", "rotary"):
        model = make_model({"model.positions": positions})
        src, tgt = pairs[2]
        turned = logits_of(model, [(src.flip(0), tgt)])[0]
        assert (turned - logits_of(model, [(src, tgt)])[0]).abs().max() > 1e-4, positions


@pytest.mark.parametrize(
    ("ties", "names", "shared"),
    [
        ("all", {"shared"}, {("src", "tgt"), ("tgt", "output")}),
        ("target", {"src", "tgt"}, {("tgt", "output")}),
        ("none", {"src", "tgt", "output"}, set()),
    ],
)
def test_ties_share_matrices(make_model, ties, names, shared) -> None:
    embedding = make_model({"model.tie_embeddings": ties}).embedding
    assert {path for path, _ in embedding.named_parameters()} == names
    for pair in [("src", "tgt"), ("tgt", "output")]:
        assert (embedding.matrix(pair[0]) is embedding.matrix(pair[1])) == (pair in shared)


def test_embeddings_are_scaled_by_the_root_of_d_model(make_model) -> None:
    segments = Segments.from_lengths([2])
    for scaled, factor in ((True, 12**0.5), (False, 1.0)):
        settings = {"model.scale_embeddings": scaled, "model.encoder_layers": 0,
                    "model.positions": "rotary"}  # fmt: skip
        model = make_model(settings)
        memory = model.encode(torch.tensor([5, 9]), segments)
        close(memory, model.embedding.shared[[5, 9]] * factor)


class Silence(nn.Module):
    """Dropout that drops everything."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x)


@pytest.mark.parametrize("order", ["post", "pre"])
def test_dropout_is_on_each_sublayer_s_output_before_the_residual(order, make_model) -> None:
    """Section 5.4: with everything dropped, a layer is its residual path and its norms."""
    model = make_model({"model.norm_order": order})
    segments = Segments.from_lengths([4])
    x = torch.randn(4, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    encoder, decoder = model.encoder[0], model.decoder[0]
    encoder.dropout = decoder.dropout = Silence()

    def normed(layer, *norms: str) -> Tensor:
        y = x
        for norm in norms:
            y = getattr(layer, norm)(y) if order == "post" else y
        return y

    close(
        encoder(x, segments, model.positions),
        normed(encoder, "self_attention_norm", "feed_forward_norm"),
    )
    close(
        decoder(x, lambda y: y, lambda y: y),
        normed(decoder, "self_attention_norm", "cross_attention_norm", "feed_forward_norm"),
    )


def test_dropout_is_on_the_sum_of_embeddings_and_positions(make_model) -> None:
    model = make_model({"model.encoder_layers": 0})
    model.dropout = Silence()
    assert not model.encode(torch.tensor([5, 9]), Segments.from_lengths([2])).any()


def test_dropout_has_the_paper_s_rate_and_is_off_in_evaluation(random_batch) -> None:
    model = initialise(Transformer(model_config({"model.dropout": 0.3})), seed=1)
    rates = {one.p for one in model.modules() if isinstance(one, nn.Dropout)}
    assert rates == {0.3}
    batch = random_batch(model.config, SRC_LENGTHS, TGT_LENGTHS)
    assert torch.equal(model.eval()(batch), model(batch))
    assert not torch.equal(model.train()(batch), model(batch))


def test_start_weights_follow_the_seed_alone() -> None:
    config = model_config({"model.positions": "learned", "model.attention_bias": True})
    first = initialise(Transformer(config), seed=3).state_dict()
    torch.manual_seed(99)
    again = initialise(Transformer(config), seed=3).state_dict()
    other = initialise(Transformer(config), seed=4).state_dict()
    assert all(torch.equal(weight, again[path]) for path, weight in first.items())
    assert not torch.equal(first["embedding.shared"], other["embedding.shared"])


def test_start_weights_have_the_sizes_promised() -> None:
    settings = {"model.d_model": 96, "model.d_ff": 200, "model.heads": 4,
                "model.positions": "learned", "model.attention_bias": True,
                "model.output_bias": True, "model.tgt_vocab_size": 300,
                "model.src_vocab_size": 300, "model.activation": "swiglu"}  # fmt: skip
    model = initialise(Transformer(model_config(settings)), seed=1)
    for path, weight in model.named_parameters():
        if path.startswith(("embedding", "positions", "tgt_positions")):
            assert weight.detach().std() == pytest.approx(96**-0.5, rel=0.1), path
        elif weight.dim() == 2:
            limit = (6 / sum(weight.shape)) ** 0.5
            assert 0.99 * limit < weight.detach().abs().max() <= limit, path
        else:
            start = 1.0 if path.endswith("norm.weight") else 0.0
            assert (weight == start).all(), path


def test_weights_are_named_as_in_the_paper(make_model) -> None:
    names = set(make_model({}).state_dict())
    assert {
        "embedding.shared",
        "encoder.0.self_attention.query.weight",
        "encoder.1.feed_forward.inner.bias",
        "decoder.1.cross_attention.output.weight",
        "decoder.0.cross_attention_norm.bias",
    } <= names
    assert not any("position" in one for one in names)


def test_saved_weights_give_the_same_logits(make_model, random_batch) -> None:
    settings = {"model.norm_order": "pre", "model.output_bias": True, "model.positions": "learned"}
    model = make_model(settings)
    copy = Transformer(model.config).double().eval()
    copy.load_state_dict(model.state_dict())
    batch = random_batch(model.config, SRC_LENGTHS, TGT_LENGTHS)
    assert torch.equal(copy(batch), model(batch))
    assert parameter_count(copy) == sum(weight.numel() for weight in model.state_dict().values())


@pytest.mark.parametrize(
    "settings",
    [
        {"model.src_vocab_size": "auto"},
        {"model.tgt_vocab_size": "auto"},
        {"model.src_vocab_size": 11},
    ],
)
def test_vocabularies_that_do_not_fit_are_refused(settings) -> None:
    with pytest.raises(ValueError, match="vocabular"):
        Transformer(model_config(settings))
