//go:build oracles && !js

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/annotate"
	"github.com/cgemu/cgemu/internal/browsertest"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Suite{M: m}.Run()) }

// thePage makes the page once, as make web does.
var thePage = sync.OnceValues(func() (page []byte, err error) {
	dir, err := os.MkdirTemp("", "cgemu-web-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "program.wasm")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, ".")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	out := filepath.Join(dir, "page.html")
	err = run([]string{"-program", program, "-exec", filepath.Join(strings.TrimSpace(string(goroot)), "lib/wasm/wasm_exec.js"), "-o", out, "../../LICENSE"}, io.Discard)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(out)
})

// openPage opens the page in a browser, from a file.
func openPage(t *testing.T) *browsertest.Browser {
	data, err := thePage()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "cgemu-web.html")
	require.NoError(t, os.WriteFile(file, data, 0o600))
	b := browsertest.New(t)
	b.Open(file, "")
	b.Is("true", `!document.getElementById("start").closest("[hidden]")`)
	return b
}

// write writes a file of a test.
func write(t *testing.T, path, text string) string {
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Expressions on the page.
const (
	frame    = `document.querySelector("#report iframe").contentDocument`
	funcs    = `[...(document.querySelector("#report iframe")?.contentDocument?.querySelectorAll("#functions tbody th.name > a") ?? [])].map((h) => h.textContent).join()`
	shown    = `document.querySelector("#report > pre")?.textContent`
	problem  = `document.getElementById("problem").textContent`
	busy     = `document.getElementById("report").ariaBusy`
	status   = `document.getElementById("status").textContent`
	profiles = `[...document.querySelectorAll("#profiles .name")].map((n) => n.textContent).join()`
	sources  = `[...document.querySelectorAll("#sources .name")].map((n) => n.textContent).join()`
)

// choose sets the control that an expression is, and waits for what comes of it.
func choose(b *browsertest.Browser, control, value string) {
	b.Eval(fmt.Sprintf(`(() => { const c = %s; c.value = %q; c.dispatchEvent(new Event("change", { bubbles: true })); })()`, control, value))
	b.Is("false", busy)
}

const (
	oldProfile = "desc: d\ncmd: ./prog\nevents: Ir\nfl=/src/proj/lib/a.c\nfn=f\n1 10\n2 20\nfn=g\n4 7\nsummary: 37\n"
	newProfile = "desc: d\ncmd: ./prog\nevents: Ir\nfl=/src/proj/lib/a.c\nfn=f\n2 10\n3 25\nfn=g\n5 7\nsummary: 42\n"
	oldSource  = "int f(int x) {\n  return x + 1; }\n\nint g;\n"
	newSource  = "/* new */\nint f(int x) {\n  return x + 2; }\n\nint g;\n"
)

// TestOraclePage: from a drop of one profile to the difference of two, with sources.
func TestOraclePage(t *testing.T) {
	dir := t.TempDir()
	before, after := write(t, dir+"/before.out", oldProfile), write(t, dir+"/after.out", newProfile)
	write(t, dir+"/o/proj/lib/a.c", oldSource)
	write(t, dir+"/o/proj/.git/a.c", "no source")
	write(t, dir+"/n/a.c", newSource)
	b := openPage(t)
	b.Screenshot("web-start")
	b.Drop(300, 400, before)
	b.Is("f,g", funcs)
	b.Is("before.out", profiles)
	b.Is("Source found for 0 of 1 file.", status)

	// A folder, dropped on the report itself.
	b.Drop(300, 600, dir+"/o/proj")
	b.Is("proj/ (1 file)", sources)
	b.Is("Source found for 1 of 1 file.", status)
	b.Is("  return x + 1; }", frame+`.querySelector("#pane tr.target td.code").textContent`)

	// Another profile: the difference, with a source for each side.
	b.Pick("#pick-profiles", after)
	b.Is("before.out,after.out", profiles)
	b.Is("f", funcs)
	b.Pick("#pick-files", dir+"/n/a.c")
	b.Is("proj/ (1 file),a.c", sources)
	choose(b, `document.querySelector("#sources li:first-child select")`, "old")
	choose(b, `document.querySelector("#sources li:last-child select")`, "new")
	b.Is("Source found for 1 of 1 file.", status)
	b.Is("f", funcs)
	b.Is("int f(int x) {,  return x + 1; },  return x + 2; }", `[...`+frame+`.querySelectorAll("#pane td.code")].map((c) => c.textContent).filter((t) => /f\(|return/.test(t)).join()`)
	b.Is("true", frame+`.getElementById("sentence").textContent.startsWith("Instructions went up by 5")`)
	b.Screenshot("web-diff")

	// Swapped, summed, as text, as a profile: what the commands write.
	b.Click(`#profiles button[title="Swap old and new"]`)
	b.Is("after.out,before.out", profiles)
	choose(b, `document.getElementById("show")`, "sum")
	b.Is("f,g", funcs)
	choose(b, `document.getElementById("format")`, "profile")
	b.Is("desc: d\ncmd: ./prog\nevents: Ir\nfl=/src/proj/lib/a.c\nfn=f\n2 30\n3 25\n1 10\nfn=g\n5 7\n4 7\nsummary: 79\n", shown)
	choose(b, `document.getElementById("format")`, "text")
	var want bytes.Buffer
	require.NoError(t, annotate.WriteText(&want, annotate.Defaults(), annotate.FileIn(os.DirFS(dir), "after.out"), annotate.FileIn(os.DirFS(dir), "before.out")))
	head, _, _ := strings.Cut(want.String(), "-- Annotated")
	b.Is("true", fmt.Sprintf(`%s.startsWith(%q)`, shown, head))
	b.Is("profile.txt", `document.getElementById("save").download`)
	b.Click("#clear")
	b.Is("true", `document.getElementById("start") !== null && document.getElementById("options").hidden`)
	b.Clean()
}

// TestOraclePageLooks: on a phone nothing is wider than it, light and dark are those of the system or of the button,
// for the report, too, and all controls are reached by Tab.
func TestOraclePageLooks(t *testing.T) {
	const background = `getComputedStyle(document.body).backgroundColor`
	dir := t.TempDir()
	b := openPage(t)
	b.Size(390, 844)
	b.Drop(200, 400, write(t, dir+"/before-with-a-long-name-that-has-no-blank.out", oldProfile), write(t, dir+"/after.out", newProfile), write(t, dir+"/a.c", newSource))
	b.Is("f", funcs)
	b.Is("true", `document.documentElement.scrollWidth <= innerWidth`)
	b.Screenshot("web-phone")
	b.Is("rgb(255, 255, 255) rgb(255, 255, 255)", background+` + " " + `+strings.ReplaceAll(background, "document", frame))
	b.Scheme("dark")
	b.Is("rgb(15, 19, 24) rgb(15, 19, 24)", background+` + " " + `+strings.ReplaceAll(background, "document", frame))
	b.Screenshot("web-phone-dark")
	b.Click("#theme")
	b.Is("rgb(255, 255, 255) rgb(255, 255, 255)", background+` + " " + `+strings.ReplaceAll(background, "document", frame))
	b.Eval(frame + `.getElementById("theme").click()`) // the report's own
	b.Is("rgb(15, 19, 24) rgb(15, 19, 24)", background+` + " " + `+strings.ReplaceAll(background, "document", frame))

	// Each control has a name, and Tab comes to it.
	const controls = `[...document.querySelectorAll("button, select, input:not([type=file]), a[href], summary")].filter((e) => e.checkVisibility())`
	b.Is("", controls+`.filter((e) => !(e.ariaLabel || e.textContent.trim() || e.labels?.[0]?.textContent.trim())).map((e) => e.id).join()`)
	n := b.Eval(controls + `.length`)
	b.Eval(`(() => { window.reached = new Set(); addEventListener("focusin", (e) => reached.add(e.target)); document.activeElement.blur(); })()`)
	for range 100 {
		b.Keys("\t")
		if b.Eval(controls+`.filter((e) => reached.has(e)).length`) == n {
			break
		}
	}
	b.Is("", controls+`.filter((e) => !reached.has(e)).map((e) => e.outerHTML).join()`)
	b.Clean()
}

// TestOraclePageErrors: what is no profile, what is half of one, and what is meant to do harm.
func TestOraclePageErrors(t *testing.T) {
	dir := t.TempDir()
	b := openPage(t)
	for _, tt := range []struct{ name, text, want string }{
		{"words.c", "int main(void) {}\n", "words.c:1: missing a `command:` line: this is no profile; cgemu PROGRAM writes one, which is called cachegrind.out.1000"},
		{"prog", "\x7fELF\x02\x01\x01\x00", "prog:1: missing a `command:` line: this is a program; to run it, and write its profile: cgemu prog"},
		{"empty", "", "empty:1: missing a `command:` line"},
		{"cut.out", oldProfile[:strings.Index(oldProfile, "summary")], "cut.out:10: missing `summary:` line, aborting"},
		{"torn.out", oldProfile[:strings.Index(oldProfile, "=g")], "torn.out:8: malformed line: f"},
		{"wrong.out", "cmd: x\nevents: Ir\nfl=a\nfn=f\n1 2\nsummary: 3\n", "wrong.out:6: `summary:` line doesn't match computed total\n- summary:  [3]\n- computed: [2]"},
		{"escape.out", "cmd: x\nevents: Ir\nwhat \x1b[31m\n", "escape.out:3: malformed line: what \\x1b[31m"},
		{"many.out", "cmd: x\nevents:" + strings.Repeat(" e", 2000) + "\n", "many.out:2: 2000 events are more than 1000"},
	} {
		b.Drop(300, 400, write(t, filepath.Join(dir, tt.name), tt.text))
		b.Is(tt.want, problem)
		b.Is("true", `document.querySelector("#report").childElementCount === 0`)
		b.Click("#clear")
		b.Is("", problem)
	}
	// A script in every name, and a source that would end the data.
	const evil = `<script>alert(1)</script><img src=x onerror=alert(2)>`
	b.Drop(300, 400, write(t, dir+"/p.out", "desc: "+evil+"\ncmd: "+evil+"\nevents: Ir\nfl=evil.c\nfn="+evil+"\n1 5\nsummary: 5\n"))
	b.Is(evil, funcs)
	b.Pick("#pick-files", write(t, dir+"/evil.c", "</script>"+evil+"\n"))
	b.Is("Source found for 1 of 1 file.", status)
	b.Is(evil, funcs)
	b.Is("0,0", `[document.images.length, `+frame+`.images.length]`)
	// Another event makes two profiles that cannot be compared.
	b.Pick("#pick-profiles", write(t, dir+"/dr.out", "cmd: x\nevents: Dr\nfl=a\nfn=f\n1 2\nsummary: 2\n"))
	b.Is("events in data files don't match", problem)
	b.Click(`#profiles li:last-child button`)
	b.Is("", problem)
	b.Is(evil, funcs)
	b.Clean()
}

// TestOraclePageStops: a report that is cancelled, and programs that fail, leave a page that goes on.
func TestOraclePageStops(t *testing.T) {
	b := openPage(t)
	b.Drop(300, 400, write(t, t.TempDir()+"/before.out", oldProfile))
	b.Is("f,g", funcs)
	const again = `document.getElementById("options").requestSubmit()`
	b.Eval(`(() => { window.alive = 0; const W = Worker; window.Worker = class extends W {
		constructor(url) { super(url); alive++; }
		terminate() { alive--; super.terminate(); }
	}; })()`)
	b.Eval(again + `, document.getElementById("cancel").checkVisibility() && document.getElementById("cancel").click()`)
	b.Is("Cancelled.", status)
	b.Is("false", busy)
	b.Is("f,g", funcs)
	b.Eval(again + ", " + again) // the first one is not wanted any more
	b.Is("The report is made.", status+`.replace(/Source.*/, "The report is made.")`)
	b.Is("false", busy)
	b.Is("0", "alive")

	b.Eval(`(() => { window.worker = document.getElementById("worker"); window.good = worker.textContent; })()`)
	for _, tt := range []struct{ code, want string }{
		{`WebAssembly.instantiate = async () => { throw new Error("no memory"); };`, "the report could not be made: fatal error: no memory"},
		{`WebAssembly.instantiate = async () => ({}); Go = class { async run() { fs.writeSync(2, new TextEncoder().encode("x\nfatal error: out of memory\n")); } };`, "the report could not be made: fatal error: out of memory"},
		{`WebAssembly.instantiate = async () => ({}); Go = class { async run() {} };`, "the report could not be made: the program ended"},
		{`onmessage = () => { throw new Error("odd"); };`, "the report could not be made: Uncaught Error: odd"},
	} {
		b.Eval(fmt.Sprintf("worker.textContent = good + %q, %s", tt.code, again))
		b.Is(tt.want, problem)
		b.Is("false", busy)
	}
	b.Eval("worker.textContent = good, " + again)
	b.Is("f,g", funcs)
	b.Is("", problem)
}

// large writes a profile of 100,000 lines with counts, in 500 files and 10,000 functions. Its counts depend on seed.
func large(t *testing.T, path string, seed int) string {
	var p strings.Builder
	p.WriteString("cmd: large\nevents: Ir Dr Dw\n")
	var sum [3]int
	for f := range 500 {
		fmt.Fprintf(&p, "fl=/src/source%03d.c\n", f)
		for line := range 200 {
			if line%10 == 0 {
				fmt.Fprintf(&p, "fn=function_%d_%d\n", f, line/10)
			}
			counts := [3]int{(f*7919+line*104729+seed)%100000 + 1, f + line, line * seed}
			fmt.Fprintf(&p, "%d %d %d %d\n", line+1, counts[0], counts[1], counts[2])
			for i, c := range counts {
				sum[i] += c
			}
		}
	}
	fmt.Fprintf(&p, "summary: %d %d %d\n", sum[0], sum[1], sum[2])
	return write(t, path, p.String())
}

// TestOraclePageLarge: profiles of 100,000 lines, one and two, and the sources of all files in one folder.
func TestOraclePageLarge(t *testing.T) {
	dir := t.TempDir()
	one, two := large(t, dir+"/old.out", 1), large(t, dir+"/new.out", 2)
	for f := range 500 {
		var text strings.Builder
		for line := range 200 {
			fmt.Fprintf(&text, "    sum[%d] += values[%d] * 3; /* line of file %d */\n", line, line, f)
		}
		write(t, fmt.Sprintf("%s/src/source%03d.c", dir, f), text.String())
	}
	b := openPage(t)
	step := func(name string, act func()) {
		start := time.Now()
		act()
		t.Logf("%s: %v", name, time.Since(start))
	}
	const count = `document.querySelector("#report iframe")?.contentDocument?.getElementById("functions-count")?.textContent`
	choose(b, `document.getElementById("threshold")`, "0")
	step("one profile", func() {
		b.Drop(300, 400, one)
		b.Is("10000", count)
	})
	step("its sources", func() {
		b.Drop(300, 600, dir+"/src")
		b.Is("Source found for 500 of 500 files.", status)
	})
	step("the difference of two", func() {
		b.Pick("#pick-profiles", two)
		b.Is("old.out,new.out", profiles)
		b.Is("true", `document.querySelector("#report iframe")?.contentDocument?.getElementById("sentence")?.hidden === false`)
	})
	step("their sum", func() {
		choose(b, `document.getElementById("show")`, "sum")
		b.Is("10000", count)
	})
	step("as JSON", func() {
		choose(b, `document.getElementById("format")`, "json")
		b.Is("true", shown+`?.startsWith("{")`)
	})
	b.Clean()
}
