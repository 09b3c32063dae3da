"""The page of a server in a real browser: typing, translating, errors, words, terms, keys."""

import json
from collections.abc import Iterator

import pytest
from chromium import Browser, browser
from servers import RunningServer, byte_translator, running_server

from nmt_cli.server.page.page import page_and_policy
from nmt_cli.translation.quality.flags import FLAGS


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server() as made:
        yield made


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture
def tab(started: Browser, server: RunningServer) -> Iterator[Browser]:
    """The page, just opened; at its end it has asked this server alone."""
    address = f"http://127.0.0.1:{server.port}/"
    started.call("Emulation.setEmulatedMedia", features=[])
    started.call("Emulation.clearDeviceMetricsOverride")
    started.open(address)
    yield started
    assert all(request.startswith(address) for request in started.requests)
    # A browser asks every server for this picture.
    assert [problem for problem in started.problems if "404" not in problem] == []


def lines_of(tab: Browser) -> list[str]:
    lines = "[...document.querySelectorAll('#target .line')].map(each => each.textContent)"
    return list(tab.evaluate(lines))


def translated(tab: Browser, text: str) -> list[str]:
    """What the page shows for a text that a person types."""
    tab.point_at("#source", click=True)
    tab.evaluate("document.getElementById('source').value = ''")
    tab.write(text)
    count = len(text.split("\n"))
    tab.wait_for(
        f"document.querySelectorAll('#target .line').length === {count}"
        " && document.getElementById('status').textContent === ''"
    )
    return lines_of(tab)


def expected(*lines: str, **options: object) -> list[str]:
    chosen: dict[str, object] = {"beam": 4, "n_best": 4, **options}
    return [each.text for each in byte_translator().translate(list(lines), **chosen)]


def test_typed_text_is_translated_by_itself(tab: Browser) -> None:
    assert translated(tab, "abc de\n\nfgh") == expected("abc de", "", "fgh")


def test_text_that_looks_like_html_stays_text(tab: Browser) -> None:
    text = "<img src=x onerror=alert(1)> abc"
    assert translated(tab, text) == expected(text)
    assert tab.evaluate("document.querySelectorAll('#target img').length") == 0


def test_alternatives_are_listed_and_can_be_chosen_by_key(tab: Browser) -> None:
    translated(tab, "abc de")
    [translation] = byte_translator().translate(["abc de"], beam=4, n_best=4)
    texts = [each.text for each in translation.hypotheses]
    shown = "[...document.querySelectorAll('#alternatives button')].map(each => each.textContent)"
    assert tab.evaluate(shown) == texts
    tab.evaluate("document.querySelector('[data-rank=\"1\"]').focus()")
    tab.evaluate("document.activeElement.click()")
    assert lines_of(tab) == [texts[1]]
    assert tab.evaluate("document.activeElement.dataset.rank") == "1"


def test_word_lights_the_source_words_that_it_stands_for(tab: Browser) -> None:
    text = "hfbfde c ddgabheeec bbhfg"
    translated(tab, text)
    [translation] = byte_translator().translate([text], beam=4, n_best=4, alignment=True)
    links = translation.hypotheses[0].alignment
    assert links
    for source, target in links[:3]:
        tab.point_at(f"#target [data-word='{target}']")
        lit = "[...document.querySelectorAll('#mirror .lit')].map(each => +each.dataset.word)"
        assert tab.evaluate(lit) == [source]
    tab.evaluate("document.querySelector('#target .word').focus()")
    assert len(tab.evaluate("[...document.querySelectorAll('#target .lit')].map(e => 1)")) == 1


def test_flags_are_shown_in_words(tab: Browser, server: RunningServer) -> None:
    line = "abc 12 de"
    translated(tab, line)
    flags = server.translate(line, beam=4, n_best=4).json["translations"][0]["flags"]
    assert flags
    shown = "[...document.querySelectorAll('#flags li')].map(each => each.textContent)"
    assert tab.evaluate(shown) == [FLAGS[flag] for flag in flags]


def test_glossary_box_is_used(tab: Browser) -> None:
    tab.evaluate("document.getElementById('terms').open = true")
    tab.evaluate("document.getElementById('glossary').value = 'abc = xyz | uvw'")
    [text] = translated(tab, "abc de")
    assert "xyz" in text or "uvw" in text


def test_page_says_how_many_terms_the_server_has(tab: Browser) -> None:
    shown = "document.getElementById('served').checkVisibility()"
    tab.evaluate("document.getElementById('terms').open = true")
    assert not tab.evaluate(shown)
    for terms, said in (({"abc": "xyz"}, "1 term,"), ({"abc": "xyz", "de": "uvw"}, "2 terms,")):
        with running_server(glossary=terms) as with_terms:
            tab.open(f"http://127.0.0.1:{with_terms.port}/")
            [text] = translated(tab, "abc")
            assert "xyz" in text
            tab.evaluate("document.getElementById('terms').open = true")
            assert tab.evaluate(shown)
            assert said in tab.evaluate("document.getElementById('served').textContent")
        tab.requests.clear()


def test_error_of_the_server_is_shown(tab: Browser) -> None:
    tab.point_at("#source", click=True)
    tab.write("a" * 5_000)
    tab.wait_for("document.querySelector('#status.error') !== null")
    shown = tab.evaluate("document.getElementById('status').textContent")
    assert "5,001 characters" in shown
    tab.problems.clear()


def test_token_is_asked_for_where_the_server_needs_one(tab: Browser) -> None:
    with running_server(tokens=("right",)) as guarded:
        tab.open(f"http://127.0.0.1:{guarded.port}/")
        tab.point_at("#source", click=True)
        tab.write("abc de")
        tab.wait_for("!document.getElementById('key').hidden")
        tab.point_at("#token", click=True)
        tab.write("right")
        tab.point_at("#key button", click=True)
        tab.wait_for("document.querySelectorAll('#target .line').length === 1")
        assert lines_of(tab) == expected("abc de")
    tab.requests.clear()
    tab.problems.clear()


def test_narrow_window_has_one_column_and_nothing_beside_it(tab: Browser) -> None:
    translated(tab, "abc de " * 20)
    boxes = "['source', 'target'].map(id => document.getElementById(id).getBoundingClientRect())"
    tops = f"{boxes}.map(box => Math.round(box.top))"
    assert abs(tab.evaluate(tops)[0] - tab.evaluate(tops)[1]) < 20
    tab.call(
        "Emulation.setDeviceMetricsOverride", width=320, height=600, deviceScaleFactor=1,
        mobile=True,
    )  # fmt: skip
    first, second = tab.evaluate(tops)
    assert second > first + 100
    assert tab.evaluate("document.documentElement.scrollWidth <= 320")


def test_page_follows_the_dark_theme(tab: Browser) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    light = tab.evaluate(colour)
    tab.call(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}]
    )
    assert tab.evaluate(colour) != light


def test_every_control_has_a_name_for_screen_readers(tab: Browser) -> None:
    tab.call("Accessibility.enable")
    nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
    roles = ("button", "textbox", "region", "DisclosureTriangle")
    controls = [node for node in nodes if node.get("role", {}).get("value") in roles]
    assert len(controls) >= 4
    assert all(node["name"]["value"] for node in controls if not node.get("ignored"))


def test_page_loads_nothing_and_names_its_own_script_only() -> None:
    text, policy = page_and_policy("en", "de", 5_000)
    assert "default-src 'none'" in policy
    assert policy.count("sha256-") == 2
    for word in ("http://", "https://", "@import", "url("):
        assert word not in text
    data = text.split('id="data">')[1].split("</script>")[0]
    assert json.loads(data)["characters"] == 5_000
