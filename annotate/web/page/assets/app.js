"use strict";
// The page of `make web`. It hands the files that are dropped on it to a program in Go, which runs in a worker, and shows what that makes
// of them: a page in a frame, or text. Names get into the page as text only, never as HTML.

const $ = (id) => document.getElementById(id);
const MAX_FILES = 200000; // that are taken of one drop
const MAX_SHOWN = 2 << 20; // characters of a text that are shown

const state = {
  profiles: [], // File objects, the old one first
  sources: [], // { name, folder, side, files: [{ path, file }] }: the last one that has a file counts
  worker: null, // at work
  url: "", // of what is shown, to be saved
};

function el(tag, props, ...children) {
  const e = Object.assign(document.createElement(tag), props);
  e.append(...children);
  return e;
}

const plural = (n) => n === 1 ? "1 file" : `${n} files`;
const say = (text) => { $("status").textContent = text; };
const complain = (text) => { $("problem").textContent = text; };

// The program.

// program returns the program, which is in the page as gzip in base64.
let compiled; // a promise of it
function program() {
  compiled ??= (async () => {
    const bytes = Uint8Array.from(atob($("program").textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return WebAssembly.compile(await new Response(stream).arrayBuffer());
  })();
  return compiled;
}

function stop() {
  state.worker?.terminate();
  state.worker = null;
  busy(false);
}

function busy(on) {
  $("cancel").hidden = !on;
  $("report").ariaBusy = String(on);
}

// run resolves to what the program makes of a job; never if it is stopped.
function run(module, job) {
  const url = URL.createObjectURL(new Blob([$("worker").textContent], { type: "text/javascript" }));
  const worker = state.worker = new Worker(url);
  return new Promise((resolve) => {
    const done = (result) => {
      URL.revokeObjectURL(url);
      if (state.worker === worker) resolve(result);
    };
    worker.onmessage = (e) => done(e.data);
    worker.onerror = (e) => done({ error: `the report could not be made: ${e.message}` });
    worker.postMessage({ module, job });
  });
}

let turn = 0; // of what was asked for last, or cancelled
async function update() {
  const mine = ++turn;
  stop();
  list();
  complain("");
  if (state.profiles.length === 0) return show(null);
  if (!$("options").checkValidity()) return say("");
  say("Reading…");
  busy(true);
  let result;
  try {
    const module = await program();
    if (mine !== turn) return;
    result = await run(module, {
      profiles: state.profiles, diff: isDiff(), format: format(), threshold: $("threshold").valueAsNumber, context: $("context").valueAsNumber,
      stripHash: $("strip").checked, sources: state.sources.toReversed().map(({ folder, side, files }) => ({ folder, side: isDiff() ? side : "", files })),
    });
  } catch (e) {
    result = { error: `this browser cannot run the program: ${e.message}` };
  }
  if (mine !== turn) return;
  stop();
  if (result.error) {
    show(null);
    complain(result.error);
    return;
  }
  show(result.output);
  say(result.files ? `Source found for ${result.read} of ${plural(result.files)}.` : "The report is made.");
}

// What is asked for.

const isDiff = () => state.profiles.length === 2 && $("show").value === "diff";
const format = () => $("format").selectedOptions[0].disabled ? "page" : $("format").value;

// list shows which files there are, and what can be made of them.
function list() {
  const n = state.profiles.length, diff = isDiff();
  $("profiles").replaceChildren(...state.profiles.map((file, i) => el("li", {},
    ...(diff ? [el("span", { className: "role" }, ["old", "new"][i])] : []),
    el("span", { className: "name", title: `${file.size} bytes` }, file.name),
    ...(diff && i === 0 ? [button("⇄", "Swap old and new", () => state.profiles.reverse())] : []),
    button("✕", `Remove the profile ${file.name}`, () => state.profiles.splice(i, 1)))));
  $("sources").replaceChildren(...state.sources.map((source, i) => el("li", {},
    el("span", { className: "role" }, "source"),
    el("span", { className: "name" }, source.name),
    ...(diff ? [side(source)] : []),
    button("✕", `Remove the sources ${source.name}`, () => state.sources.splice(i, 1)))));
  $("clear").hidden = n + state.sources.length === 0;
  $("options").hidden = n === 0;
  $("show-label").hidden = n !== 2;
  for (const o of $("format").options) o.disabled = o.value === "profile" && n < 2;
  if (n < 2) $("format").value = format();
}

function button(text, label, act) {
  return el("button", { type: "button", title: label, ariaLabel: label, onclick: () => { act(); update(); $("open").focus(); } }, text);
}

function side(source) {
  const box = el("select", { ariaLabel: `Side of the sources ${source.name}` },
    ...[["", "both"], ["old", "old"], ["new", "new"]].map(([value, text]) => el("option", { value }, text)));
  box.value = source.side;
  box.onchange = () => { source.side = box.value; update(); };
  return box;
}

// What came of it.

const TYPES = {
  page: ["text/html", "html"], text: ["text/plain", "txt"], table: ["text/plain", "txt"], markdown: ["text/markdown", "md"],
  csv: ["text/csv", "csv"], json: ["application/json", "json"], profile: ["text/plain", "out"],
};

// show shows a report, or how to begin if it is null and there is no profile.
function show(output) {
  URL.revokeObjectURL(state.url);
  $("save").hidden = output === null;
  say("");
  if (output === null) {
    $("report").replaceChildren(...(state.profiles.length === 0 ? [start] : []));
    return;
  }
  const [type, ending] = TYPES[format()];
  $("save").href = state.url = URL.createObjectURL(new Blob([output], { type: `${type};charset=utf-8` }));
  $("save").download = `${isDiff() ? "difference" : "profile"}.${ending}`;
  if (format() === "page") {
    frame(new TextDecoder().decode(output));
    return;
  }
  const text = new TextDecoder().decode(output.subarray(0, MAX_SHOWN));
  const rest = output.length > MAX_SHOWN ? `\n… Save has the rest: ${output.length} bytes in all.\n` : "";
  $("report").replaceChildren(el("pre", { tabIndex: 0, role: "region", ariaLabel: "Report as text" }, text + rest));
}

const start = $("start");

// frame shows a page, which is written into an empty frame. So it is of this page's origin, and can be dropped on and share its theme, from
// a file, too, whose blobs are of no origin; and the links in it, which are fragments, stay in it, unlike those in a srcdoc.
function frame(html) {
  const box = el("iframe", { title: "Report" });
  $("report").replaceChildren(box);
  const inner = box.contentDocument;
  inner.open();
  inner.write(html);
  inner.close();
  if (document.documentElement.dataset.theme) inner.documentElement.dataset.theme = document.documentElement.dataset.theme;
  takeDrops(box.contentWindow);
}

// Files.

// beginning returns a file's first bytes, each as a character.
async function beginning(file) {
  return new TextDecoder("latin1").decode(await file.slice(0, 4096).arrayBuffer());
}

// add takes loose files: those that begin as a profile are profiles. Of others a source is text; if there is nothing that could name one, it
// was meant to be a profile, and the program says what is wrong with it.
async function add(files, folders = []) {
  const begins = await Promise.all(files.map((f) => beginning(f).catch(() => "")));
  const isProfile = begins.map((b) => /^(desc|cmd|version|creator|positions):|^# callgrind format/.test(b));
  const none = state.profiles.length === 0 && folders.length === 0 && !isProfile.includes(true);
  const sources = [];
  files.forEach((file, i) => {
    if (isProfile[i] || none || begins[i].includes("\0")) state.profiles.push(file);
    else sources.push(file);
  });
  addSources(sources, folders);
  settle();
}

function addSources(files, folders) {
  if (files.length > 0) {
    const name = files.length <= 2 ? files.map((f) => f.name).join(", ") : plural(files.length);
    state.sources.push({ name, folder: "", side: "", files: files.map((file) => ({ path: file.name, file })) });
  }
  for (const { folder, files } of folders) state.sources.push({ name: `${folder}/ (${plural(files.length)})`, folder, side: "", files });
}

let before = 0; // profiles
function settle() {
  if (state.profiles.length === 2 && before < 2) $("show").value = "diff";
  before = state.profiles.length;
  update();
}

// folderOf returns the files of a folder that was picked.
function folderOf(files) {
  if (files.length > MAX_FILES) throw new Error(`the folder has more than ${MAX_FILES} files: take the one with the sources alone`);
  const kept = files.map((file) => ({ path: file.webkitRelativePath, file })).filter(({ path }) => !/\/\./.test(path));
  return { folder: files[0].webkitRelativePath.split("/")[0], files: kept };
}

// walk collects the files below a folder that was dropped, but for those whose names, or whose folders' names, begin with a dot.
async function walk(folder, path, into) {
  for (const [name, child] of await childrenOf(folder)) {
    if (name.startsWith(".")) continue;
    if (isFolder(child)) {
      await walk(child, `${path}/${name}`, into);
      continue;
    }
    into.push({ path: `${path}/${name}`, file: child.getFile ? await child.getFile() : await new Promise((resolve, reject) => child.file(resolve, reject)) });
    if (into.length > MAX_FILES) throw new Error(`the folder has more than ${MAX_FILES} files: drop the one with the sources alone`);
  }
}

// What is dropped is a FileSystemHandle, or a FileSystemEntry where a browser has no handles. (Chromium has both, but the entries of a page
// that was itself opened from a file cannot be read.)
const isFolder = (item) => item?.kind === "directory" || item?.isDirectory === true;

// childrenOf returns what is in a folder, with names.
async function childrenOf(folder) {
  const list = [];
  if (folder.entries) {
    for await (const pair of folder.entries()) list.push(pair);
    return list;
  }
  const reader = folder.createReader();
  for (;;) { // a reader gives some of them at a time
    const entries = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (entries.length === 0) return list;
    list.push(...entries.map((e) => [e.name, e]));
  }
}

async function drop(transfer) {
  // All is asked for at once: the transfer is empty after the first wait.
  const dropped = [...transfer.items].filter((i) => i.kind === "file")
    .map((i) => ({ file: i.getAsFile(), item: i.getAsFileSystemHandle?.() ?? i.webkitGetAsEntry?.() }));
  const loose = [], folders = [];
  for (const { file, item: promise } of dropped) {
    const item = await promise;
    if (!isFolder(item)) {
      if (file) loose.push(file);
      continue;
    }
    say(`Looking through ${item.name}…`);
    const files = [];
    await walk(item, item.name, files);
    folders.push({ folder: item.name, files });
  }
  if (loose.length + folders.length > 0) await add(loose, folders);
}

function takeDrops(target) {
  const mark = (on) => document.documentElement.classList.toggle("dragging", on);
  target.addEventListener("dragover", (e) => { e.preventDefault(); mark(true); });
  target.addEventListener("dragleave", (e) => { if (!e.relatedTarget) mark(false); });
  target.addEventListener("drop", (e) => {
    e.preventDefault();
    mark(false);
    attempt(drop(e.dataTransfer));
  });
}

// attempt says why taking files failed.
const attempt = (promise) => promise.catch((e) => { say(""); complain(e.message); });

function picker(id, take) {
  $(id).addEventListener("change", () => {
    const files = [...$(id).files];
    $(id).value = "";
    if (files.length > 0) attempt((async () => take(files))());
  });
}

// Light and dark: one choice for this page and the one in the frame.

function theme(chosen) {
  document.documentElement.dataset.theme = chosen;
  const inner = document.querySelector("#report iframe")?.contentDocument;
  if (inner) inner.documentElement.dataset.theme = chosen;
}

function toggleTheme() {
  const now = document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  theme(now === "dark" ? "light" : "dark");
  try { localStorage.setItem("cgemu-theme", document.documentElement.dataset.theme); } catch { /* the page may have no storage */ }
}

try { if (localStorage.getItem("cgemu-theme")) theme(localStorage.getItem("cgemu-theme")); } catch { /* as above */ }
addEventListener("storage", (e) => { if (e.key === "cgemu-theme" && e.newValue) theme(e.newValue); });
$("theme").onclick = toggleTheme;
$("open").onclick = () => $("pick-profiles").click();
$("add-files").onclick = () => $("pick-files").click();
$("add-folder").onclick = () => $("pick-folder").click();
$("clear").onclick = () => { state.profiles = []; state.sources = []; settle(); $("open").focus(); };
$("cancel").onclick = () => { turn++; stop(); say("Cancelled."); };
picker("pick-profiles", (files) => { state.profiles.push(...files); settle(); });
picker("pick-files", (files) => { addSources(files, []); settle(); });
picker("pick-folder", (files) => { addSources([], [folderOf(files)]); settle(); });
$("options").addEventListener("change", update);
$("options").addEventListener("submit", (e) => { e.preventDefault(); update(); });
takeDrops(window);
program().catch(() => {}); // beforehand; update says what is wrong
list();
