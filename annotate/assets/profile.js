// Profiles as Cachegrind and Callgrind write them, read as far as a comparison needs: what lines and functions cost, without calls.

const LARGEST = 512 << 20; // bytes of a file that is read

// readProfile returns the data of a page that has no sources. Date is the day when the profile was written. What is wrong is an error that says in which line.
function readProfile(text, name, date) {
  const p = {
    name, date, callgrind: !/^(desc|cmd):/.test(text), at: 0, cmd: "", desc: [], events: null, total: null, sums: [], summary: null,
    file: "???", home: "???", fn: "???", names: { file: new Map(), fn: new Map() }, columns: 1, last: [0, 0], after: "",
    files: new Map(), funcs: new Map(),
  };
  for (let from = 0; from < text.length;) {
    const end = text.indexOf("\n", from), to = end < 0 ? text.length : end;
    p.at++;
    profileLine(p, text.slice(from, to).trim());
    from = to + 1;
  }
  if (!p.events) throw new Error(`${name} is no page of cgemu annotate --html, and no profile: it has no line “events:”`);
  if (p.summary && p.summary.some((c, i) => compare(c, p.sums[i]) !== 0)) throw new Error(`${name}: its summary is not the sum of its lines: ${p.summary.join(" ")}, not ${p.sums.join(" ")}`);
  return dataOf(p);
}

function wrong(p, text) { throw new Error(`${p.name}:${p.at}: ${text}`); }

function profileLine(p, line) {
  if (line === "" || line.startsWith("#")) return;
  if (/^[0-9+*-]/.test(line)) return costs(p, line);
  const [, key, sign, value] = /^([a-z]+)([:=])\s*(.*)$/.exec(line) || wrong(p, `malformed line: ${line.slice(0, 100)}`);
  if (sign === ":") profileHeader(p, key, value); else profileName(p, key, value);
}

function profileHeader(p, key, value) {
  const numbers = () => value.split(/\s+/).map((n) => count(p, n));
  if (key === "desc") p.desc.push(value);
  else if (key === "cmd") p.cmd ||= value;
  else if (key === "summary" && !p.callgrind) p.summary = numbers();
  else if (key === "positions") Object.assign(p, { instructions: value === "instr", columns: value === "instr line" ? 2 : 1, last: [0, 0] });
  else if (key === "events") {
    const events = value.split(/\s+/).filter(Boolean);
    if (events.length === 0) wrong(p, "no events");
    if (p.events && p.events.join() !== events.join()) wrong(p, "its parts have different events");
    if (!p.events) Object.assign(p, { events, sums: events.map(() => 0) });
  }
}

// profileName takes what says where the following costs are. (3) main gives a name a number, (3) stands for it.
function profileName(p, key, value) {
  const named = (map) => {
    const [, number, rest] = /^\((\d+)\)\s*(.*)$/.exec(value) || [];
    if (number === undefined || !p.callgrind) return value;
    if (rest) map.set(number, rest);
    return map.get(number) ?? wrong(p, `name (${number}) was not given before`);
  };
  if (key === "fl") p.file = p.home = named(p.names.file);
  else if (key === "fi" || key === "fe") p.file = named(p.names.file);
  else if (key === "fn") [p.fn, p.file] = [named(p.names.fn), p.home];
  else if (key === "cfi" || key === "cfl" || key === "jfi") named(p.names.file);
  else if (key === "cfn" || key === "jfn") named(p.names.fn);
  else if (key === "calls" || key === "jump" || key === "jcnd") p.after = key;
  else if (key !== "ob" && key !== "cob") wrong(p, `malformed line: ${key}=`);
}

const count = (p, text) => /^-?\d+$/.test(text) ? (text.length < 16 ? Number(text) : fit(BigInt(text))) : wrong(p, `${text.slice(0, 40)} is no count`);

// costs takes a line with a position and counts; that behind a call or a jump is not the function's own.
function costs(p, line) {
  if (!p.events) wrong(p, "missing an “events:” line");
  const fields = line.split(/\s+/);
  for (let i = 0; i < p.columns; i++) {
    const [, sign, digits] = /^([+-]?)(0x[0-9a-f]+|\d+)$/i.exec(fields[i] ?? "") || (fields[i] === "*" ? ["", "+", "0"] : wrong(p, `${fields[i]} is no position`));
    p.last[i] = sign ? p.last[i] + (sign === "-" ? -1 : 1) * Number(digits) : Number(digits);
  }
  const { after } = p, counts = fields.slice(p.columns).map((n) => count(p, n));
  p.after = "";
  if (after) return;
  if (counts.length > p.events.length) wrong(p, `${counts.length} counts for ${p.events.length} events`);
  const row = p.events.map((_, i) => counts[i] ?? 0), number = p.instructions ? 0 : p.last[p.columns - 1];
  const into = (map, key, make) => { if (!map.has(key)) map.set(key, make()); return map.get(key); };
  const add = (to) => { for (let i = 0; i < row.length; i++) to[i] = plus(to[i], row[i]); };
  const zeros = () => row.map(() => 0);
  const file = into(p.files, p.file, () => ({ c: zeros(), lines: new Map() }));
  const fn = into(into(p.funcs, p.fn, () => new Map()), p.file, () => ({ c: zeros(), first: number, last: number }));
  for (const to of [p.sums, file.c, into(file.lines, number, zeros), fn.c]) add(to);
  fn.first = Math.min(fn.first, number);
  fn.last = Math.max(fn.last, number);
}

// dataOf makes of a profile what a page holds.
function dataOf(p) {
  const numbers = new Map([...p.files.keys()].map((name, i) => [name, i]));
  const files = [...p.files].map(([n, f]) => ({ n, source: "off", c: f.c, rows: [...f.lines].sort((a, b) => a[0] - b[0]).map(([line, c]) => [line, null, "", c]) }));
  const funcs = [...p.funcs].map(([n, parts]) => {
    const list = [...parts].sort(([, a], [, b]) => compare(b.c[0], a.c[0])), [home, h] = list[0];
    const f = { n, b: -1, f: numbers.get(home), l: h.first, s: h.first, e: h.last, c: p.events.map((_, i) => list.reduce((s, [, part]) => plus(s, part.c[i]), 0)) };
    if (list.length > 1) f.p = list.map(([file, part]) => [numbers.get(file), part.first, part.c]);
    return f;
  });
  return {
    format: D.format, diff: false, runs: [{ n: p.name, cmd: p.cmd, date: p.date, desc: p.desc }], cols: p.events.map((name) => ({ name, title: "", unit: "" })), total: p.sums,
    objs: [], files, funcs, graph: false, calls: [], rest: { names: [], funcs: [] },
  };
}
