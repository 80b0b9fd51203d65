// The page as a whole: what is chosen, its address, keys, and the first view.

const state = {
  fn: -1, file: -1, line: 0, // what the pane shows: a function, or a line of a file; -1: that of the function
  tab: "", metric: null, view: "place", zoom: [], done: [], q: "", own: "dir", sort: "self", up: false,
};
let hits = null, hit = -1; // lines found, or the hottest ones, as [file, row]; null: not looked for yet

// The address. What is chosen stands first, what differs from the first view behind it: #table.c:17;e=d1;t=calls

const escapeName = (text) => encodeURIComponent(text).replace(/%2F/g, "/").replace(/%3A/g, ":").replace(/%20/g, "+");

// fragmentOf is the address of another place in the state that the page is in.
function fragmentOf({ fn = -1, file = -1, line = 0, tab = "" }) {
  return fragment({ ...state, fn, file, line, tab });
}

function fragment(s) {
  let target = "";
  if (s.file >= 0) target = fileLabel(s.file) + (s.line > 0 ? `:${s.line}` : "");
  else if (s.fn >= 0) target = functionLabel(s.fn);
  const rest = [];
  if (s.metric !== firstMetric()) rest.push(["e", s.metric.id]);
  if (s.tab) rest.push(["t", s.tab]);
  if (s.view !== "place") rest.push(["v", s.view]);
  if (s.q) rest.push(["q", s.q]);
  if (s.own !== "dir") rest.push(["own", s.own]);
  if (s.sort !== "self" || s.up) rest.push(["s", (s.up ? "-" : "") + s.sort]);
  if (s.zoom.length > 0) rest.push(["z", s.zoom.join("\n")]);
  if (s.done.length > 0) rest.push(["x", s.done.join("\n")]);
  return "#" + [escapeName(target), ...rest.map(([k, v]) => `${k}=${escapeName(v)}`)].join(";");
}

// parse reads an address into a state; what it names and is not there is an error, which is returned as text.
function parse(hash) {
  const s = { ...state, fn: -1, file: -1, line: 0, tab: "", metric: firstMetric(), view: "place", zoom: [], done: [], q: "", own: "dir", sort: "self", up: false };
  const text = (t) => { try { return decodeURIComponent(t.replace(/\+/g, "%20")); } catch { return ""; } };
  const [target, ...rest] = hash.replace(/^#/, "").split(";");
  for (const part of rest) {
    const at = part.indexOf("="), key = part.slice(0, at), v = text(part.slice(at + 1));
    if (key === "e") s.metric = METRICS.find((m) => m.id === v) || s.metric;
    if (key === "t") s.tab = v;
    if (key === "v" && v === "calls") s.view = v;
    if (key === "q") s.q = v;
    if (key === "own" && ["all", "object"].includes(v)) s.own = v;
    if (key === "s") Object.assign(s, { up: v.startsWith("-"), sort: ["self", "with", "name"].find((n) => n === v.replace("-", "")) || "self" });
    if (key === "z") s.zoom = v.split("\n");
    if (key === "x") s.done = v.split("\n").slice(0, 100);
  }
  const name = text(target);
  const missing = name !== "" && !find(name, s) ? `there is no ${name}` : "";
  return [s, missing];
}

const fileNamed = (name) => files.get(name) ?? (bases.get(name) >= 0 ? bases.get(name) : undefined);

// find sets what an address names: a function, file:function, file:line, file or number:function.
function find(name, s) {
  if (names.has(name)) {
    s.fn = names.get(name);
    return true;
  }
  const colon = name.lastIndexOf(":"), rest = name.slice(colon + 1), file = fileNamed(name.slice(0, colon));
  if (file !== undefined && /^\d+$/.test(rest)) {
    Object.assign(s, { file, line: Number(rest), fn: functionAt(file, Number(rest)) });
    return true;
  }
  for (let at = name.indexOf(":"); at >= 0; at = name.indexOf(":", at + 1)) { // C++ names have colons, too
    const head = name.slice(0, at), tail = name.slice(at + 1), in_ = fileNamed(head);
    const fn = D.funcs.findIndex((f, i) => f.n === tail && (f.f === in_ || String(i) === head));
    if (fn >= 0) {
      s.fn = fn;
      return true;
    }
  }
  if (fileNamed(name) !== undefined) {
    s.file = fileNamed(name);
    return true;
  }
  return false;
}

// functionAt is the function that has a line: that whose lines around it are the fewest.
function functionAt(file, line) {
  let best = -1;
  D.funcs.forEach((f, i) => {
    if (f.f === file && f.l <= line && line <= f.e && (best < 0 || f.e - f.l < D.funcs[best].e - D.funcs[best].l)) best = i;
  });
  return best;
}

// go changes the state. In place changes the address without a step back.
let steps = 0;
function go(patch, inPlace) {
  const next = { ...state, ...patch };
  const hash = fragment(next);
  if (hash !== location.hash) {
    try {
      if (inPlace) history.replaceState(null, "", hash); else history.pushState(null, "", hash);
    } catch { /* a browser may allow only so many in a time */ }
    if (!inPlace) steps++;
  }
  apply(next);
}

// apply draws what differs between two states.
function apply(next) {
  const was = { ...state };
  Object.assign(state, next);
  const changed = (...keys) => keys.some((k) => was[k] !== state[k]);
  if (changed("metric")) {
    hottest = D.funcs.reduce((s, f) => Math.max(s, Math.abs(share(f.c, state.metric))), 0);
    drawTotals();
  }
  if (changed("metric", "view", "own", "done")) makeTree();
  if (changed("metric", "own")) legend();
  if (changed("metric", "q", "sort", "up", "own")) listFunctions();
  if (changed("q", "metric")) findLines();
  if (changed("metric", "view", "own", "zoom", "done", "q", "fn")) drawIcicle();
  showCurrent(changed("fn", "metric", "q", "sort", "up"));
  drawDetail();
  controls();
}

// follow goes where the address says.
function follow() {
  const [s, missing] = parse(location.hash);
  if (s.fn < 0 && s.file < 0) s.fn = first();
  apply(s);
  if (missing) say(missing);
}

// first is the function that is shown at first: the costliest of the reader's own.
function first() {
  let best = -1, most = 0;
  for (const any of [false, true]) {
    D.funcs.forEach((f, i) => {
      const c = Math.abs(amount(f.c, state.metric || firstMetric()));
      if ((any || kind(f) === OWN) && c > most) [best, most] = [i, c];
    });
    if (best >= 0) return best;
  }
  return D.funcs.length > 0 ? 0 : -1;
}

// What stands on top.

function drawHeader() {
  const run = D.runs.at(-1) || { n: "", cmd: "", date: "", desc: [] };
  const [name, ...args] = run.cmd.split(" ");
  $("program").replaceChildren(D.diff && D.runs[0].cmd !== run.cmd ? `${base(D.runs[0].cmd.split(" ")[0])} → ${base(name)}` : base(name) || "(no command)",
    el("small", { title: run.cmd }, ` ${args.join(" ")}`));
  const caches = run.desc.map((d) => /^(I1|D1|LL) cache:\s+(\d+) B/.exec(d)).filter(Boolean).map(([, n, b]) => `${n} ${bytes(Number(b))}`);
  const about = [apart(D.runs.map((r) => r.n)).join(D.diff ? " → " : ", "), [...new Set(D.runs.map((r) => r.date).filter(Boolean))].join(" → "), caches.join(", ")];
  $("about").textContent = about.filter(Boolean).join(" · ");
  $("runs").replaceChildren(...D.runs.map((r) => el("ul", {}, el("li", {}, `${r.n}: ${r.cmd}`), ...(r.date ? [el("li", {}, `written on ${r.date}`)] : []), ...r.desc.map((d) => el("li", {}, d)))));
}

const bytes = (n) => n >= 1 << 20 ? `${n / (1 << 20)} MiB` : `${n / 1024} KiB`;

// drawTotals shows what was counted, each a button that chooses it.
function drawTotals() {
  $("totals").replaceChildren(...METRICS.filter((m) => m.main).map((m) => {
    const c = val(D.total, m), was = amount(D.total, m, OLD);
    const extra = D.diff ? (was ? `${percent(Number(c) / was, true)}${THIN}%` : "new") : rate(m, NEW);
    const b = el("button", { type: "button", className: "total", title: `${m.title}\n${exact(D.total, m)}`, "aria-pressed": state.metric === m, onclick: () => choose(m) },
      el("b", {}, figure(c, m, D.diff).trim()), el("span", {}, m.name), el("small", {}, extra));
    if (D.diff) b.classList.add(Number(c) > 0 ? "more" : Number(c) < 0 ? "less" : "same");
    return b;
  }));
  const rest = METRICS.filter((m) => !m.main);
  $("more").hidden = rest.length === 0;
  $("more").replaceChildren(el("option", { value: "" }, "more…"), ...rest.map((m) => el("option", { value: m.id, title: m.title }, m.title === m.name ? m.name : `${m.name}: ${m.title}`)));
  $("more").value = rest.includes(state.metric) ? state.metric.id : "";
  $("more").classList.toggle("pressed", rest.includes(state.metric));
  sentence();
}

const choose = (metric) => go({ metric, zoom: state.view === "calls" ? state.zoom : [] });

// sentence says of a comparison what moved, by how much, and because of which functions.
function sentence() {
  $("sentence").hidden = !D.diff;
  if (!D.diff) return;
  const m = state.metric, was = val(D.total, m, OLD), is = val(D.total, m, NEW), by = val(D.total, m);
  if (m.unit) {
    $("sentence").replaceChildren(el("b", {}, `${m.name}: ${full(was, false, m.unit)} → ${full(is, false, m.unit)}`));
    return;
  }
  const up = Number(by) > 0, change = Number(was) === 0 ? "" : ` (${percent(Number(by) / Number(was), true)}${THIN}%)`;
  const causes = D.funcs.map((f, i) => [i, val(f.c, m)]).filter(([, c]) => Number(c) !== 0).sort((a, b) => compare(size(b[1]), size(a[1])) || a[0] - b[0]);
  const link = ([i, c]) => [el("a", { href: fragmentOf({ fn: i }), title: exact(D.funcs[i].c, m) }, D.funcs[i].n), ` ${short(c, true).trim()}${gone(D.funcs[i].c, m)}`];
  const text = Number(by) === 0 && causes.length === 0 ? [`${m.name}: nothing changed, ${full(was)} both times.`] :
    [el("b", {}, `${m.name} ${Number(by) === 0 ? "are as many as before" : `went ${up ? "up" : "down"} by ${short(size(by)).trim()}${change}`}`), `, from ${short(was).trim()} to ${short(is).trim()}: `,
      ...causes.slice(0, 4).flatMap((c, i) => [i ? ", " : "", ...link(c)]), causes.length > 4 ? `, and ${full(causes.length - 4)} more.` : "."];
  $("sentence").replaceChildren(...text);
}

const gone = (row, m) => Number(val(row, m, OLD)) === 0 ? " (new)" : Number(val(row, m, NEW)) === 0 ? " (gone)" : "";

// controls shows the state in what changes it.
function controls() {
  if (document.activeElement !== $("search")) $("search").value = state.q;
  $("own").value = state.own;
  $("by-place").setAttribute("aria-pressed", state.view === "place");
  $("by-calls").setAttribute("aria-pressed", state.view === "calls");
  $("by-calls").hidden = $("by-place").hidden = !hasCalls();
  drawTransforms();
  $("compare").hidden = D.diff && !D.compare || D.live?.running === true;
  $("compare").textContent = D.compare ? "End comparison" : "Compare…";
  $("swap").hidden = !D.compare;
}

// Lines found, and hot lines.

function findLines() {
  hits = null;
  hit = -1;
  const found = state.q.trim() ? matcher() : null;
  if (found) {
    hits = [];
    D.files.forEach((_, file) => (rowsOf(file) || []).forEach((r, at) => { if (r.length > 1 && r[1] !== null && found(r[1])) hits.push([file, at]); }));
    say(`${functions.list.length} functions, ${full(hits.length)} lines`);
  } else {
    say("");
  }
}

function hotLines() {
  const m = state.metric, list = [];
  D.files.forEach((_, file) => (rowsOf(file) || []).forEach((r, at) => { if (r[3] && amount(r[3], m) !== 0) list.push([file, at, size(val(r[3], m))]); }));
  return list.sort((a, b) => compare(b[2], a[2])).slice(0, 1000);
}

// step goes to the next line found; without a search to the next one of the hottest.
function step(by) {
  hits ??= hotLines();
  if (hits.length === 0) return;
  hit = state.q ? (hit + by + hits.length) % hits.length : Math.min(Math.max(hit + by, 0), hits.length - 1);
  const [file, at] = hits[hit], r = rowsOf(file)[at];
  const line = r[0] > 0 ? r[0] : 0;
  go({ file, line, fn: functionAt(file, line), tab: "source" }, true);
  say(state.q ? `line ${hit + 1} of ${hits.length}` : `hot line ${hit + 1}`);
}

// Keys.

function turn(by) {
  const list = METRICS.filter((m) => m.main);
  choose(list[(list.indexOf(state.metric) + by + list.length) % list.length]);
}

function back() {
  if (state.zoom.length > 0 && steps === 0) go({ zoom: state.zoom.slice(0, -1) }, true);
  else if (steps > 0) { steps--; history.back(); }
}

const keys = {
  "/": () => { $("search").focus(); $("search").select(); },
  "n": () => step(1), "N": () => step(-1),
  "j": () => moveFunction(1), "k": () => moveFunction(-1),
  "s": () => go({ tab: "source" }), "a": () => go({ tab: "assembly" }), "c": () => go({ tab: "calls" }),
  "[": () => turn(-1), "]": () => turn(1),
  "v": () => { if (hasCalls()) go({ view: state.view === "calls" ? "place" : "calls", zoom: [] }); },
  "z": () => go({ zoom: [] }),
  "f": () => did("focus"), "i": () => did("callers"), "h": () => did("hide"), "d": () => did("drop"), "r": () => did("cycles"), "u": () => undo(),
  "m": () => copyList(),
  "t": () => toggleTheme(),
  "x": () => { if (D.compare) show(single); else if (!$("compare").hidden) $("other").click(); },
  "Backspace": back,
  "?": () => $("help").showModal(),
};

function onKey(e) {
  if (e.ctrlKey || e.metaKey || e.altKey || $("help").open) return;
  const box = e.target.closest("input, select, textarea");
  if (e.key === "Escape") {
    if (box === $("search")) { box.value = ""; go({ q: "" }, true); box.blur(); } else if (state.zoom.length > 0) go({ zoom: [] });
    return;
  }
  if (box === $("search") && e.key === "Enter") { go({ q: box.value }, true); step(e.shiftKey ? -1 : 1); return; }
  if (box) return;
  const inTable = e.target.closest("#functions tbody");
  const inTabs = e.target.closest("#tabs"), inBox = e.target.closest(".box");
  if (inTable && (e.key === "ArrowDown" || e.key === "ArrowUp")) moveFunction(e.key === "ArrowDown" ? 1 : -1);
  else if (inBox && e.key.startsWith("Arrow")) moveBox(inBox, e.key);
  else if (inTabs && (e.key === "ArrowRight" || e.key === "ArrowLeft")) turnTab(e.key === "ArrowRight" ? 1 : -1);
  else if (e.key === "Enter" && (e.target === document.body || inTable)) $("pane").focus();
  else if (keys[e.key]) keys[e.key]();
  else return;
  e.preventDefault();
}

function turnTab(by) {
  const list = tabs();
  go({ tab: list[(list.indexOf(tab()) + by + list.length) % list.length] });
  $(`tab-${tab()}`).focus();
}

async function copyList() {
  await copy(markdown(functions.list.slice(0, 50)));
  say(`copied as Markdown: ${Math.min(50, functions.list.length)} functions`);
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

function ownChoices() {
  const read = D.files.some((f) => f.source === "read");
  const list = [["dir", "sources below the working directory"]];
  if (read) list.push(["all", "all sources that were found"]);
  if (D.objs.length > 0) list.push(["object", `all of ${program()}`]);
  $("own").replaceChildren(...list.map(([value, text]) => el("option", { value }, text)));
}

// listen joins what can be clicked with what it does, once.
function listen() {
  const click = {
    "theme": toggleTheme, "help-button": keys["?"], "help-close": () => $("help").close(), "icicle": onBox, "zoom-out": keys.z, "copy": copyList,
    "stop": () => { $("stop").hidden = true; fetch("stop", { method: "POST" }).catch(() => {}); },
    "by-place": () => go({ view: "place", zoom: [] }), "by-calls": () => go({ view: "calls", zoom: [] }),
    "compare": keys.x, "swap": () => show(compared(...D.compare.sides.toReversed())),
    "do-focus": keys.f, "do-callers": keys.i, "do-hide": keys.h, "do-drop": keys.d, "do-cycles": keys.r,
  };
  for (const [id, act] of Object.entries(click)) $(id).addEventListener("click", act);
  $("own").addEventListener("change", () => go({ own: $("own").value }));
  $("more").addEventListener("change", () => choose(METRICS.find((m) => m.id === $("more").value) || firstMetric()));
  let wait;
  $("search").addEventListener("input", () => {
    clearTimeout(wait);
    wait = setTimeout(() => go({ q: $("search").value }, true), 120);
  });
  document.addEventListener("keydown", onKey);
  addEventListener("popstate", follow);
  document.addEventListener("click", (e) => {
    const a = e.target.closest("a[href^='#']");
    if (!a || e.ctrlKey || e.metaKey || e.shiftKey || a.classList.contains("skip")) return;
    e.preventDefault();
    const [{ fn, file, line, tab }] = parse(a.getAttribute("href")); // the rest is as it is now, not as when the link was made
    go({ fn, file, line, tab });
  });
  $("other").addEventListener("change", () => {
    const [file] = $("other").files;
    if (file) compareWith(file);
    $("other").value = "";
  });
  if (window.top === window) takeDrops(); // or the page around takes them
  let width = innerWidth;
  addEventListener("resize", () => { if ((width <= 700) !== (innerWidth <= 700)) drawIcicle(); width = innerWidth; });
  addEventListener("beforeprint", () => { functions.fillAll(); shown.table?.fillAll(); });
}

// takeDrops compares with a file that is dropped on the page.
function takeDrops() {
  const mark = (on) => document.documentElement.classList.toggle("dragging", on);
  const files = (e) => e.dataTransfer.types.includes("Files");
  addEventListener("dragover", (e) => { if (files(e)) { e.preventDefault(); mark(true); } });
  addEventListener("dragleave", (e) => { if (!e.relatedTarget) mark(false); });
  addEventListener("drop", (e) => {
    if (!files(e)) return;
    e.preventDefault();
    mark(false);
    if (e.dataTransfer.files.length === 1) compareWith(e.dataTransfer.files[0]); else note(`One file can be compared with, not ${e.dataTransfer.files.length}.`);
  });
}

// compareWith shows what differs from another page, or a profile. The older one is the old one; of two of one day it is the one that was chosen.
async function compareWith(file) {
  if ($("compare").hidden) return note("This page is a comparison itself, or of a run that has not ended: it is not compared with another one.");
  note(`Reading ${file.name}…`);
  try {
    const own = D.compare ? single : D, other = await readOther(file);
    await loaded;
    own.rest ??= D.live ? await (await fetch(`rest?v=${own.live.version}`)).json() : JSON.parse($("rest").textContent);
    single = own;
    const later = other.runs.at(-1).date > own.runs.at(-1).date && own.runs.at(-1).date !== "";
    show(later ? compared(other, own) : compared(own, other));
  } catch (e) {
    note(`${e.message}.`);
  }
}

// note says something of the whole page, in place of what stood there.
function note(...texts) {
  $("notes").replaceChildren(...texts.map((t) => el("p", { className: D.compare ? "note" : "note wrong" }, t)));
}

// show shows other data in place of the page's, from its beginning, by the event that was chosen.
let totalsOf; // the table of the page as it was written
const titleOf = document.title;
function show(data) {
  const { id } = state.metric;
  D = data;
  index();
  drawHeader();
  ownChoices();
  totalsOf ??= [...$("all").children];
  document.title = D.compare ? `${$("program").textContent}: difference` : titleOf;
  $("all").replaceChildren(...(D.compare ? comparedTotals() : totalsOf));
  note(...(D.notes || []));
  state.metric = null;
  shown = { key: "", table: null };
  const s = { ...state, fn: first(), file: -1, line: 0, tab: "", metric: METRICS.find((m) => m.id === id) || firstMetric(), zoom: [], done: [], q: "" };
  try { history.replaceState(null, "", fragment(s)); } catch { /* as in go */ }
  apply(s);
}

// comparedTotals are the rows of the table of all totals.
function comparedTotals() {
  const row = (name, part) => el("tr", {}, el("th", { scope: "row" }, name), ...D.cols.map((_, i) => el("td", {}, full(val(D.total, { terms: [[i, 1]], unit: "" }, part), part === DELTA))));
  const head = el("tr", {}, el("td"), ...D.cols.map((c) => el("th", { scope: "col" }, el("abbr", { title: c.title }, c.name))));
  return [el("caption", { className: "hidden" }, "All totals"), el("thead", {}, head), el("tbody", {}, row("Old", OLD), row("New", NEW), row("Difference", DELTA))];
}

// A page that is served asks for newer counts while a program runs.

function drawLive(text) {
  $("live").hidden = !D.live || (!D.live.running && !text);
  $("live").textContent = text || "running: counts so far";
  $("live").classList.toggle("over", text !== "");
  $("stop").hidden = !D.live?.stop;
}

async function poll() {
  const wasRunning = D.live.running;
  try {
    const answer = await fetch(`data?v=${D.live.version}`);
    if (answer.status === 200) renew(await answer.json());
  } catch {
    return drawLive("no longer served: cgemu has ended");
  }
  if (D.live.running) setTimeout(poll, 1000);
  drawLive(wasRunning && !D.live.running ? "the run has ended" : "");
}

// renew shows newer data in place of the old: what was chosen stays, and nothing moves.
function renew(data) {
  const label = state.fn >= 0 ? functionLabel(state.fn) : "", hash = location.hash;
  const places = ["functions", "pane"].map((id) => [$(id), $(id).scrollTop]);
  D = data;
  index();
  drawHeader();
  ownChoices();
  const [s] = parse(hash);
  if (s.fn < 0 && s.file < 0 && !(label && find(label, s))) s.fn = first();
  state.metric = null;
  still = true;
  apply(s);
  for (const [box, top] of places) box.scrollTop = top;
}

try { if (localStorage.getItem("cgemu-theme")) theme(localStorage.getItem("cgemu-theme")); } catch { /* as above */ }
functions = new Table($("functions").firstElementChild, $("functions"), functionRow);
listen();
start();

// complete shows what depends on lines that were not there when the page was drawn first.
function complete() {
  if (state.q) findLines(); else hits = null;
  if (tab() !== "assembly") return;
  shown.key = "";
  drawDetail();
}

// start shows the data; the address says what of it.
function start() {
  index();
  drawHeader();
  ownChoices();
  state.metric = null;
  follow();
  performance.mark("drawn");
  if (loading()) loaded.then(complete);
  if (D.live) drawLive("");
  if (D.live?.running) setTimeout(poll, 1000);
}
