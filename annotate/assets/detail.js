// What is chosen: a function, or a line of a file. Its source or its instructions, and its calls.

let still = false; // the counts are newer, and nothing is to move
let shown = { key: "", table: null }; // what the pane shows, so that it is made anew only if that is another

// chosenFile is the file of which the pane shows lines.
const chosenFile = () => state.file >= 0 ? state.file : state.fn >= 0 ? D.funcs[state.fn].f : -1;

// tabs are those that there is something for.
function tabs() {
  const f = D.funcs[state.fn];
  const list = ["source"];
  if (f && D.asm[state.fn]) list.push("assembly");
  if (f && hasCalls()) list.push("calls");
  return list;
}

// tab is the one that is shown: the source, unless there is none and calls say more.
function tab() {
  const list = tabs();
  if (list.includes(state.tab)) return state.tab;
  const file = chosenFile();
  const none = file < 0 || D.files[file].source === "unknown" || D.files[file].source === "unreadable" || D.files[file].source === "off";
  if (none && state.line === 0 && list.includes("calls")) return "calls";
  return "source";
}

function drawDetail() {
  const f = D.funcs[state.fn], m = state.metric;
  $("detail-head").replaceChildren(...(f ? functionHeadline(f, m) : fileHeadline(chosenFile(), m)));
  const now = tab(), names = { source: "Source", assembly: "Assembly", calls: f ? callsLabel() : "" };
  $("tabs").replaceChildren(...tabs().map((t) => el("button", {
    type: "button", role: "tab", id: `tab-${t}`, "aria-selected": t === now, "aria-controls": "pane", tabIndex: t === now ? 0 : -1, onclick: () => go({ tab: t }),
  }, names[t])));
  $("pane").setAttribute("aria-labelledby", `tab-${now}`);
  if (now === "calls") drawCalls();
  else if (now === "assembly") drawAssembly();
  else drawSource();
}

function functionHeadline(f, m) {
  const part = share(f.c, m), all = inclusive(f);
  const text = [el("h2", { title: f.n }, f.n)];
  if (f.o) text.push(el("small", {}, `was ${f.o}`));
  const where = place(f);
  if (where) text.push(el("a", { href: fragmentOf({ fn: state.fn, file: f.f, line: f.l }), className: "where", title: D.files[f.f].n }, where));
  if (f.b >= 0 && where !== base(D.objs[f.b])) text.push(el("small", { title: D.objs[f.b] }, base(D.objs[f.b])));
  const said = (label, row) => el("span", { className: "sum", title: exact(row, m) }, `${label} `, el("b", {}, figure(val(row, m), m, D.diff).trim()),
    m.unit ? "" : ` ${percent(share(row, m), D.diff)}${THIN}%`);
  text.push(said("self", f.c));
  if (all) text.push(said("with callees", all));
  for (const c of D.cols.keys()) {
    if (D.cols[c].unit && D.show.includes(c)) text.push(el("span", { className: "sum" }, `${D.cols[c].name} `, el("b", {}, full(f.c[c], false, D.cols[c].unit))));
  }
  if (f.p) {
    const own = f.p.filter(([, , row]) => Math.abs(share(row, m)) >= 0.0005);
    if (own.length > 1) {
      text.push(el("span", { className: "parts" }, `in ${f.p.length} files: `, ...own.slice(0, 6).flatMap(([file, line, row], i) => [i ? " · " : "",
        el("a", { href: fragmentOf({ fn: state.fn, file, line }), title: D.files[file].n }, base(D.files[file].n)), ` ${percent(share(row, m), D.diff)}${THIN}%`])));
    }
  }
  return text;
}

function fileHeadline(file, m) {
  if (file < 0) return [el("h2", {}, "Nothing chosen")];
  const f = D.files[file];
  return [el("h2", { title: f.n }, fileLabel(file)), el("span", { className: "sum", title: exact(f.c, m) }, "all lines ",
    el("b", {}, figure(val(f.c, m), m, D.diff).trim()), ` ${percent(share(f.c, m), D.diff)}${THIN}%`)];
}

// Source.

// askedRows are the lines of a file, which are asked for or waited for if need be.
async function askedRows(file, d = D) {
  const f = d.files[file];
  await loaded;
  if (rowsOf(file, d) === null && f.sides) await Promise.all(d.compare.sides.map((s, side) => f.sides[side] === undefined ? [] : askedRows(f.sides[side], s)));
  else if (f.rows === null) f.rows = await (f.wait ||= fetch(`source/${file}?v=${d.live.version}`).then((r) => r.ok ? r.json() : []).catch(() => []));
  return rowsOf(file, d);
}

async function drawSource() {
  const file = chosenFile(), pane = $("pane");
  if (file < 0) return pane.replaceChildren();
  const top = still ? pane.scrollTop : -1;
  still = false;
  const key = `source ${file} ${state.metric.id} ${state.q} ${D.live?.version}`;
  if (shown.key !== key) {
    shown = { key, table: null };
    const rows = await askedRows(file);
    if (shown.key !== key) return; // another was chosen meanwhile
    shown.table = sourceTable(pane, file, rows);
  }
  if (shown.table) target();
  if (top >= 0) pane.scrollTop = top;
}

// why says why a file has no text.
function why(f) {
  const under = D.dirs.map((d) => `, and under ${d}`).join("");
  return {
    unreadable: [`No source. Looked for ${f.n}${under}. If it is elsewhere, --include=DIR or --source-map=FROM=TO says where; these are the lines with counts.`],
    different: ["Two or more files of this name are not identical; these are the lines with counts."],
    unknown: ["The file is not known: this code has no debug information. A package of debug symbols or a build with -g has it."],
  }[f.source] || [];
}

// sourceTable makes the lines of a file.
function sourceTable(pane, file, rows) {
  const f = D.files[file], table = el("table", { className: "rows src" }, el("caption", { className: "hidden" }, `Lines of ${f.n}`));
  const sides = D.diff ? ["change", "new"] : ["self"];
  table.append(el("thead", { className: "hidden" }, el("tr", {}, ...sides.map((s) => el("th", { scope: "col" }, s)), el("th", { scope: "col" }, "line"), el("th", { scope: "col" }, "source"))));
  pane.replaceChildren(...[...why(f), ...(f.notes || [])].map((n) => el("p", { className: "note" }, n)), table);
  const t = new Table(table, pane, (r) => lineRow(file, r));
  t.set(rows);
  return t;
}

// lineRow makes a row of a file: [line, text, runs, counts, old line], or [lines left out].
function lineRow(file, r) {
  const m = state.metric, sides = D.diff ? [DELTA, NEW] : [NEW];
  if (r.length === 1) {
    const text = r[0] === 1 ? "1 line without counts" : `${full(r[0])} lines without counts`;
    return el("tr", { className: "gap" }, el("td", { colSpan: sides.length }), el("td", { className: "line" }, "⋯"), el("td", { className: "code" }, text));
  }
  const [line, text, runs, counts, old] = r;
  const part = counts ? share(counts, m) : 0;
  const tr = warm(el("tr", {}, ...sides.map((s) => number(counts, m, s))), part);
  const label = line < 0 ? String(old) : line === 0 ? "?" : String(line);
  const props = { href: fragmentOf({ fn: state.fn, file, line }), tabIndex: -1, title: "link to this line" };
  if (line < 0) tr.classList.add("gone");
  const inside = (siteCalls.get(`${file}:${line}`) || []).some((c) => c.inlined);
  const cell = el("td", { className: inside ? "line inlined" : "line", title: [old > 0 && old !== line ? `line ${old} of the old source` : "", inside ? "code of other functions was inlined here" : ""].filter(Boolean).join("; ") }, line > 0 ? el("a", props, label) : label);
  tr.append(cell, code(text, runs));
  tr.lastChild.append(...lineCalls(file, line), ...editLink(file, line));
  if (state.q && text !== null && matcher()(text)) tr.classList.add("hit");
  return tr;
}

// editLink opens a line in an editor, if the report was asked to.
function editLink(file, line) {
  const path = D.files[file].path;
  if (!D.editor || !path || line < 1) return [];
  const href = D.editor.replace("/{file}", () => `/${encodeURI(path.replace(/^\//, ""))}`).replace("{file}", () => encodeURI(path)).replace("{line}", line);
  return [el("a", { className: "edit", href, tabIndex: -1, title: "open in the editor", "aria-label": `line ${line} in the editor` }, "✎")];
}

// lineCalls are the calls that a line makes.
function lineCalls(file, line) {
  const list = (siteCalls.get(`${file}:${line}`) || []).filter((c) => c.callee >= 0);
  if (list.length === 0) return [];
  const m = state.metric, sums = new Map();
  for (const c of list) {
    const s = sums.get(c.callee);
    sums.set(c.callee, s ? { n: c.n.map((n, side) => plus(s.n[side], n)), c: sumRow([s.c, c.c]), inlined: s.inlined && c.inlined } : { n: c.n, c: c.c, inlined: c.inlined });
  }
  const moved = ([, s]) => !D.diff || Number(val(s.c, m)) !== 0 || compare(s.n[0], s.n[1]) !== 0;
  const all = [...sums].filter(moved).sort(([, a], [, b]) => compare(size(val(b.c, m)), size(val(a.c, m))));
  return all.slice(0, 3).map(([callee, s]) => el("a", {
    className: "call", href: fragmentOf({ fn: callee }), tabIndex: -1,
    title: `${s.inlined ? "is where" : "calls"} ${D.funcs[callee].n} ${s.inlined ? "was inlined, which was entered" : ""} ${s.n.toReversed().map((n) => full(n)).join(" → ")} times: ${exact(s.c, m)}`.replace(/ +/g, " "),
  }, `${s.inlined ? INLINED : "▸"} ${D.funcs[callee].n} ${s.n.toReversed().map((n) => short(n).trim()).join("→")}× ${figure(val(s.c, m), m, D.diff).trim()}`));
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

// hottestOf returns the row of a function's hottest line: among those from its head on, unless one that was inlined from above it costs more
// than twice as much.
function hottestOf(f, rows) {
  const peak = (from) => {
    let best = -1, most = 0;
    rows.forEach((r, at) => {
      if (r.length === 1 || !r[3] || r[0] < from || r[0] > Math.max(f.e, f.l)) return;
      const c = Math.abs(amount(r[3], state.metric));
      if (c > most) [best, most] = [at, c];
    });
    return { best, most };
  };
  const own = peak(f.l), any = peak(f.s);
  const best = any.most > 2 * own.most ? any.best : own.best;
  return best >= 0 ? best : rows.findIndex((r) => r.length > 1 && r[0] >= f.l);
}

// target goes to the line that is meant, or to the one with counts next to it.
function target() {
  const t = shown.table, rows = t.list, f = D.funcs[state.fn];
  for (const tr of t.table.querySelectorAll("tr.target")) tr.classList.remove("target");
  if (rows.length === 0) return;
  let at = 0;
  if (state.line > 0) {
    at = rows.findIndex((r) => r.length > 1 && r[0] >= state.line);
    const exactly = rows.findIndex((r) => r.length > 1 && r[0] === state.line);
    if (exactly >= 0) at = exactly;
    if (at < 0) at = rows.length - 1;
  } else if (f && f.f === chosenFile() && f.l > 0) {
    at = hottestOf(f, rows);
  } else {
    within($("pane"), t.row(0));
    return;
  }
  const tr = t.row(Math.max(at, 0));
  tr.classList.add("target");
  within($("pane"), tr, true);
}

// Assembly: [address, file, line, text, counts], with the source in front of the instructions of each line.

function drawAssembly() {
  const pane = $("pane"), key = `asm ${state.fn} ${state.metric.id}`;
  if (shown.key === key) return;
  const list = [];
  let at = "";
  for (const row of D.asm[state.fn]) {
    if (at !== `${row[1]}:${row[2]}`) list.push({ file: row[1], line: row[2] });
    at = `${row[1]}:${row[2]}`;
    list.push(row);
  }
  const table = el("table", { className: "rows src" }, el("caption", { className: "hidden" }, `Instructions of ${D.funcs[state.fn].n}`));
  pane.replaceChildren(table);
  const t = new Table(table, pane, asmRow);
  t.set(list);
  shown = { key, table: null };
  let best = -1, most = 0;
  list.forEach((r, i) => {
    const c = Array.isArray(r) ? amount(r[4], state.metric) : 0;
    if (c > most) [best, most] = [i, c];
  });
  if (best >= 0) within(pane, t.row(best), true);
}

function asmRow(r) {
  const m = state.metric;
  if (!Array.isArray(r)) {
    const source = (rowsOf(r.file) || []).find((x) => x.length > 1 && x[0] === r.line);
    const cell = source ? code(source[1], source[2]) : el("td", { className: "code" });
    cell.classList.add("of");
    const label = `${fileLabel(r.file)}:${r.line}`;
    return el("tr", { className: "of" }, el("td"), el("td", { className: "line" },
      r.line > 0 ? el("a", { href: fragmentOf({ fn: state.fn, file: r.file, line: r.line, tab: "source" }), tabIndex: -1 }, label) : label), cell);
  }
  return warm(el("tr", {}, number(r[4], m), el("td", { className: "line" }, r[0]), el("td", { className: "code" }, r[3])), share(r[4], m));
}
