
"use strict";
const page = JSON.parse(document.getElementById("attention").textContent);
const controls = document.getElementById("controls").elements;
const view = document.getElementById("view");
const reading = document.getElementById("reading");
const LEGENDS = {
  encoder: "Left: each source subword; right: the source subwords that it attends to.",
  decoder: "Left: the predicted subword; right: the subwords before it, which it attends to.",
  cross: "Left: the predicted subword; right: the source subwords that it attends to.",
};
// word: {side: "row" or "column", place}; kept: it stays when the pointer leaves.
const state = { ...page.start, view: "lines", least: 0.05, far: 0, word: null, kept: false };
const percent = (share) => (100 * share).toFixed(share < 0.0995 ? 1 : 0) + " %";

function make(name, attributes = {}, text = "") {
  const drawn = ["svg", "g", "line", "text", "rect", "title"].includes(name);
  const node = drawn ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.textContent = text;
  return node;
}

function current() { return page.kinds[state.kind]; }

function weightsOf(layer, head) {
  const heads = current().weights[layer];
  if (head !== "mean") return heads[head];
  return heads[0].map((row, i) => row.map((_, j) => heads.reduce((sum, one) => sum + one[i][j], 0) / heads.length));
}

function shown(weight, row, column) { return weight >= state.least && Math.abs(row - column) >= state.far; }

function touches(row, column) {
  return !state.word || state.word.place === (state.word.side === "row" ? row : column);
}

function drawLinks(svg, weights, size) {
  weights.forEach((some, row) => some.forEach((weight, column) => {
    if (!shown(weight, row, column)) return;
    const line = make("line", {
      class: "link", x1: size.left, x2: size.left + size.width,
      y1: (row + 0.5) * size.row, y2: (column + 0.5) * size.row,
      "stroke-width": Math.max(0.3, weight * size.stroke).toFixed(2),
      "stroke-opacity": (0.25 + 0.75 * weight).toFixed(2), "data-row": row, "data-column": column,
    });
    svg.append(line);
  }));
}

function widthOf(labels) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = "700 14px system-ui, sans-serif";
  return Math.max(...labels.map((one) => pen.measureText(one).width));
}

function drawLines() {
  const { rows, columns } = current();
  const left = widthOf(rows) + 60, right = widthOf(columns) + 60;
  const width = Math.max(120, Math.min(420, view.clientWidth - left - right));
  const size = { left, width, row: 26, stroke: 11 };
  const tall = Math.max(rows.length, columns.length) * size.row;
  const svg = make("svg", { width: left + width + right, height: tall, role: "group", "aria-label": "words and the links between them" });
  drawLinks(svg, weightsOf(state.layer, state.head), size);
  rows.forEach((one, place) => svg.append(wordNode("row", place, one, left, size)));
  columns.forEach((one, place) => svg.append(wordNode("column", place, one, left + width, size)));
  view.replaceChildren(svg);
}

function wordNode(side, place, text, x, size) {
  const box = make("g", { class: "word", role: "button", "data-side": side, "data-place": place,
    "aria-label": text, tabindex: place ? -1 : 0 });
  const away = side === "row" ? -1 : 1, wide = widthOf([text]);
  box.append(make("rect", { x: side === "row" ? x - wide - 10 : x + 2, y: place * size.row + 2, width: wide + 8, height: size.row - 4 }));
  const anchor = side === "row" ? "end" : "start", y = (place + 0.5) * size.row;
  box.append(make("text", { x: x + 6 * away, y: y + 5, "text-anchor": anchor }, text));
  box.append(make("text", { class: "share", x: x + away * (wide + 14), y: y + 4, "text-anchor": anchor }));
  return box;
}

function drawAlignment() {
  const { rows, columns } = current(), weights = weightsOf(state.layer, state.head);
  const table = make("table", { class: "alignment" }), head = make("tr");
  head.append(make("td", { class: "corner" }));
  columns.forEach((one, place) => head.append(headNode("column", place, one)));
  const top = make("thead"), body = make("tbody");
  top.append(head);
  rows.forEach((one, row) => {
    const line = make("tr"), best = Math.max(...weights[row]);
    line.append(headNode("row", row, one));
    columns.forEach((_, column) => line.append(cellNode(weights[row][column], row, column, best)));
    body.append(line);
  });
  table.append(top, body);
  view.replaceChildren(table);
}

function headNode(side, place, text) {
  return make("th", { scope: side === "row" ? "row" : "col", dir: "auto", "data-side": side, "data-place": place,
    tabindex: place ? -1 : 0 }, text);
}

function cellNode(weight, row, column, best) {
  const cell = make("td", { "data-row": row, "data-column": column, title: percent(weight) });
  if (weight === best) cell.classList.add("best");
  if (!shown(weight, row, column)) return cell;
  const square = make("i");
  square.style.width = square.style.height = (100 * Math.sqrt(weight)).toFixed(1) + "%";
  cell.append(square, make("b", {}, Math.round(100 * weight)));
  return cell;
}

function drawHeads() {
  const { rows, columns, weights } = current();
  const size = { left: 4, width: 92, row: Math.max(3, Math.min(10, 160 / Math.max(rows.length, columns.length))), stroke: 4 };
  const box = make("div", { class: "panels" });
  box.style.gridTemplateColumns = `repeat(${weights[0].length}, max-content)`;
  weights.forEach((heads, layer) => heads.forEach((some, head) => {
    const on = layer === state.layer && head === state.head;
    const panel = make("button", { type: "button", class: "panel", "data-layer": layer, "data-head": head, "aria-pressed": on },
      `layer ${layer + 1} · head ${head + 1}`);
    const svg = make("svg", { width: 100, height: Math.max(rows.length, columns.length) * size.row, "aria-hidden": true });
    drawLinks(svg, some, size);
    panel.append(svg);
    panel.addEventListener("click", () => { state.layer = layer; state.head = head; state.view = "lines"; draw(); });
    box.append(panel);
  }));
  view.replaceChildren(box);
}

const VIEWS = { lines: drawLines, alignment: drawAlignment, heads: drawHeads };

function draw() {
  fillControls();
  const { rows, columns } = current();
  if (state.word && state.word.place >= (state.word.side === "row" ? rows : columns).length) state.word = null;
  VIEWS[state.view]();
  document.getElementById("legend").textContent = LEGENDS[state.kind];
  light();
}

function fillControls() {
  const layers = current().weights.length, heads = current().weights[0].length;
  state.layer = Math.min(state.layer, layers - 1);
  if (state.head !== "mean") state.head = Math.min(state.head, heads - 1);
  const numbered = (count) => Array.from({ length: count }, (_, n) => make("option", { value: n }, n + 1));
  controls.layer.replaceChildren(...numbered(layers));
  controls.head.replaceChildren(make("option", { value: "mean" }, "mean of all"), ...numbered(heads));
  controls.layer.value = state.layer;
  controls.head.value = state.head;
  controls.kind.value = state.kind;
  controls.view.value = state.view;
  controls.far.max = Math.max(current().rows.length, current().columns.length) - 1;
  controls.far.value = state.far;
  document.getElementById("least-shown").textContent = Math.round(100 * state.least) + " %";
  document.getElementById("far-shown").textContent = state.far;
}

// What depends on the word that is pointed at, without drawing everything anew.
function light() {
  view.classList.toggle("words-off", state.word !== null);
  for (const link of view.querySelectorAll(".link")) {
    link.classList.toggle("other", !touches(Number(link.dataset.row), Number(link.dataset.column)));
  }
  for (const cell of view.querySelectorAll("td[data-row]")) {
    cell.classList.toggle("lit", state.word !== null && touches(Number(cell.dataset.row), Number(cell.dataset.column)));
  }
  const shares = sharesOfWord();
  for (const node of view.querySelectorAll("[data-side]")) {
    const mine = state.word && state.word.side === node.dataset.side;
    node.classList.toggle("chosen", Boolean(mine) && state.word.place === Number(node.dataset.place));
    const share = node.querySelector(".share");
    if (share) {
      const value = state.word && !mine ? shares[Number(node.dataset.place)] : 0;
      share.textContent = value >= 0.005 ? percent(value) : "";
    }
  }
  read(shares);
}

function sharesOfWord() {
  if (!state.word) return [];
  const weights = weightsOf(state.layer, state.head), { side, place } = state.word;
  return side === "row" ? weights[place] : weights.map((row) => row[place]);
}

function read(shares) {
  if (!state.word) { reading.replaceChildren(make("p", {}, "No word is chosen.")); return; }
  const { rows, columns } = current(), { side, place } = state.word;
  const [own, others] = side === "row" ? [rows, columns] : [columns, rows];
  const table = make("table");
  const order = shares.map((share, n) => [share, n]).filter(([share]) => share >= 0.005).sort((a, b) => b[0] - a[0]);
  for (const [share, n] of order.slice(0, 12)) {
    const line = make("tr");
    line.append(make("td", {}, percent(share)), make("td", { dir: "auto" }, others[n]));
    table.append(line);
  }
  const name = make("bdi", {}, own[place]);
  const title = make("h2");
  title.append(name, side === "row" ? " attends to" : " is attended to by");
  reading.replaceChildren(title, table);
}

function choose(node, kept) {
  state.word = node ? { side: node.dataset.side, place: Number(node.dataset.place) } : null;
  state.kept = kept && node !== null;
  light();
}

const wordAt = (event) => event.target.closest("[data-side]");
view.addEventListener("pointerover", (event) => { if (!state.kept && wordAt(event)) choose(wordAt(event), false); });
view.addEventListener("pointerleave", () => { if (!state.kept) choose(null, false); });
view.addEventListener("focusin", (event) => {
  if (wordAt(event) && !state.kept) choose(wordAt(event), false);
});
view.addEventListener("click", (event) => { if (state.view !== "heads") choose(wordAt(event), true); });
view.addEventListener("keydown", (event) => {
  const node = wordAt(event);
  if (!node) return;
  const side = node.dataset.side, place = Number(node.dataset.place);
  const sideways = state.view === "alignment" && side === "column";
  const steps = sideways ? { ArrowLeft: -1, ArrowRight: 1 } : { ArrowUp: -1, ArrowDown: 1 };
  let next = null;
  if (event.key in steps) next = find(side, place + steps[event.key]);
  else if (event.key === "Home") next = find(side, 0);
  else if (event.key.startsWith("Arrow")) next = find(side === "row" ? "column" : "row", place) || find(side === "row" ? "column" : "row", 0);
  else if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(node, !state.kept); return; }
  if (!next) return;
  event.preventDefault();
  state.kept = false;
  node.setAttribute("tabindex", -1);
  next.setAttribute("tabindex", 0);
  next.focus();
});
document.addEventListener("keydown", (event) => { if (event.key === "Escape") choose(null, false); });

function find(side, place) { return view.querySelector(`[data-side="${side}"][data-place="${place}"]`); }

document.getElementById("controls").addEventListener("input", () => {
  state.kind = controls.kind.value;
  state.view = controls.view.value;
  state.layer = Number(controls.layer.value);
  state.head = controls.head.value === "mean" ? "mean" : Number(controls.head.value);
  state.least = Number(controls.least.value) / 100;
  state.far = Number(controls.far.value);
  draw();
});
document.getElementById("controls").addEventListener("submit", (event) => event.preventDefault());
// An encoder may have no layers at all.
for (const radio of controls.kind) radio.disabled = !page.kinds[radio.value].weights.length;
window.addEventListener("resize", () => { if (state.view === "lines") draw(); });
draw();
