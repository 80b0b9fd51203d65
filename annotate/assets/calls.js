// Callers and callees of the chosen function: by call site, which is exact, and below each the callers' callers and the callees' callees, as far as
// that can be known.

const isOther = (i) => i < 0;
const countOf = (list, side) => new Set(list.map((c) => c[side])).size;

function callsLabel() {
  const from = callers.get(state.fn) || [], to = callees.get(state.fn) || [];
  return `Callers ${countOf(from, "caller")} · Callees ${countOf(to, "callee")}`;
}

function drawCalls() {
  const key = `calls ${state.fn} ${state.metric.id} ${D.live?.version}`, pane = $("pane");
  if (shown.key === key) return;
  shown = { key, table: null };
  const f = D.funcs[state.fn];
  pane.replaceChildren(
    callTable("Called by", callers.get(state.fn) || [], "caller", "nobody that was recorded: it is where the program, a thread or a signal handler begins"),
    callTable("Calls", callees.get(state.fn) || [], "callee", "nothing"));
  if (f.y) pane.prepend(el("p", { className: "note" }, `Part of cycle ${f.y}: its functions call each other, so that the costs of calls between them hold each other's.`));
  pane.scrollTop = 0;
}

const OPEN = 0.2; // what has that part of the function's cost is open at first, so many levels deep:
const OPEN_LEVELS = 6;
const WIDEST = 50; // rows below one

// A call node is a row: a call site of the function chosen, or a function further away. It has the function, a row of numbers, and those that lead
// to it; a call has where it is, and how often it was made.
function callNode(fn, c, path, call, inlined) {
  return { fn, c, path, call, inlined, open: false, cut: path.includes(fn) };
}

// below returns the next functions of a node. What they cost there is shared out: of callers by what each one's calls of it cost, of
// callees by what part of the function's cost they are. Calls within a cycle cost more than the functions do; no more than that is shared out.
function below(n, side) {
  if (isOther(n.fn) || n.cut) return [];
  const sums = new Map(), called = new Set();
  for (const c of (side === "caller" ? callers : callees).get(n.fn) || []) {
    if (!c.inlined) called.add(c[side]);
    if (c.caller !== c.callee) sums.set(c[side], sums.has(c[side]) ? sumRow([sums.get(c[side]), c.c]) : c.c);
  }
  const of = side === "callee" ? inclusive(D.funcs[n.fn]) : sums.size > 0 ? sumRow([...sums.values()]) : [];
  const most = inclusive(D.funcs[n.fn]);
  const part = (row) => row.map((x, i) => Number(of[i]) ? Math.round(Math.min(Number(n.c[i]), Number(most[i])) * Math.min(1, Number(x) / Number(of[i]))) : 0);
  const m = state.metric, list = [...sums].map(([fn, row]) => callNode(fn, part(row), [...n.path, n.fn], null, !called.has(fn))).filter((b) => larger(b.c) > 0);
  return list.sort((a, b) => compare(size(val(b.c, m)), size(val(a.c, m)))).slice(0, WIDEST);
}

function callTable(title, list, side, none) {
  if (list.length === 0) return el("p", { className: "note" }, `${title} ${none}.`);
  const m = state.metric;
  const sorted = [...list].sort((a, b) => compare(size(val(b.c, m)), size(val(a.c, m))));
  const head = el("tr", {}, el("th", { scope: "col" }, D.diff ? "change" : m.name), el("th", { scope: "col" }, D.diff ? "% of old" : "%"), el("th", { scope: "col" }, "calls"),
    el("th", { scope: "col", className: "name" }, title), el("th", { scope: "col", className: "name" }, "at"));
  const table = el("table", { className: "rows calls", role: "treegrid" }, el("caption", { className: "hidden" }, title), el("thead", {}, head));
  const whole = larger(inclusive(D.funcs[state.fn]));
  const unfold = (n) => {
    n.below ??= below(n, side);
    if (n.path.length <= OPEN_LEVELS && n.below.length > 0 && larger(n.c) >= OPEN * whole) {
      n.open = true;
      n.below.forEach(unfold);
    }
    return n;
  };
  const top = sorted.map((c) => unfold(callNode(c[side], c.c, [state.fn], c, c.inlined)));
  const flat = (nodes) => nodes.flatMap((n) => [n, ...(n.open ? flat(n.below) : [])]);
  const t = new Table(table, $("pane"), (n) => callRow(n, side, (open) => {
    n.open = open;
    n.below.forEach((b) => { b.below ??= below(b, side); });
    t.set(flat(top));
    t.row(t.list.indexOf(n)).querySelector(".fold").focus({ preventScroll: true });
  }));
  t.set(flat(top));
  return table;
}

// callRow makes a row; fold opens or closes what is below it.
function callRow(n, side, fold) {
  const m = state.metric, part = share(n.c, m), deep = n.path.length - 1, c = n.call;
  const name = isOther(n.fn) ? "functions below the threshold" : el("a", { href: fragmentOf({ fn: n.fn, tab: "calls" }), title: D.funcs[n.fn].n }, D.funcs[n.fn].n);
  const button = el("button", { type: "button", className: "fold", "aria-label": n.open ? "close" : side === "caller" ? "its callers" : "its callees" }, n.open ? "▾" : "▸");
  button.hidden = n.below.length === 0;
  button.addEventListener("click", () => fold(!n.open));
  button.addEventListener("keydown", (e) => {
    if (e.key !== (n.open ? "ArrowLeft" : "ArrowRight")) return;
    e.preventDefault();
    fold(!n.open);
  });
  const cell = el("th", { scope: "row", className: "name" }, button, name, n.inlined ? inlinedMark() : "", n.cut ? el("small", {}, " again") : "");
  cell.style.paddingLeft = `${8 + 16 * deep + (button.hidden ? 20 : 0)}px`;
  const count = number(n.c, m);
  if (deep > 0) {
    count.prepend("≈");
    count.title = `about ${count.title}: shared out`;
  }
  const tr = el("tr", { "aria-level": deep + 1 }, count, warm(el("td", { className: "n share" }, percent(part, D.diff)), part), callCount(c), cell, callSite(c));
  if (!button.hidden) tr.setAttribute("aria-expanded", n.open);
  return tr;
}

// inlinedMark is that of a call which is none.
const inlinedMark = () => el("small", { title: "inlined: its code stands in its caller's" }, ` ${INLINED} inlined`);

function callCount(c) {
  if (!c) return el("td", { className: "n times" });
  const calls = D.diff ? plus(c.n[0], c.n[1], -1) : c.n[0];
  return el("td", { className: "n times", title: D.diff ? `${full(c.n[1])} → ${full(c.n[0])} calls` : `${full(calls)} calls` }, `${short(calls, D.diff).trim()}×`);
}

function callSite(c) {
  if (!c || c.file < 0 || D.files[c.file].n === "???") return el("td", { className: "at" });
  const label = c.line > 0 ? `${fileLabel(c.file)}:${c.line}` : fileLabel(c.file);
  return el("td", { className: "at" }, el("a", { href: fragmentOf({ fn: isOther(c.caller) ? -1 : c.caller, file: c.file, line: c.line, tab: "source" }), title: D.files[c.file].n }, label));
}
