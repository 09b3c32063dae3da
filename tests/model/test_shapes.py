"""The names and shapes of weights follow from settings as those of the model in torch do."""

from variants import Settings, every_variant, model_config

from nmt_cli.model.shapes import transformer_shapes
from nmt_cli.model.transformer import Transformer


@every_variant
def test_shapes_are_those_of_the_model_in_its_order(settings: Settings) -> None:
    config = model_config(settings)
    expected = [
        (name, tuple(weight.shape)) for name, weight in Transformer(config).named_parameters()
    ]
    assert list(transformer_shapes(config).items()) == expected
