"""Elements of HTML that are in the target language already are kept."""

import pytest
from document_samples import changed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<p>The <i lang="fr">droit</i> is', '<p>THE <i lang="fr">droit</i> IS'),
        ('<p lang="fr-CA">Le <b>droit</b></p>It', '<p lang="fr-CA">Le <b>droit</b></p>IT'),
        ('<p>The <i lang="la">ius</i> is', '<p>THE <i lang="la">IUS</i> IS'),
        ('<body lang="fr"><p>The law', '<body lang="fr"><p>THE LAW'),
    ],
)
def test_elements_in_the_target_language_are_kept(text: str, expected: str) -> None:
    assert changed(text, "html", language="fr") == expected
