"use strict";
// The page of `cgemu annotate --html`. All it shows is in the JSON of #data; html.go describes
// that. Text gets into the page as text nodes and attributes only, never as HTML.

const D = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const CHUNK = 100; // rows that are made at a time
const ROW = 20; // height of a row in px, as in page.css
const NEW = 0, OLD = 1, DELTA = 2; // parts of a count
const PARTS = D.diff ? [OLD, NEW, DELTA] : [NEW];
const PART = D.diff ? DELTA : NEW; // what is sorted and coloured by

const state = {
  sort: D.sort, part: PART, order: "size", // of the functions; sort is a column, -1 the name, -2 the file
  heat: D.sort, // the column that lines and files are coloured by
  show: new Set(D.show),
  shares: true,
  query: "",
  current: -1, // the function that keys move from, in the table
  hits: [], hit: -1, // lines found, as [file, row]
};

// el makes an element. Props are properties, attributes if their name has a dash.
function el(tag, props, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (name.includes("-")) e.setAttribute(name, value); else e[name] = value;
  }
  e.append(...children);
  return e;
}

// Counts are numbers, or strings of digits where a double would not hold them.

function count(row, col, part) {
  if (part !== DELTA) return row[part * D.cols.length + col];
  const was = count(row, col, OLD), is = count(row, col, NEW);
  if (was === null || is === null) return null;
  if (typeof was === "string" || typeof is === "string") return String(BigInt(is) - BigInt(was));
  return is - was;
}

// by compares two counts; large ones exactly.
function by(a, b) {
  const d = Number(a) - Number(b);
  if (d !== 0 || (typeof a !== "string" && typeof b !== "string")) return d || 0;
  const x = BigInt(a), y = BigInt(b);
  return x < y ? -1 : x > y ? 1 : 0;
}

const size = (c) => typeof c === "string" ? c.replace("-", "") : Math.abs(c);

function show(c, col, signed) {
  if (c === null || Number.isNaN(c)) return "–";
  const plus = signed && Number(c) > 0 ? "+" : "";
  const unit = D.cols[col].unit;
  if (unit === "percent") return (plus + c.toFixed(2) + "%").replace("-", "−");
  const text = unit ? String(Math.round(c)) : String(c);
  return plus + text.replace(/\B(?=(\d{3})+$)/g, ",").replace("-", "−");
}

// share returns the percentage beside a count.
function share(row, col, part, total) {
  if (D.cols[col].unit) return "";
  const c = Number(count(row, col, part));
  if (c === 0) return "";
  const whole = Number(part === DELTA ? count(row, col, OLD) : count(total, col, part));
  if (whole === 0) return part === DELTA ? "new" : "n/a";
  if (part === DELTA && c === -whole) return "gone";
  const p = 100 * c / whole;
  return ((part === DELTA && p > 0 ? "+" : "") + p.toFixed(Math.abs(p) < 999.95 ? 1 : 0) + "%").replace("-", "−");
}

// A Table shows many rows of one height. They are made in chunks, a tbody each, when they come
// near the view; before, a chunk is one empty row as high as all of its.
class Table {
  constructor(table, observer, make) {
    Object.assign(this, { table, observer, make, list: [], bodies: [] });
  }

  // observer returns what fills the chunks of tables in a box that scrolls, or in the document: null would be the top window, and the margin
  // cut off where this page is in a frame.
  static observer(root) {
    return new IntersectionObserver((entries) => {
      for (const e of entries) if (e.isIntersecting) e.target.owner.fill(e.target);
    }, { root, rootMargin: "1000px 0px" });
  }

  set(list) {
    for (const b of this.bodies) {
      this.observer.unobserve(b);
      b.remove();
    }
    this.list = list;
    this.bodies = [];
    const columns = this.table.querySelectorAll("col").length;
    for (let i = 0; i < list.length; i += CHUNK) {
      const body = el("tbody", { owner: this });
      const space = el("tr", { "aria-hidden": "true" }, el("td", { colSpan: columns }));
      space.style.height = `${ROW * Math.min(CHUNK, list.length - i)}px`;
      body.append(space);
      this.bodies.push(body);
      this.observer.observe(body);
    }
    this.table.append(...this.bodies);
    this.table.setAttribute("aria-rowcount", list.length);
  }

  fill(body) {
    this.observer.unobserve(body);
    if (body.filled) return;
    body.filled = true;
    const from = CHUNK * this.bodies.indexOf(body);
    body.replaceChildren(...this.list.slice(from, from + CHUNK).map((item, i) => {
      const tr = this.make(item, from + i);
      tr.setAttribute("aria-rowindex", from + i + 1);
      return tr;
    }));
  }

  row(i) {
    const body = this.bodies[Math.floor(i / CHUNK)];
    this.fill(body);
    return body.rows[i % CHUNK];
  }

  fillAll() { for (const b of this.bodies) this.fill(b); }
}

// Columns.

const columns = () => D.cols.map((_, i) => i).filter((i) => state.show.has(i));

// width is that of a column of counts in characters.
const widths = new Map();
function width(col, part) {
  const key = `${col} ${part} ${state.shares}`;
  if (!widths.has(key)) {
    let w = part === DELTA ? D.cols[col].name.length + 2 : 4;
    for (const row of [D.total, ...D.funcs.map((f) => f.c)]) {
      w = Math.max(w, show(count(row, col, part), col, part === DELTA).length);
    }
    widths.set(key, Math.max(w + (state.shares && !D.cols[col].unit ? 8 : 0), D.cols[col].name.length + 2) + 3);
  }
  return widths.get(key);
}

// layout sets a table's head and the widths of its columns in characters: of those before the
// counts and behind them. One without a width gets what is left, which is that at least.
function layout(table, head, before, behind, least) {
  table.querySelector("thead")?.remove();
  table.querySelector("colgroup")?.remove();
  const list = [...before, ...columns().flatMap((col) => PARTS.map((part) => width(col, part))), ...behind];
  const group = el("colgroup", {}, ...list.map((w) => {
    const c = el("col");
    if (w) c.style.width = `${w}ch`;
    return c;
  }));
  table.querySelector("caption").after(group, head);
  table.style.minWidth = `${list.reduce((a, b) => a + (b || 0), least)}ch`;
}

// cells makes the cells of a row's counts. Peak are the largest counts, which are the hottest.
function cells(row, total, peak) {
  const list = [];
  for (const col of columns()) {
    for (const part of PARTS) {
      const td = el("td", { className: part === PARTS[0] ? "n first" : "n" });
      list.push(td);
      if (!row) continue;
      const c = count(row, col, part);
      const text = show(c, col, part === DELTA);
      if (Number(c) === 0) td.classList.add("zero");
      td.append(text);
      if (state.shares && !D.cols[col].unit) td.append(el("i", {}, share(row, col, part, total)));
      const h = heat(c, peak[col]);
      if (part === PART && h > 0) {
        td.classList.add(Number(c) > 0 ? "hot" : "cold");
        td.style.setProperty("--heat", h.toFixed(3));
      }
    }
  }
  return list;
}

const heat = (c, peak) => peak > 0 ? Math.sqrt(Math.abs(Number(c)) / peak) : 0;

// peaks returns the largest of each column's counts.
function peaks(rows) {
  return D.cols.map((_, col) => rows.reduce((max, r) => Math.max(max, Math.abs(Number(count(r, col, PART)))), 0));
}

const functionPeak = peaks(D.funcs.map((f) => f.c));
const linePeak = peaks(D.files.flatMap((f) => f.rows.filter((r) => r[3]).map((r) => r[3])));

// Functions.

const names = new Map(); // name to the first function of that name: the hottest
D.funcs.forEach((f, i) => { if (!names.has(f.n)) names.set(f.n, i); });
const files = new Map(D.files.map((f, i) => [f.n, i]));

const fragment = (text) => "#" + encodeURIComponent(text).replace(/%2F/g, "/").replace(/%3A/g, ":");
const functionName = (i) => names.get(D.funcs[i].n) === i ? D.funcs[i].n : `${D.files[D.funcs[i].f].n}:${D.funcs[i].n}`;

const functions = new Table($("functions").firstElementChild, Table.observer($("functions")), (i) => {
  const f = D.funcs[i], file = D.files[f.f].n;
  const title = f.o ? `${f.n}\nwas ${f.o}` : f.n;
  const tr = el("tr", { className: i === state.current ? "current" : "" },
    el("th", { scope: "row", className: "name" }, el("a", { href: fragment(functionName(i)), title }, f.n)),
    ...cells(f.c, D.total, functionPeak),
    el("td", { className: "where", title: file }, el("bdi", {}, file)));
  return tr;
});

function functionHead() {
  const top = el("tr", {}, el("td", { className: "name" })), row = el("tr", {}, sortable("Function", -1, NEW, "name"));
  for (const col of columns()) {
    const { name, title } = D.cols[col];
    top.append(el("th", { className: "group", colSpan: 3, scope: "colgroup", title }, name));
    for (const part of PARTS) row.append(sortable(D.diff ? ["new", "old", "delta"][part] : name, col, part));
  }
  top.append(el("td"));
  row.append(sortable("File", -2, NEW, "name"));
  layout(functions.table, el("thead", {}, ...(D.diff ? [top] : []), row), [null], [28], 30);
}

function sortable(text, col, part, className) {
  const title = col >= 0 ? `${D.cols[col].title}: sort` : "sort";
  const th = el("th", { scope: "col", className: className || "" }, el("button", { type: "button", title, onclick: () => sortBy(col, part) }, text));
  if (state.sort === col && state.part === part) {
    const signed = D.diff && part === DELTA && col >= 0;
    th.setAttribute("aria-sort", state.order === "up" ? "ascending" : state.order === "size" && signed ? "other" : "descending");
  }
  return th;
}

// sortBy sorts the functions. A delta has three orders: by size, and by value down and up.
function sortBy(col, part) {
  const again = state.sort === col && state.part === part;
  const orders = col < 0 ? ["up", "down"] : D.diff && part === DELTA ? ["size", "down", "up"] : ["size", "up"];
  const order = again ? orders[(orders.indexOf(state.order) + 1) % orders.length] : orders[0];
  Object.assign(state, { sort: col, part, order });
  const focus = document.activeElement?.closest?.("#functions thead") ? [...functions.table.tHead.rows].at(-1) : null;
  const at = focus ? [...focus.cells].indexOf(document.activeElement.parentElement) : -1;
  functionHead();
  listFunctions();
  if (at >= 0) [...functions.table.tHead.rows].at(-1).cells[at].firstElementChild.focus();
  if (col >= 0 && col !== state.heat) setHeat(col);
}

function listFunctions() {
  const found = matcher();
  const list = D.funcs.map((_, i) => i).filter((i) => found(D.funcs[i].n) || found(D.files[D.funcs[i].f].n));
  const { sort, part, order } = state;
  const sign = order === "up" ? 1 : -1;
  const key = sort === -1 ? (i) => D.funcs[i].n : sort === -2 ? (i) => D.files[D.funcs[i].f].n : (i) => {
    const c = count(D.funcs[i].c, sort, part);
    return order === "size" ? size(c) : c;
  };
  const keys = new Map(list.map((i) => [i, key(i)]));
  const text = (a, b) => a < b ? -1 : a > b ? 1 : 0;
  list.sort((i, j) => sign * (sort < 0 ? text : by)(keys.get(i), keys.get(j)) || i - j);
  functions.set(list);
  if (list.length > 0) functions.row(0); // at once, lest the table flickers
  $("functions-count").textContent = list.length === D.funcs.length ? `${list.length}` : `${list.length} of ${D.funcs.length}`;
  return list.length;
}

// Files and their lines.

const inPage = Table.observer(document);
const sources = D.files.map((f, i) => {
  const meter = el("meter", { max: 1, "aria-hidden": "true" });
  const sum = el("span", { className: "sum" });
  const name = el("span", { className: "name" }, f.n);
  const tag = el("span", { className: "tag" }, f.source === "read" ? "" : "no source");
  const box = el("details", { className: "file", file: i }, el("summary", { title: f.o ? `was ${f.o}` : "" }, name, tag, meter, sum));
  box.addEventListener("toggle", () => { if (box.open) build(i); });
  return { box, meter, sum, table: null };
});

// build makes the lines of a file when it is opened first.
function build(i) {
  const f = D.files[i], s = sources[i];
  if (s.table) return;
  const table = el("table", { className: "counts src" }, el("caption", { className: "hidden" }, `Lines of ${f.n}`));
  for (const note of f.notes) s.box.append(el("p", { className: "note" }, note));
  s.box.append(el("div", { className: "scroll" }, table));
  s.table = new Table(table, inPage, (row) => lineRow(i, row));
  s.longest = f.rows.reduce((n, r) => Math.max(n, r[1] ? r[1].replace(/\t/g, "        ").length : 0), 20);
  fileLayout(i);
  s.table.set(f.rows);
}

function fileLayout(i) {
  const row = el("tr"), head = el("thead", {}, row);
  for (const col of columns()) {
    for (const part of PARTS) {
      const name = D.diff ? ["new", "old", `Δ ${D.cols[col].name}`][part] : D.cols[col].name;
      row.append(el("th", { scope: "col", title: D.cols[col].title }, el("span", {}, name)));
    }
  }
  row.append(el("th", { scope: "col" }, el("span", {}, "Line")), el("th", { scope: "col", className: "name" }, el("span", {}, "Source")));
  layout(sources[i].table.table, head, [], [9, null], sources[i].longest + 4);
}

// lineRow makes a row of a file: [line, text, runs, counts, old line], or [lines left out].
function lineRow(file, r) {
  const f = D.files[file];
  if (r.length === 1) {
    const text = r[0] === 1 ? "1 line without counts" : `${show(r[0], 0)} lines without counts`;
    return el("tr", { className: "gap" }, el("td", { colSpan: columns().length * PARTS.length + 2 }, `⋯ ${text} ⋯`));
  }
  const [line, text, runs, counts, old] = r;
  const tr = el("tr", {}, ...cells(counts, D.total, linePeak));
  if (counts) {
    const c = count(counts, state.heat, PART), h = heat(c, linePeak[state.heat]);
    if (h > 0) {
      tr.className = Number(c) > 0 ? "warm" : "cool";
      tr.style.setProperty("--heat", h.toFixed(3));
    }
  }
  const label = line < 0 ? String(old) : line === 0 ? "?" : String(line);
  const number = line > 0 ? el("a", { href: fragment(`${f.n}:${line}`), tabIndex: -1 }, label) : label;
  if (line < 0) tr.classList.add("gone");
  const title = old > 0 && old !== line ? `line ${old} of the old source` : "";
  tr.append(el("td", { className: "line", title }, number), code(text, runs));
  if (state.query && text !== null && matcher()(text)) tr.classList.add("hit");
  return tr;
}

// code makes the cell of a line's text. Runs say which characters are what: "k3_1f4".
function code(text, runs) {
  const td = el("td", { className: "code" });
  if (text === null) return td;
  let at = 0;
  for (const [, kind, n] of (runs || "").matchAll(/([a-z_])(\d+)/g)) {
    const piece = text.slice(at, at += Number(n));
    td.append(kind === "_" ? piece : el("span", { className: kind }, piece));
  }
  td.append(text.slice(at));
  return td;
}

// orderFiles orders the files by the heat's event and shows their sums.
function orderFiles() {
  const col = state.heat;
  const order = D.files.map((_, i) => i).sort((i, j) => by(size(count(D.files[j].c, col, PART)), size(count(D.files[i].c, col, PART))) || i - j);
  const most = peaks(D.files.map((f) => f.c))[col];
  for (const i of order) {
    const { meter, sum } = sources[i], row = D.files[i].c, c = count(row, col, PART);
    meter.value = most > 0 ? Math.abs(Number(c)) / most : 0;
    meter.classList.toggle("cold", Number(c) < 0);
    sum.textContent = `${show(c, col, D.diff)} (${share(row, col, PART, D.total)}) ${D.cols[col].name}`.replace(" ()", "");
  }
  $("files").replaceChildren(...order.map((i) => sources[i].box));
}

// redraw makes all tables anew, after columns or heat have changed.
function redraw() {
  functionHead();
  functions.set(functions.list);
  sources.forEach((s, i) => {
    if (s.table) fileLayout(i);
    s.table?.set(D.files[i].rows);
  });
}

function setHeat(col) {
  state.heat = col;
  $("heat").value = String(col);
  orderFiles();
  redraw();
}

// Search: functions and files by name, lines by text. A query without capitals matches any.

function matcher() {
  const q = state.query;
  if (!q) return () => true;
  if (q !== q.toLowerCase()) return (text) => text.includes(q);
  return (text) => text.toLowerCase().includes(q);
}

function search(query) {
  if (state.query === query) return;
  Object.assign(state, { query, hits: [], hit: -1 });
  const found = matcher();
  const n = listFunctions();
  let shown = 0, lines = 0;
  for (const box of $("files").children) {
    const i = box.file, f = D.files[i];
    let here = 0;
    if (query) {
      f.rows.forEach((r, at) => {
        if (r.length === 1 || r[1] === null || !found(r[1])) return;
        here++;
        state.hits.push([i, at]);
      });
    }
    lines += here;
    box.hidden = query !== "" && here === 0 && !found(f.n);
    box.querySelector(".tag").textContent = [f.source === "read" ? "" : "no source", here ? `${here} found` : ""].filter(Boolean).join(", ");
    if (!box.hidden) shown++;
    sources[i].table?.set(f.rows);
  }
  $("previous").hidden = $("next").hidden = lines === 0;
  $("files-count").textContent = query ? `${shown} of ${D.files.length}` : `${D.files.length}`;
  say(query ? `${n} functions, ${shown} files, ${lines} lines` : "");
}

const say = (text) => { $("status").textContent = text; };

// hottest are the lines by their heat, for n and N without a search.
function hottest() {
  const list = [];
  D.files.forEach((f, i) => f.rows.forEach((r, at) => {
    if (r[3] && Number(count(r[3], state.heat, PART)) !== 0) list.push([i, at, size(count(r[3], state.heat, PART))]);
  }));
  return list.sort((a, b) => by(b[2], a[2])).slice(0, 1000);
}

let hot = { col: -1, list: [], at: -1 };
function step(by) {
  if (state.query) {
    if (state.hits.length === 0) return;
    state.hit = (state.hit + by + state.hits.length) % state.hits.length;
    toRow(...state.hits[state.hit]);
    say(`line ${state.hit + 1} of ${state.hits.length}`);
    return;
  }
  if (hot.col !== state.heat) hot = { col: state.heat, list: hottest(), at: -1 };
  if (hot.list.length === 0) return;
  hot.at = Math.min(Math.max(hot.at + by, 0), hot.list.length - 1);
  toRow(hot.list[hot.at][0], hot.list[hot.at][1]);
  say(`hot line ${hot.at + 1}`);
}

// Going places.

function toRow(file, at) {
  const s = sources[file];
  Object.assign(s.box, { open: true, hidden: false });
  build(file);
  document.querySelector("tr.target")?.classList.remove("target");
  const tr = s.table.row(at);
  tr.classList.add("target");
  tr.scrollIntoView({ block: "center", inline: "nearest" });
}

// toLine goes to a line of a file, or to the one with counts next to it.
function toLine(file, line) {
  const rows = D.files[file].rows;
  let at = rows.findIndex((r) => r.length > 1 && r[0] === line);
  if (at < 0) at = rows.findIndex((r) => r.length > 1 && r[0] >= line);
  if (at < 0) at = rows.length - 1;
  if (at >= 0) toRow(file, at); else toFile(file);
}

function toFile(file) {
  const { box } = sources[file];
  Object.assign(box, { open: true, hidden: false });
  box.scrollIntoView({ block: "start" });
}

// toFunction shows a function in the table, and its source if there is one.
function toFunction(i, withSource, focus) {
  if (!functions.list.includes(i)) {
    $("search").value = "";
    search("");
  }
  functions.table.querySelector("tr.current")?.classList.remove("current");
  state.current = i;
  const tr = functions.row(functions.list.indexOf(i));
  tr.classList.add("current");
  tr.scrollIntoView({ block: "nearest" });
  if (focus) tr.querySelector("a").focus();
  const f = D.funcs[i];
  if (withSource && f.l > 0 && D.files[f.f].rows.length > 0) toLine(f.f, f.l);
}

// follow goes where the address says: #function, #file:function, #file:line or #file.
function follow() {
  let target;
  try { target = decodeURIComponent(location.hash.slice(1)); } catch { return; }
  if (!target) return;
  const colon = target.lastIndexOf(":");
  const file = files.get(target.slice(0, colon)), rest = target.slice(colon + 1);
  if (names.has(target)) return toFunction(names.get(target), true);
  if (file !== undefined && /^\d+$/.test(rest)) return toLine(file, Number(rest));
  const fn = D.funcs.findIndex((f) => `${D.files[f.f].n}:${f.n}` === target);
  if (fn >= 0) return toFunction(fn, true);
  if (files.has(target)) return toFile(files.get(target));
  if (!document.getElementById(target)) say(`there is no ${target}`);
}

// Keys.

function moveFunction(by) {
  if (functions.list.length === 0) return;
  const at = functions.list.indexOf(state.current);
  const next = at < 0 ? 0 : Math.min(Math.max(at + by, 0), functions.list.length - 1);
  toFunction(functions.list[next], false, true);
}

function setAll(open) {
  for (const s of sources) if (!s.box.hidden) s.box.open = open;
}

function sortByKey(key) {
  const list = columns();
  const n = Number(key) - 1;
  if (n < 0) sortBy(-1, NEW); else if (n < list.length) sortBy(list[n], PART);
}

const keys = {
  "/": () => { $("search").focus(); $("search").select(); },
  "n": () => step(1), "N": () => step(-1),
  "j": () => moveFunction(1), "k": () => moveFunction(-1),
  "e": () => setAll(true), "c": () => setAll(false),
  "m": () => { $("menu").open = !$("menu").open; if ($("menu").open) $("columns").querySelector("input").focus(); },
  "p": () => $("shares").click(),
  "t": () => toggleTheme(),
  "g": () => scrollTo(0, 0),
  "?": () => $("help").showModal(),
};

function onKey(e) {
  if (e.ctrlKey || e.metaKey || e.altKey || $("help").open) return;
  const box = e.target.closest("input, select, textarea");
  if (e.key === "Escape") {
    $("menu").open = false;
    if (box === $("search")) { box.value = ""; search(""); box.blur(); }
    return;
  }
  if (box === $("search") && e.key === "Enter") { search(box.value); step(e.shiftKey ? -1 : 1); return; }
  if (box && box.type !== "checkbox") return;
  const inTable = e.target.closest("#functions tbody");
  if (inTable && (e.key === "ArrowDown" || e.key === "ArrowUp")) moveFunction(e.key === "ArrowDown" ? 1 : -1);
  else if (/^[0-9]$/.test(e.key)) sortByKey(e.key);
  else if (keys[e.key]) keys[e.key]();
  else return;
  e.preventDefault();
}

// Light and dark. What was chosen is kept where the browser allows it.

function theme(chosen) {
  document.documentElement.dataset.theme = chosen;
  try { localStorage.setItem("cgemu-theme", chosen); } catch { /* the page may have no storage */ }
}

function toggleTheme() {
  const now = document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  theme(now === "dark" ? "light" : "dark");
}

function controls() {
  for (const [i, c] of D.cols.entries()) {
    $("heat").append(el("option", { value: String(i) }, c.name));
    const box = el("input", { type: "checkbox", checked: state.show.has(i) });
    box.addEventListener("change", () => { state.show[box.checked ? "add" : "delete"](i); redraw(); });
    $("columns").append(el("label", {}, box, c.name, el("span", {}, c.title)));
  }
  const shares = el("input", { type: "checkbox", id: "shares", checked: true });
  shares.addEventListener("change", () => { state.shares = shares.checked; redraw(); });
  $("columns").append(el("hr"), el("label", {}, shares, "shares"));
  $("heat").value = String(state.heat);
  $("heat").addEventListener("change", () => setHeat(Number($("heat").value)));
  let wait;
  $("search").addEventListener("input", () => {
    clearTimeout(wait);
    wait = setTimeout(() => search($("search").value), 120);
  });
  const click = { "next": keys.n, "previous": keys.N, "open-all": keys.e, "close-all": keys.c, "theme": keys.t, "help-button": keys["?"],
    "help-close": () => $("help").close() };
  for (const [id, act] of Object.entries(click)) $(id).addEventListener("click", act);
  document.addEventListener("click", (e) => { if (!e.target.closest("#menu")) $("menu").open = false; });
  document.addEventListener("keydown", onKey);
  addEventListener("hashchange", follow);
  const bar = document.querySelector(".bar"); // files' names stick below it
  new ResizeObserver(() => document.documentElement.style.setProperty("--bar", `${bar.offsetHeight}px`)).observe(bar);
  document.addEventListener("click", (e) => { // a link to where one is already
    const a = e.target.closest("a[href^='#']");
    if (a && a.getAttribute("href") === location.hash) follow();
  });
  addEventListener("beforeprint", () => { functions.fillAll(); sources.forEach((s) => s.table?.fillAll()); });
}

try { if (localStorage.getItem("cgemu-theme")) theme(localStorage.getItem("cgemu-theme")); } catch { /* as above */ }
controls();
functionHead();
listFunctions();
orderFiles();
$("files-count").textContent = String(D.files.length);
if (D.omitted.n > 0) {
  $("omitted").textContent = `${show(D.omitted.n, 0)} more functions are not shown: ` +
    `${show(count(D.omitted.c, D.sort, PART), D.sort, D.diff)} ${D.cols[D.sort].name}`;
}
follow();
