
"use strict";
const page = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const PAUSE = 500, ALTERNATIVES = 4;
// shown: the translations of the page, each with the rank of the alternative that is shown.
const state = { shown: [], line: null, timer: 0, request: null };

const names = new Intl.DisplayNames(["en"], { type: "language", fallback: "code" });
function nameOf(code) {
  try { return names.of(code.replace("_", "-")); } catch { return code; }
}

function make(name, attributes = {}, text = "") {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.textContent = text;
  return node;
}

function say(text, isError = false) {
  at("status").textContent = text;
  at("status").classList.toggle("error", isError);
}

function glossary() {
  const terms = {};
  for (const line of at("glossary").value.split("\n")) {
    const [term, forms] = line.split(/=(.*)/s);
    if (term.trim() && forms && forms.trim()) {
      terms[term.trim()] = forms.split("|").map((form) => form.trim()).filter(Boolean);
    }
  }
  return terms;
}

async function ask(lines, signal) {
  const headers = { "content-type": "application/json" };
  if (at("token").value) headers.authorization = "Bearer " + at("token").value;
  const options = { lines, n_best: ALTERNATIVES, beam: ALTERNATIVES, alignment: true, glossary: glossary() };
  const answer = await fetch("v1/translate", { method: "POST", headers, body: JSON.stringify(options), signal });
  const content = await answer.json();
  if (answer.status === 401) at("key").hidden = false;
  if (!answer.ok) throw new Error([content.error, content.hint].filter(Boolean).join("; "));
  return content.translations;
}

async function translate() {
  clearTimeout(state.timer);
  if (state.request) state.request.abort();
  const lines = at("source").value.split("\n");
  if (!at("source").value.trim()) return show([]);
  const request = state.request = new AbortController();
  at("target").classList.add("old");
  say("Translating");
  try {
    const found = await ask(lines, request.signal);
    show(found.map((translation) => ({ translation, rank: 0 })));
    say("");
  } catch (error) {
    if (error.name !== "AbortError") say(error.message || "The server does not answer", true);
  } finally {
    if (state.request === request) at("target").classList.remove("old");
  }
}

function show(shown) {
  Object.assign(state, { shown, line: null });
  at("target").replaceChildren(...shown.map((_, index) => lineNode(index)));
  at("mirror").replaceChildren(...shown.map(({ translation }) => sourceNode(translation.source)));
  at("target").classList.remove("old");
  at("choices").hidden = true;
  showFlags();
  if (!shown.length) say("");
  if (shown.length === 1) choose(0);
}

function showFlags() {
  const items = state.shown.flatMap(({ translation }, index) => translation.flags
    .filter((flag) => flag !== "empty")
    .map((flag) => make("li", {}, (state.shown.length > 1 ? `Line ${index + 1}: ` : "") + page.flags[flag])));
  at("flags").replaceChildren(...items);
}

function wordsInto(node, text) {
  let number = 0;
  for (const part of text.split(/(\s+)/)) {
    if (!part.trim()) node.append(part);
    else node.append(make("span", { class: "word", "data-word": number++ }, part));
  }
  return node;
}

function sourceNode(text) {
  return wordsInto(make("div", { class: "line" }), text);
}

function lineNode(index) {
  const { translation, rank } = state.shown[index];
  const node = wordsInto(make("div", { class: "line", "data-line": index }), translation.hypotheses[rank].text);
  node.classList.toggle("doubtful", translation.flags.some((flag) => flag !== "empty"));
  for (const word of node.querySelectorAll(".word")) word.tabIndex = 0;
  return node;
}

// Links are between words of plain lines; a line with tags has other words.
function linkedWords(index, word) {
  const { translation, rank } = state.shown[index];
  if (/[<{]/.test(translation.source)) return [];
  const links = translation.hypotheses[rank].alignment || [];
  return links.filter(([, target]) => target === word).map(([source]) => source);
}

function light(node) {
  for (const lit of document.querySelectorAll(".lit")) lit.classList.remove("lit");
  const line = node && node.closest("[data-line]");
  const sources = line ? linkedWords(+line.dataset.line, +node.dataset.word) : [];
  if (!sources.length) return;
  node.classList.add("lit");
  const shown = at("mirror").children[+line.dataset.line];
  for (const word of sources) {
    const found = shown.querySelector(`[data-word="${word}"]`);
    if (found) found.classList.add("lit");
  }
}

function choose(index) {
  state.line = index;
  const { translation, rank } = state.shown[index];
  for (const node of at("target").children) node.classList.toggle("chosen", state.shown.length > 1 && +node.dataset.line === index);
  const items = translation.hypotheses.map((hypothesis, other) => {
    const button = make("button", { type: "button", "aria-pressed": other === rank, "data-rank": other }, hypothesis.text);
    const item = make("li");
    item.append(button);
    return item;
  });
  at("alternatives").replaceChildren(...items);
  at("choices").hidden = items.length < 2;
}

function pick(rank) {
  const index = state.line;
  state.shown[index].rank = rank;
  at("target").children[index].replaceWith(lineNode(index));
  choose(index);
  at("alternatives").querySelector(`[data-rank="${rank}"]`).focus();
}

function resize() {
  at("source").style.height = "auto";
  at("source").style.height = at("source").scrollHeight + 2 + "px";
}

function count() {
  const used = at("source").value.length + 1;
  at("count").textContent = `${used - 1} of ${page.characters} characters`;
  at("count").classList.toggle("error", used > page.characters);
}

for (const id of ["source", "glossary"]) {
  at(id).addEventListener("input", () => {
    count();
    resize();
    if (id === "source") at("mirror").replaceChildren();
    clearTimeout(state.timer);
    state.timer = setTimeout(translate, PAUSE);
  });
}
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) translate();
});
at("go").addEventListener("click", translate);
at("key").addEventListener("submit", (event) => {
  event.preventDefault();
  translate();
});
at("copy").addEventListener("click", async () => {
  const text = state.shown.map(({ translation, rank }) => translation.hypotheses[rank].text).join("\n");
  try { await navigator.clipboard.writeText(text); say("Copied"); } catch { say("The browser does not allow copying", true); }
});
for (const [event, show_] of [["pointerover", true], ["focusin", true], ["pointerleave", false], ["focusout", false]]) {
  at("target").addEventListener(event, ({ target }) => light(show_ && target.closest ? target.closest(".word") : null));
}
at("target").addEventListener("click", ({ target }) => {
  const line = target.closest("[data-line]");
  if (line) choose(+line.dataset.line);
});
at("target").addEventListener("keydown", (event) => {
  const line = event.target.closest("[data-line]");
  if (line && event.key === "Enter" && !event.ctrlKey) choose(+line.dataset.line);
});
at("alternatives").addEventListener("click", ({ target }) => {
  if (target.dataset.rank) pick(+target.dataset.rank);
});
for (const [id, code] of [["source-name", page.src], ["target-name", page.tgt]]) {
  const node = id === "source-name" ? at(id).firstChild : at(id);
  if (code !== "src" && code !== "tgt") node.textContent = nameOf(code);
}
if (page.terms) {
  const terms = page.terms === 1 ? "1 term" : `${page.terms.toLocaleString("en")} terms`;
  at("served").textContent = `This server has a glossary of ${terms}, which all translations use. Your own forms of a term replace the server's.`;
  at("served").hidden = false;
}
addEventListener("resize", resize);
at("source").lang = page.src;
at("target").lang = page.tgt;
count();
