// The report, its numbers and the events to look at. All that is shown is in the JSON of #data; htmldata.go describes it. Text gets into the
// page as text nodes and attributes only, never as HTML.

const $ = (id) => document.getElementById(id);
let D = JSON.parse($("data").textContent);
const NEW = 0, OLD = 1, DELTA = 2; // sides of a count
let PART = NEW; // what is sorted and coloured by

const OWN = 0, LIBRARY = 1, LOADER = 2, UNKNOWN = 3; // whose code a function is
const KINDS = ["your code", "libraries", "loader", "unknown"];

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

const fit = (b) => b > -9007199254740992n && b < 9007199254740992n ? Number(b) : String(b);

// plus returns a + sign * b.
function plus(a, b, sign = 1) {
  if (typeof a === "number" && typeof b === "number") {
    const s = a + sign * b;
    if (Number.isSafeInteger(s)) return s;
  }
  if (a === null || b === null) return null;
  return Number.isInteger(Number(a)) && Number.isInteger(Number(b)) ? fit(BigInt(a) + BigInt(sign) * BigInt(b)) : Number(a) + sign * Number(b);
}

// compare orders two counts; large ones exactly.
function compare(a, b) {
  const d = Number(a) - Number(b);
  if (d !== 0 || (typeof a !== "string" && typeof b !== "string")) return d || 0;
  const x = BigInt(a), y = BigInt(b);
  return x < y ? -1 : x > y ? 1 : 0;
}

const size = (c) => typeof c === "string" ? c.replace("-", "") : Math.abs(c);

// val returns the count of an event in a row of numbers, which may be missing.
function val(row, m, part = PART) {
  if (!row || (part === OLD && !D.diff)) return 0;
  if (part === DELTA) return plus(val(row, m, NEW), val(row, m, OLD), -1);
  const from = part * D.cols.length;
  if (m.unit) return row[from + m.terms[0][0]];
  let sum = 0;
  for (const [col, weight] of m.terms) {
    const c = row[from + col];
    sum += typeof c === "string" ? NaN : weight * c;
  }
  if (Number.isSafeInteger(sum)) return sum;
  return fit(m.terms.reduce((s, [col, weight]) => s + BigInt(weight) * BigInt(row[from + col]), 0n));
}

// amount returns the same as a number that pictures are drawn by.
const amount = (row, m, part = PART) => Number(val(row, m, part)) || 0;

const minus = (text) => text.replace("-", "−");
const THIN = "\u202f"; // stands between a number and its unit

// short returns a count with three significant digits.
function short(c, signed) {
  if (c === null || Number.isNaN(c)) return "–";
  let x = Math.abs(Number(c)), unit = 0;
  const sign = Number(c) < 0 ? "−" : signed && x > 0 ? "+" : "";
  if (x < 1000) return sign + (Number.isInteger(x) ? x : x.toFixed(2)) + THIN + "\u2007"; // as wide as those with a unit
  while (x >= 999.5 && unit < 6) {
    x /= 1000;
    unit++;
  }
  const text = x >= 1e6 ? x.toExponential(2) : x.toFixed(x < 9.995 ? 2 : x < 99.95 ? 1 : 0);
  return sign + text + THIN + "kMGTPE"[unit - 1];
}

// full returns a count with all its digits.
function full(c, signed, unit) {
  if (c === null || Number.isNaN(c)) return "–";
  const sign = signed && Number(c) > 0 ? "+" : "";
  if (unit === "percent") return minus(sign + c.toFixed(2) + "%");
  const text = unit ? String(Math.round(c)) : String(c);
  return minus(sign + text.replace(/\B(?=(\d{3})+$)/g, ","));
}

// figure is a count as a column has it, said in the units of its event.
const figure = (c, m, signed) => m.unit === "percent" ? full(c, signed, m.unit) : short(m.unit ? Math.round(c) : c, signed);

// whole is the total that shares are of: in a comparison the old one, or the new one if there was nothing.
function whole(m) {
  if (PART === NEW) return amount(D.total, m, NEW);
  return amount(D.total, m, OLD) || amount(D.total, m, NEW);
}

// share returns what part of the total a row has, 0 to 1; negative for what became less.
function share(row, m) {
  const all = whole(m);
  return m.unit || all === 0 ? 0 : amount(row, m) / all;
}

function percent(part, signed) {
  const p = 100 * part;
  const sign = p < 0 ? "−" : signed && p > 0 ? "+" : "";
  const x = Math.abs(p);
  if (x === 0) return "0";
  if (x < 0.05) return "<0.1";
  return sign + (x < 999.95 ? x.toFixed(1) : x.toFixed(0));
}

// heat is how much colour a share gets: by the square root, so that 1 % is seen and 0.1 % is not. In a comparison the largest change,
// unless it is noise, gets all of it.
let hottest = 1;
function heat(part) {
  const s = Math.abs(part) / (D.diff ? Math.max(hottest, 0.01) : 1);
  return s < 0.004 ? 0 : Math.min(1, 0.04 + Math.sqrt(s));
}

// Events. A metric is an event, or what several of them add up to: terms are columns and weights, of is what a rate is taken of.

let METRICS = []; // all; those with main are the first to choose from

function makeMetrics() {
  const at = (name) => D.cols.findLastIndex((c, i) => c.name === name && !c.unit && D.show.includes(i));
  const terms = (names) => names.map((n) => at(n)).filter((i) => i >= 0).map((i) => [i, 1]);
  METRICS = [];
  const known = new Set();
  const add = (id, name, title, of, ofText, ...names) => {
    names.forEach((n) => known.add(n));
    if (names.every((n) => at(n) < 0)) return;
    const whole = of.every((n) => at(n) >= 0) ? terms(of) : [];
    METRICS.push({ id, name, title, terms: terms(names), of: whole, ofText, unit: "", main: true });
  };
  add("instructions", "Instructions", "instructions executed", [], "", "Ir");
  add("d1", "D1 misses", "data reads and writes that missed the first-level cache", ["Dr", "Dw"], "of data accesses", "D1mr", "D1mw");
  add("ll", "LL misses", "instruction fetches, data reads and writes that missed the last-level cache: they go to memory", ["Ir", "Dr", "Dw"],
    "of all accesses", "ILmr", "DLmr", "DLmw");
  add("mispredictions", "Mispredictions", "conditional and indirect branches that were mispredicted", ["Bc", "Bi"], "of branches", "Bcm", "Bim");
  addCycles(at);
  for (const n of ["I1mr", "Dr", "Dw", "Bc", "Bi", "Cy"]) known.add(n);
  const others = D.show.filter((i) => !known.has(D.cols[i].name) && !D.cols[i].unit);
  const single = (i, main) => {
    const { name, title, unit } = D.cols[i];
    METRICS.push({ id: name, name, title, terms: [[i, 1]], of: [], ofText: "", unit, main });
  };
  for (const i of others.slice(0, 4)) single(i, true);
  if (METRICS.length === 0) single(D.show[0], true);
  for (const i of D.show) {
    if (!METRICS.some((m) => m.main && m.terms.length === 1 && m.terms[0][0] === i && m.terms[0][1] === 1)) single(i, false);
  }
}

// addCycles adds the estimate that KCachegrind makes, or the profile's own.
function addCycles(at) {
  const title = "cycles, estimated: an instruction 1, a first-level miss or a misprediction 10, a last-level miss 100";
  const weights = { Ir: 1, I1mr: 10, D1mr: 10, D1mw: 10, ILmr: 100, DLmr: 100, DLmw: 100, Bcm: 10, Bim: 10 };
  const terms = at("Cy") >= 0 ? [[at("Cy"), 1]] : Object.entries(weights).map(([n, w]) => [at(n), w]).filter(([i]) => i >= 0);
  if (at("Cy") < 0 && (at("Ir") < 0 || at("DLmr") < 0)) return;
  METRICS.push({ id: "cycles", name: "Cycles", title, terms, of: at("Ir") >= 0 ? [[at("Ir"), 1]] : [], ofText: "for each instruction", unit: "", main: true });
}

// firstMetric is the one for the column that the report is sorted by.
const firstMetric = () => METRICS.find((m) => m.terms.length === 1 && m.terms[0][0] === D.sort) || METRICS[0];

// rate is what a metric is of another, in words; "" if that says nothing.
function rate(m, part) {
  if (m.of.length === 0) return "";
  const of = amount(D.total, { terms: m.of, unit: "" }, part);
  if (of <= 0 || amount(D.total, m, part) < 0) return "";
  const r = amount(D.total, m, part) / of;
  return m.id === "cycles" ? `${r.toFixed(2)} ${m.ofText}` : `${100 * r < 0.01 && r > 0 ? "<0.01" : 100 * r < 10 ? (100 * r).toPrecision(2) : (100 * r).toFixed(0)}${THIN}% ${m.ofText}`;
}

// The lines of files stand behind the script, lest a large page shows nothing for long. While it is loading none of them are there, or a part of one.
const loading = () => document.readyState === "loading";
const loaded = new Promise((done) => { if (loading()) document.addEventListener("DOMContentLoaded", done); else done(); });

// rowsOf returns the lines of a file, null if they are not there yet or have to be asked for. They are read when they are wanted first: most are not.
function rowsOf(file, d = D) {
  const f = d.files[file];
  if (f.rows !== null) return f.rows;
  if (f.sides) { // a comparison that was made here
    const [now, old] = d.compare.sides.map((s, side) => f.sides[side] === undefined ? undefined : rowsOf(f.sides[side], s));
    if (now !== null && old !== null) f.rows = comparedLines(d.compare, now, old);
  } else if (d.page) { // of another page
    try { f.rows = JSON.parse(d.page.get(`rows-${file}`)); } catch { f.rows = []; }
    if (!soundRows(f.rows, d.cols)) f.rows = [];
  } else if (!d.live && !loading() && $(`rows-${file}`)) {
    f.rows = JSON.parse($(`rows-${file}`).textContent);
  }
  return f.rows;
}

// Names.

// apart returns the ends of paths by which they can be told from each other.
function apart(names) {
  for (let n = 1; ; n++) {
    const ends = names.map((name) => name.split("/").slice(-n).join("/"));
    if (new Set(ends).size === new Set(names).size) return ends;
  }
}

const base = (name) => name.slice(name.lastIndexOf("/") + 1) || name;
let names, files, bases; // functions by name: the first, which is the hottest; files by name, and by its last part if that is unique
let callers, callees, siteCalls, lines; // calls by function, and by place; the lines of files

function index() {
  PART = D.diff ? DELTA : NEW;
  makeMetrics();
  names = new Map();
  D.funcs.forEach((f, i) => { if (!names.has(f.n)) names.set(f.n, i); });
  files = new Map(D.files.map((f, i) => [f.n, i]));
  bases = new Map();
  D.files.forEach((f, i) => bases.set(base(f.n), bases.has(base(f.n)) ? -1 : i));
  callers = new Map();
  callees = new Map();
  siteCalls = new Map();
  const into = (map, key, c) => { if (!map.has(key)) map.set(key, []); map.get(key).push(c); };
  for (const [caller, callee, file, line, n, c, inlined] of D.calls) {
    const call = { caller, callee, file, line, n, c, inlined: inlined === 1 };
    into(callers, callee, call);
    into(callees, caller, call);
    if (file >= 0) into(siteCalls, `${file}:${line}`, call);
  }
}

// fileLabel is the name of a file in links: its last part if no other has it.
const fileLabel = (i) => bases.get(base(D.files[i].n)) === i ? base(D.files[i].n) : D.files[i].n;

// functionLabel is that of a function: its name if it is the first of that name.
function functionLabel(i) {
  const f = D.funcs[i];
  if (names.get(f.n) === i) return f.n;
  const label = `${fileLabel(f.f)}:${f.n}`;
  return D.funcs.findIndex((g) => g.n === f.n && g.f === f.f) === i ? label : `${i}:${f.n}`;
}

// place is where a function begins, for people.
function place(f) {
  const name = D.files[f.f].n;
  if (name === "???") return f.b >= 0 ? base(D.objs[f.b]) : "";
  return fileLabel(f.f) + (f.l > 0 ? `:${f.l}` : "");
}

// inclusive returns the row of a function with what it calls; without a call graph there is none.
const inclusive = (f) => f.i || null;

// kind says whose code a function is, by what the reader chose.
function kind(f) {
  const own = state.own === "all" ? D.files[f.f].source === "read" :
    state.own === "object" ? f.b >= 0 && base(D.objs[f.b]) === program() : f.k === OWN;
  if (own) return OWN;
  return f.k === OWN ? LIBRARY : f.k;
}

// program is the name of what was run.
const program = () => base((D.runs.at(-1)?.cmd || "").split(" ")[0]);
