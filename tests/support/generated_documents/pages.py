"""Generated HTML, well-formed and not."""

from generated_documents.words import Words


def page(words: Words) -> str:
    """A page of HTML with a few blocks."""
    head = f'<html lang="en"><title>{words.words()}</title>\n' if words.chance(0.3) else ""
    blocks = "".join(_block(words, 0) for _ in range(words.random.randint(1, 5)))
    return (head + blocks).replace("\n", words.random.choice(["\n", "\r\n"]))


def _block(words: Words, depth: int) -> str:
    word, keep = words.word, words.keep
    simple = [
        lambda: f"<p>{_inline(words)}</p>\n", lambda: f"<p class='{keep()}'>{_inline(words)}\n",
        lambda: _inline(words) + "<br>\n", lambda: f"<!-- {keep()} <p>{keep()}</p> -->",
        lambda: f"<pre>{keep()}\n  <b>{keep()}</b></pre>\n",
        lambda: f"<h2 title='{word()}'>{word()}</h2>",
        lambda: f"<script>if (a < b) {{ {keep()} }}</script>", lambda: f"<style>{keep()}</style>\n",
        lambda: f'<p translate="no">{keep()}</p>', lambda: f"<div class=notranslate>{keep()}</div>",
        lambda: f"<textarea>{keep()}</textarea>", lambda: f"<hr id={keep()}>",
        lambda: f"<select><option label='{word()}'>{word()}<option>{word()}</select>",
        lambda: f"<meta name=description content='{words.words()}'>",
        lambda: f"<input placeholder={word()} value={keep()}>", lambda: f"</div>{word()}",
        lambda: f"<button aria-label='{word()}'>{word()}</button>",
    ]  # fmt: skip
    nested = [
        lambda: f"<div>\n  {_some(words, depth)}</div>\n",
        lambda: f"<ul><li>{_inline(words)}<li>{_some(words, depth)}</ul>",
        lambda: f"<table><tr><td>{_inline(words)}<td>{_some(words, depth)}<td>3.5</table>",
        lambda: f"<blockquote>{_some(words, depth)}", lambda: f"<b>{_some(words, depth)}</b>",
        lambda: f"<a href='{keep()}'>{_some(words, depth)}</a>",
    ]  # fmt: skip
    return words.pick(simple + (nested if depth < 3 else []))


def _some(words: Words, depth: int) -> str:
    return "".join(_block(words, depth + 1) for _ in range(words.random.randint(1, 3)))


def _inline(words: Words) -> str:
    word, keep, inner = words.word, words.keep, words.words
    makers = [
        word, word, word, lambda: f"<b>{inner()}</b>", lambda: f"<i>{word()} <b>{inner()}</b></i>",
        lambda: f'<a href="{keep()}" title="{word()}">{inner()}</a>',
        lambda: f"<img src={keep()} alt='{inner()}'>", lambda: f"<code>{keep()}</code>",
        lambda: f"{word()} &amp; {word()}", lambda: f"{word()}&nbsp;{word()}", lambda: "&copy; 3.5",
        lambda: f"{word()} < {word()}",
        lambda: f"<kbd>{keep()}</kbd>", lambda: f"<!-- {keep()} -->", lambda: f"<b>{word()}",
        lambda: f"{word()}</i>", lambda: f"<b>{word()} <i>{word()}</b> {word()}</i>", lambda: "\n",
        lambda: f" https://{keep()}.org ", lambda: f"{{{keep()}}}", lambda: f"{{{{ {keep()} }}}}",
        lambda: f"<span translate=no>{keep()}</span>", lambda: f"<q>{inner()}</q>, {word()}",
        lambda: f"<script>{keep()}</script>", lambda: f"{word()}<wbr>{word()}", lambda: "<b></b>",
        lambda: f"<svg><text>{keep()}</text></svg>", lambda: f"<label>{word()} <input></label>",
        lambda: f"<i title='{word()} {{{keep()}}}'>{word()}</i>", lambda: f"<![CDATA[{keep()}]]>",
    ]  # fmt: skip
    return words.random.choice(["", " "]).join(
        words.pick(makers) for _ in range(words.random.randint(1, 6))
    )
