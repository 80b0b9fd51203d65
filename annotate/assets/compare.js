// Two profiles compared: this page's, and one from a file that the reader chooses, which is another page or a profile. What is shown then is what
// `cgemu diff --html` shows, made of what both hold. Nothing in the file is run, and nothing of it is more than text and numbers here.

let single = null; // the data of the page before it was compared

// The file.

async function readOther(file) {
  if (file.size > LARGEST) throw new Error(`${file.name} has ${full(file.size)} bytes, which is too much`);
  const text = await file.text();
  return /^\s*<!doctype html/i.test(text) ? readPage(text, file.name) : readProfile(text, file.name, new Date(file.lastModified).toISOString().slice(0, 10));
}

// readPage takes the data out of another page, which is not parsed otherwise: there is no < in it.
function readPage(text, name) {
  const page = new Map([...text.matchAll(/<script type="application\/json" id="([a-z0-9-]+)">([^<]*)<\/script>/g)].map(([, id, json]) => [id, json]));
  const read = (id) => { try { return JSON.parse(page.get(id)); } catch { return null; } };
  const d = read("data");
  if (!d || !Array.isArray(d.funcs)) throw new Error(`${name} is no page of cgemu annotate --html`);
  if (d.format !== D.format) throw new Error(`${name} was written by another version of cgemu: write it again, or choose the profile itself`);
  if (d.diff) throw new Error(`${name} is a comparison; a page of one profile is needed`);
  if (d.live) throw new Error(`${name} is a page that was served, which has no lines: --html writes one that has them`);
  Object.assign(d, { page, rest: read("rest") });
  if (!sound(d)) throw new Error(`${name} is damaged`);
  return d;
}

const isText = (x) => typeof x === "string";
const isCount = (x) => Number.isSafeInteger(x) || isText(x) && /^-?\d{1,1000}$/.test(x);
const isRow = (r, cols) => Array.isArray(r) && r.length === cols.length && r.every((x, i) => isCount(x) || cols[i].unit !== "" && (x === null || Number.isFinite(x)));

// sound reports whether data has the shape that a page's has: what is asked for by number is there, and texts and numbers are these.
function sound(d) {
  const list = (l, ok) => Array.isArray(l) && l.every(ok), within = (n, l, least = 0) => Number.isInteger(n) && n >= least && n < l.length;
  const row = (r) => isRow(r, d.cols), line = Number.isSafeInteger;
  return list(d.cols, (c) => isText(c?.name) && isText(c.unit)) && list(d.runs, (r) => isText(r?.n) && isText(r.cmd) && isText(r.date) && list(r.desc, isText)) && d.runs.length > 0 &&
    row(d.total) && list(d.objs, isText) && list(d.files, (f) => isText(f?.n) && isText(f.source) && row(f.c) && (f.rows === null || Array.isArray(f.rows) && f.rows.length === 0) && (f.notes === undefined || list(f.notes, isText))) &&
    list(d.funcs, (f) => isText(f?.n) && within(f.f, d.files) && within(f.b, d.objs, -1) && [f.l, f.s, f.e].every(line) && within(f.k, KINDS) && row(f.c) &&
      (f.i === undefined || row(f.i)) && (f.p === undefined || list(f.p, (p) => within(p?.[0], d.files) && line(p[1]) && row(p[2])))) &&
    list(d.calls, (c) => within(c?.[0], d.funcs, -1) && within(c[1], d.funcs, -1) && within(c[2], d.files, -1) && line(c[3]) && list(c[4], isCount) && c[4].length === 1 && row(c[5])) &&
    list(d.rest?.names, isText) && list(d.rest.funcs, (r) => isText(r?.[0]) && within(r[1], d.rest.names) && within(r[2], d.rest.names) && row(r[3]) && (r[4] === undefined || row(r[4])));
}

// soundRows is the same for the lines of a file.
const soundRows = (rows, cols) => Array.isArray(rows) && rows.every((r) => Array.isArray(r) && Number.isSafeInteger(r[0]) && (r.length === 1 || (r[1] === null || isText(r[1])) && isText(r[2]) &&
  (r.length === 3 || r[3] === null || isRow(r[3], cols))));

// Names.

// stripped is a function's name without what compilers add to it: hashes, and the suffixes of clones, as names.go has it.
const CLONE = "(?:llvm|constprop|isra|part|lto_priv)\\.[0-9]+|(?:cold|localalias)(?:\\.[0-9]+)?";
const HASHES = new RegExp(`::h[0-9a-f]{16}\\b|17h[0-9a-f]{16}E| \\[clone [^\\]]*\\]| \\(\\.(?:${CLONE})\\)|\\.(?:${CLONE})(?:$|\\b)`, "g");
const stripped = (name) => name.replace(HASHES, (s) => s.startsWith("17h") ? "E" : "");

// samePath is how many parts two paths have in common, from the end.
function samePath(a, b) {
  const x = a.split("/").reverse(), y = b.split("/").reverse();
  let n = 0;
  while (n < x.length && n < y.length && x[n] === y[n]) n++;
  return n;
}

// Pairs are [new, old], of which one may be missing. pairFiles matches files by their names, then those left over by the last parts of these.
function pairFiles(is, was) {
  const before = new Map(was.files.map((f, i) => [f.n, i])), pairs = [], rest = [];
  is.files.forEach((f, i) => {
    if (before.has(f.n)) pairs.push([i, before.get(f.n)]); else rest.push(i);
    before.delete(f.n);
  });
  const byBase = new Map();
  for (const [name, i] of before) byBase.set(base(name), [...(byBase.get(base(name)) || []), i]);
  const likely = rest.flatMap((i) => (byBase.get(base(is.files[i].n)) || []).slice(0, 100).map((j) => [i, j, samePath(is.files[i].n, was.files[j].n)]));
  const taken = new Set();
  for (const [i, j] of likely.sort((a, b) => b[2] - a[2])) {
    if (taken.has(`n${i}`) || taken.has(`o${j}`)) continue;
    taken.add(`n${i}`).add(`o${j}`);
    pairs.push([i, j]);
  }
  for (const i of rest) if (!taken.has(`n${i}`)) pairs.push([i, undefined]);
  for (const j of before.values()) if (!taken.has(`o${j}`)) pairs.push([undefined, j]);
  return pairs;
}

// members are the functions of one side: those on its page, and those below its threshold, which have no lines there.
function members(d) {
  return [
    ...d.funcs.map((f, at) => ({ n: f.n, file: d.files[f.f].n, object: f.b >= 0 ? d.objs[f.b] : "", c: f.c, i: f.i, f, at })),
    ...d.rest.funcs.map(([n, object, file, c, i]) => ({ n, file: d.rest.names[file], object: d.rest.names[object], c, i, f: null, at: -1 })),
  ];
}

// pairFunctions returns groups of functions that are one: of the same name, file and object, as far as builds in different directories leave these;
// with a call graph on one side only, of the same name. What is left over on both sides, once, is a function that was moved.
function pairFunctions(is, was, graph) {
  const groups = new Map(), moved = new Map();
  [is, was].forEach((d, side) => {
    for (const m of members(d)) {
      const key = graph ? [base(m.object), base(m.file), stripped(m.n)].join("\n") : stripped(m.n);
      if (!groups.has(key)) groups.set(key, [[], []]);
      groups.get(key)[side].push(m);
    }
  });
  for (const [key, g] of groups) {
    const side = g[1].length === 0 ? 0 : g[0].length === 0 ? 1 : -1;
    if (side < 0 || g[side][0].n.startsWith("???")) continue;
    const name = stripped(g[side][0].n);
    if (!moved.has(name)) moved.set(name, [[], []]);
    moved.get(name)[side].push(key);
  }
  for (const [news, olds] of moved.values()) {
    if (news.length !== 1 || olds.length !== 1) continue;
    groups.get(news[0])[1] = groups.get(olds[0])[1];
    groups.delete(olds[0]);
  }
  return [...groups.values()];
}

// The comparison.

// compared returns the data of what differs between two profiles: the new one less the old.
function compared(is, was) {
  const shared = is.cols.map((c, i) => [i, was.cols.findIndex((o) => o.name === c.name && !o.unit)]).filter(([i, j]) => j >= 0 && !is.cols[i].unit);
  if (shared.length === 0) throw new Error("the two profiles have no event in common");
  const c = { sides: [is, was], shared, graph: is.graph && was.graph, files: pairFiles(is, was), at: [new Map(), new Map()], objs: [] };
  const own = single; // what the reader's page says of columns and editors
  const d = {
    format: D.format, diff: true, compare: c, runs: [was.runs.at(-1), is.runs.at(-1)], cols: shared.map(([i, j]) => ({ ...(own === is ? is.cols[i] : was.cols[j]) })), total: joined(c, is.total, was.total),
    objs: c.objs, files: c.files.map((pair) => comparedFile(c, pair, own)), graph: c.graph, asm: {}, editor: own.editor, dirs: own.dirs,
  };
  d.show = d.cols.map((_, i) => i);
  d.sort = Math.max(0, d.cols.findIndex((col) => col.name === own.cols[own.sort].name));
  c.files.forEach((pair, file) => pair.forEach((i, side) => { if (i !== undefined) c.at[side].set(c.sides[side].files[i].n, file); }));
  const moves = (row) => d.cols.some((_, i) => row && compare(row[i], row[d.cols.length + i]) !== 0);
  const all = pairFunctions(is, was, c.graph).map((g) => comparedFunction(c, d, g)), kept = all.filter((f) => moves(f.c) || moves(f.i)), rest = all.filter((f) => !moves(f.c) && !moves(f.i));
  const delta = (f) => size(plus(f.c[d.sort], f.c[d.cols.length + d.sort], -1)), order = new Map(kept.map((f) => [f, delta(f)]));
  d.funcs = kept.sort((a, b) => compare(order.get(b), order.get(a)) || (a.n < b.n ? -1 : a.n > b.n ? 1 : 0));
  const sum = (list) => d.total.map((_, i) => list.reduce((s, f) => plus(s, f.c[i]), 0));
  d.omitted = { n: rest.length, c: sum(rest) };
  d.calls = c.graph ? comparedCalls(c, d) : [];
  d.notes = comparedNotes(c, d, sum(all));
  return d;
}

// joined is a row of a comparison: the new counts, and the old ones, of the events that both sides have.
const joined = (c, is, was) => [...c.shared.map(([i]) => is ? is[i] : 0), ...c.shared.map(([, j]) => was ? was[j] : 0)];

function comparedFile(c, [i, j], own) {
  const [is, was] = c.sides, f = is.files[i], o = was.files[j], shown = f || o;
  const file = { n: shown.n, source: f && (f.source === "read" || !o) ? f.source : o.source, c: joined(c, f?.c, o?.c), rows: null, sides: [i, j], notes: [...new Set([...(f?.notes || []), ...(o?.notes || [])])] };
  if (f && o && f.n !== o.n) file.o = o.n;
  if (f?.own || o?.own) file.own = true;
  if (own === is && f?.path) file.path = f.path;
  const text = (x) => x?.source === "read";
  if (f && o && file.source !== "unknown" && !(text(f) && text(o))) file.notes.push("Lines are matched by their numbers, as only pages with sources have texts: where lines were added or removed they are not the same.");
  return file;
}

// comparedFunction makes one function of a group.
function comparedFunction(c, d, [news, olds]) {
  const first = news.find((m) => m.f) || olds.find((m) => m.f) || news[0] || olds[0], side = news.includes(first) ? 0 : 1;
  const sum = (list, key) => list.reduce((s, m) => s ? s.map((x, i) => plus(x, m[key]?.[i] ?? 0)) : m[key], null);
  const f = { n: first.n, b: numberOf(d.objs, c, first.object), f: fileNumber(c, d, side, first.file), l: 0, s: 0, e: 0, c: joined(c, sum(news, "c"), sum(olds, "c")) };
  if (first.f) Object.assign(f, { l: first.f.l, s: first.f.s, e: first.f.e }, first.f.y ? { y: first.f.y } : {});
  f.k = [...news, ...olds].find((m) => m.f?.k !== undefined)?.f.k ?? (d.files[f.f].own ? OWN : LIBRARY);
  const old = olds.length === 1 && news.length === 1 ? olds[0].n : f.n;
  if (old !== f.n) f.o = old;
  if (c.graph) f.i = joined(c, sum(news, "i"), sum(olds, "i"));
  const parts = new Map();
  [news, olds].forEach((list, which) => list.forEach((m) => {
    for (const [file, line, row] of m.f?.p ? m.f.p.map(([at, ...rest]) => [c.sides[which].files[at].n, ...rest]) : [[m.file, m.f?.s ?? 0, m.c]]) {
      const at = fileNumber(c, d, which, file), joint = which === 0 ? joined(c, row, null) : joined(c, null, row), p = parts.get(at);
      parts.set(at, p ? [at, p[1] || line, p[2].map((x, i) => plus(x, joint[i]))] : [at, line, joint]);
    }
  }));
  if (parts.size > 1) f.p = [...parts.values()];
  // Which side's page says nothing of its lines and calls.
  f.hidden = [news, olds].map((list) => list.some((m) => !m.f));
  f.at = [news, olds].map((list) => list.map((m) => m.at).filter((at) => at >= 0));
  return f;
}

function numberOf(objs, c, name) {
  if (name === "") return -1;
  c.objects ??= new Map();
  if (!c.objects.has(base(name))) c.objects.set(base(name), objs.push(name) - 1);
  return c.objects.get(base(name));
}

// fileNumber is the number of a file of one side, which is added if neither page has it: that of a function below the threshold.
function fileNumber(c, d, side, name) {
  const known = c.at[side].get(name) ?? c.at[1 - side].get(name);
  if (known !== undefined) return known;
  c.at[side].set(name, d.files.length);
  return d.files.push({ n: name, source: name === "???" ? "unknown" : "off", c: joined(c, null, null), rows: [], notes: [] }) - 1;
}

// comparedCalls adds up the calls of both sides. Those of functions that one side's page has not, as they are below its threshold, are calls of
// others: whether there were any on that side is not known.
function comparedCalls(c, d) {
  const at = [new Map(), new Map()], sums = new Map();
  d.funcs.forEach((f, i) => { if (!f.hidden[0] && !f.hidden[1]) f.at.forEach((list, side) => list.forEach((m) => at[side].set(m, i))); });
  c.sides.forEach((s, side) => s.calls.forEach(([caller, callee, file, line, n, row, inlined]) => {
    const from = at[side].get(caller) ?? -1, to = at[side].get(callee) ?? -1, both = from >= 0 && to >= 0;
    if (from < 0 && to < 0) return;
    const place = both && file >= 0 ? c.at[side].get(s.files[file].n) : -1, mark = both && inlined === 1 ? [1] : [], key = [from, to, place, both ? line : 0, mark].join();
    if (!sums.has(key)) sums.set(key, [from, to, place, both ? line : 0, [0, 0], joined(c, null, null), ...mark]);
    const sum = sums.get(key), joint = side === 0 ? joined(c, row, null) : joined(c, null, row);
    sum[4][side] = plus(sum[4][side], n[0]);
    sum[5] = sum[5].map((x, i) => plus(x, joint[i]));
  }));
  return [...sums.values()];
}

// comparedNotes say what could not be compared.
function comparedNotes(c, d, sum) {
  const notes = [], names = c.sides.map((s, side) => `${base(s.runs.at(-1).n)} (${side ? "old" : "new"})`);
  for (const [side, other] of [[0, 1], [1, 0]]) {
    const alone = c.sides[side].cols.filter((col) => !col.unit && !c.sides[other].cols.some((o) => o.name === col.name));
    if (alone.length > 0) notes.push(`Only ${names[side]} has ${alone.map((col) => col.name).join(", ")}.`);
    const missing = plus(d.total[side * d.cols.length + d.sort], sum[side * d.cols.length + d.sort], -1);
    if (Number(missing) !== 0) notes.push(`${names[side]} was written without some functions (--only, --focus): ${full(missing)} ${d.cols[d.sort].name} are not compared, and what the other one has of these looks ${side ? "new" : "gone"}.`);
    if (c.sides[other].graph && !c.sides[side].graph) notes.push(`${names[side]} has no calls here: who calls whom is not compared.`);
    const hidden = d.funcs.filter((f) => f.hidden[side] && f.at[other].length > 0).length;
    if (hidden > 0) notes.push(`Below the threshold of the page of ${names[side]}: ${full(hidden)} of these functions. Their counts are compared, but it has neither their lines, which look ${side ? "new" : "gone"}, nor their calls.`);
  }
  return notes;
}

// The lines of a file.

// matchLines returns which lines of a new text those of an old one are; both are [line, text], as far as pages have them. It is a patience diff: lines that
// both have once are matched, in the longest order that they share, and what is equal around them. Where as many lines lie between two matches
// on both sides they are taken for changed ones.
function matchLines(old, now) {
  const pairs = [[0, 0]];
  const match = (i, iEnd, j, jEnd) => {
    for (; i < iEnd && j < jEnd && old[i][1] === now[j][1]; i++, j++) pairs.push([old[i][0], now[j][0]]);
    const tail = [];
    for (; i < iEnd && j < jEnd && old[iEnd - 1][1] === now[jEnd - 1][1];) tail.push([old[--iEnd][0], now[--jEnd][0]]);
    const found = i < iEnd && j < jEnd ? anchors(old, i, iEnd, now, j, jEnd) : [];
    for (const [a, b] of found) {
      match(i, a, j, b);
      pairs.push([old[a][0], now[b][0]]);
      [i, j] = [a + 1, b + 1];
    }
    if (found.length > 0) match(i, iEnd, j, jEnd);
    pairs.push(...tail.reverse());
  };
  match(0, old.length, 0, now.length);
  return pairs;
}

function anchors(old, i, iEnd, now, j, jEnd) {
  const once = (list, from, to) => {
    const at = new Map();
    for (let k = from; k < to; k++) at.set(list[k][1], at.has(list[k][1]) ? -1 : k);
    return at;
  };
  const there = once(now, j, jEnd), list = [...once(old, i, iEnd)].filter(([text, k]) => k >= 0 && there.get(text) >= 0).map(([text, k]) => [k, there.get(text)]);
  const tails = [], before = []; // the longest list that ascends
  list.sort((a, b) => a[0] - b[0]).forEach(([, b], k) => {
    let lo = 0, hi = tails.length;
    while (lo < hi) { const mid = (lo + hi) >> 1; if (list[tails[mid]][1] < b) lo = mid + 1; else hi = mid; }
    before[k] = lo > 0 ? tails[lo - 1] : -1;
    tails[lo] = k;
  });
  const best = [];
  for (let k = tails.at(-1) ?? -1; k >= 0; k = before[k]) best.unshift(list[k]);
  return best;
}

// lineAt looks a line up in pairs by one side of them, and returns that of the other side, -1 for none.
function lineAt(pairs, line, side) {
  if (line <= 0) return line;
  let lo = 0, hi = pairs.length;
  while (lo < hi) { const mid = (lo + hi) >> 1; if (pairs[mid][side] <= line) lo = mid + 1; else hi = mid; }
  const p = pairs[lo - 1], next = pairs[lo], other = p[1 - side] + line - p[side];
  return p[side] === line || next && next[side] - p[side] === next[1 - side] - p[1 - side] ? other : -1;
}

const lastLine = (rows) => rows.reduce((n, r) => r.length === 1 ? n + r[0] : Math.max(n, r[0]), 0);

// comparedLines makes the rows of a file of those that both sides have, which may be missing.
function comparedLines(c, now, old) {
  const numbered = (rows) => (rows || []).filter((r) => r.length > 1);
  const texts = (rows) => numbered(rows).filter((r) => r[0] > 0 && r[1] !== null).map((r) => [r[0], r[1]]);
  const a = texts(old), b = texts(now), byText = a.length > 0 && b.length > 0;
  const pairs = byText ? [...matchLines(a, b), [lastLine(old) + 1, lastLine(now) + 1]] : null;
  const at = (line) => !now ? -1 : pairs ? lineAt(pairs, line, 0) : line, back = (line) => !old ? -1 : pairs ? lineAt(pairs, line, 1) : line;
  const lines = new Map(numbered(now).map((r) => [r[0], [r[0], r[1], r[2], ...(r[3] ? [joined(c, r[3], null), back(r[0])] : [])]])), gone = [];
  let place = 0;
  for (const [line, text, runs, row] of numbered(old)) {
    const to = at(line);
    if (to >= 0) place = to;
    if (!row) continue;
    if (to < 0) { gone.push([place, [-1, text, runs, joined(c, null, row), line]]); continue; }
    const l = lines.get(to) || [to, text, runs];
    lines.set(to, [to, l[1] ?? text, l[1] === null ? runs : l[2], l[3] ? l[3].map((x, i) => plus(x, joined(c, null, row)[i])) : joined(c, null, row), line]);
  }
  const all = [...[...lines].map(([n, r]) => [n, r]), ...gone].sort((x, y) => x[0] - y[0] || (x[1][0] < 0) - (y[1][0] < 0));
  const rows = [], whole = byText || b.length > 0 ? lastLine(now) : 0, before = new Map(byText ? a : []);
  let last = 0;
  for (const [n, r] of all) {
    const left = n - last - (r[0] < 0 ? 0 : 1);
    if (whole > 0 && left > 0) rows.push([left]);
    last = Math.max(last, n);
    const was = r[0] > 0 && r[3] ? before.get(r[4]) : undefined;
    if (was !== undefined && was !== r[1]) rows.push([-1, was, "", null, r[4]]); // what a changed line was
    rows.push(r);
  }
  if (whole > last) rows.push([whole - last]);
  return rows;
}
