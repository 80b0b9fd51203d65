// Callers and callees of the chosen function, by call site.

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

function callTable(title, list, side, none) {
  const m = state.metric;
  const sorted = [...list].sort((a, b) => compare(size(val(b.c, m)), size(val(a.c, m))));
  const head = el("tr", {}, el("th", { scope: "col" }, D.diff ? "change" : m.name), el("th", { scope: "col" }, D.diff ? "% of old" : "%"), el("th", { scope: "col" }, "calls"),
    el("th", { scope: "col", className: "name" }, title), el("th", { scope: "col", className: "name" }, "at"));
  const table = el("table", { className: "rows calls" }, el("caption", { className: "hidden" }, title), el("thead", {}, head));
  if (sorted.length === 0) return el("p", { className: "note" }, `${title} ${none}.`);
  const t = new Table(table, $("pane"), (c) => callRow(c, side));
  t.set(sorted);
  return table;
}

function callRow(c, side) {
  const m = state.metric, other = c[side], part = share(c.c, m);
  const calls = D.diff ? plus(c.n[0], c.n[1], -1) : c.n[0];
  const title = D.diff ? `${full(c.n[1])} → ${full(c.n[0])} calls` : `${full(calls)} calls`;
  const name = isOther(other) ? "functions below the threshold" : el("a", { href: fragmentOf({ fn: other, tab: "calls" }) }, D.funcs[other].n);
  const at = c.file >= 0 && D.files[c.file].n !== "???" ? el("a", { href: fragmentOf({ fn: isOther(c.caller) ? -1 : c.caller, file: c.file, line: c.line, tab: "source" }), title: D.files[c.file].n },
    c.line > 0 ? `${fileLabel(c.file)}:${c.line}` : fileLabel(c.file)) : "";
  return el("tr", {}, number(c.c, m), warm(el("td", { className: "n share" }, percent(part, D.diff)), part),
    el("td", { className: "n times", title }, `${short(calls, D.diff).trim()}×`), el("th", { scope: "row", className: "name" }, name), el("td", { className: "at" }, at));
}
