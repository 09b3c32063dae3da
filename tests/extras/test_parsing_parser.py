"""What a parser gives its translator, and what it makes of the answer."""

from dataclasses import replace
from types import SimpleNamespace

from byte_models import byte_config

from nmt_cli.extras.parsing.parser import parse
from nmt_cli.extras.parsing.trees import tree_text
from nmt_cli.translation.result import Translation


def test_parser_escapes_words_and_fits_tags() -> None:
    config = byte_config({"search.beam": 2})
    asked = []

    def translate_window(lines, search):
        asked.append((lines, search))
        return [Translation(line, "(S , NN NN )S", -1.0, ()) for line in lines]

    translator = SimpleNamespace(config=config, translate_window=translate_window)
    (result,) = parse(translator, [" a\t (b) ."], config.search)
    assert asked == [(["a -LRB-b-RRB- ."], replace(config.search, sentences="line", markup="off"))]
    assert result.tree is not None
    assert tree_text(result.tree) == "(S (XX a) (NN -LRB-b-RRB-) (. .))"
    assert (result.repairs, result.translation.score) == (0, -1.0)
    assert len(list(parse(translator, ["a"]))) == 1
    assert (asked[1][1].beam, asked[1][1].max_extra_length) == (21, 300)
