//go:build oracles

package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// A browser is a tab of a headless Chromium.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string // errors and warnings on the console, exceptions, breaches of the page's policy
}

// newBrowser starts a Chromium of its own, without a network to speak of. There
// must be one.
func newBrowser(t *testing.T) *browser {
	path, err := exec.LookPath("google-chrome")
	if err != nil {
		path, err = exec.LookPath("chromium")
	}
	require.NoError(t, err, "the tests of the HTML page need Chromium")
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx}
	require.NoError(t, chromedp.Listen(ctx, b.event))
	b.do(call(log.Enable, cdp.Empty{}), chromedp.EmulateViewport(1280, 800))
	b.scheme("light")
	return b
}

// call is an action that sends a command.
func call[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

func (b *browser) event(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, fmt.Sprintf("exception: %+v", e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		b.problems = append(b.problems, fmt.Sprintf("console: %+v", e))
	case *log.EventEntryAdded:
		b.problems = append(b.problems, fmt.Sprintf("%s: %s", e.Entry.Level, e.Entry.Text))
	}
}

// clean fails the test if the page complained.
func (b *browser) clean() {
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b.t, b.problems)
}

// do runs actions, for a minute at most.
func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	// The first context that runs something is the browser's, so it has no limit.
	done := make(chan error, 1)
	go func() { done <- chromedp.Do(b.ctx, actions...) }()
	select {
	case err := <-done:
		require.NoError(b.t, err)
	case <-time.After(time.Minute):
		require.Fail(b.t, "the browser does not answer")
	}
}

// open loads a page, of which fragment is a part.
func (b *browser) open(file, fragment string) {
	b.t.Helper()
	path, err := filepath.Abs(file)
	require.NoError(b.t, err)
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate("file://"+path+fragment))
}

// eval returns the value of a JavaScript expression as text.
func (b *browser) eval(expression string) string {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("String("+expression+")"))
	require.NoError(b.t, err, expression)
	return v
}

// is waits until an expression has a value.
func (b *browser) is(want, expression string) {
	b.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		got := b.eval(expression)
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			require.Equal(b.t, want, got, expression)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// keys presses keys: characters, \r for Enter, \x1b for Escape.
func (b *browser) keys(keys string) {
	b.t.Helper()
	names := map[rune]string{'\r': "Enter", '\x1b': "Escape"}
	codes := map[rune]int64{'\r': 13, '\x1b': 27}
	for _, r := range keys {
		down := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: names[r], Text: string(r), WindowsVirtualKeyCode: codes[r]}
		if r == '\x1b' {
			down.Text = ""
		}
		if down.Key == "" {
			down.Key = string(r)
		}
		b.do(call(input.DispatchKeyEvent, down), call(input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyUp, Key: down.Key}))
	}
}

func (b *browser) click(selector string) {
	b.t.Helper()
	b.do(chromedp.Click(chromedp.CSS(selector)))
}

// scheme says whether the system is light or dark.
func (b *browser) scheme(name string) {
	b.do(call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	}))
}

// screenshot writes one if HTML_SCREENSHOTS names a directory.
func (b *browser) screenshot(name string) {
	dir := os.Getenv("HTML_SCREENSHOTS")
	if dir == "" {
		return
	}
	b.do(chromedp.Sleep(300 * time.Millisecond))
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644))
}

// page writes a page by the command line and returns its name.
func page(t *testing.T, args ...string) string {
	file := filepath.Join(t.TempDir(), "page.html")
	var stderr strings.Builder
	status := Annotate("cgemu annotate", append(args, "--html="+file), io.Discard, &stderr)
	require.Zero(t, status, stderr.String())
	return file
}

// Expressions on the page.
const (
	rows    = `[...document.querySelectorAll("#functions tbody tr")]`
	firstFn = `document.querySelector("#functions tbody th.name").textContent`
	names   = rows + `.map((r) => r.querySelector("th").textContent).join()`
	sorted  = `[...document.querySelectorAll("#functions [aria-sort]")].map((h) => h.textContent + " " + h.ariaSort).join()`
	target  = `document.querySelector("tr.target td.code")?.textContent`
	inView  = `(() => { const r = document.querySelector("tr.target")?.getBoundingClientRect(); return r && r.top > 40 && r.bottom < innerHeight; })()`
	focused = `document.activeElement.textContent`
)

func TestOracleHTML(t *testing.T) {
	b := newBrowser(t)
	b.open(page(t, "--threshold=0", "testdata/html/new.out"), "")
	b.is("testdata/html/prog", `document.title`)
	b.is("__vfprintf_internal", firstFn)
	b.is("Ir descending", sorted)
	b.screenshot("annotate-light")

	// Sorting: by a click on another column, again for the other way, and by keys.
	b.click("#functions thead th:nth-child(6) button")
	b.is("Bcm descending", sorted)
	b.is("__strcmp_avx2", firstFn)
	b.click("#functions thead th:nth-child(6) button")
	b.is("Bcm ascending", sorted)
	b.is("button", `document.activeElement.localName`) // the focus stays
	b.is("Bcm", `document.activeElement.textContent`)
	b.keys("0")
	b.is("Function ascending", sorted)
	b.is("true", `(() => { const n = `+names+`.split(","); return n.join() === n.toSorted().join(); })()`)
	b.keys("1")
	b.is("Ir descending", sorted)

	// Moving through functions, and opening one.
	b.keys("jj")
	b.is("_IO_default_xsputn", focused)
	b.keys("k")
	b.is("__vfprintf_internal", focused)
	b.keys("jjjjjj")
	b.is("lookup", focused)
	b.keys("\r")
	b.is("#lookup", `location.hash`)
	b.is("true", inView)
	b.is("static struct entry *lookup(const char *word)", `document.querySelector("tr.target").previousElementSibling.querySelector(".code").textContent`)
	b.is("true", `document.querySelector("tr.current th").textContent === "lookup"`)
	b.is("rgb(160, 17, 31)", `getComputedStyle(document.querySelector("td.code .k")).color`)

	// Files can be closed and opened.
	b.keys("c")
	b.is("0", `document.querySelectorAll("details.file[open]").length`)
	b.keys("g")
	b.click("details.file:nth-child(2) > summary")
	b.is("1", `document.querySelectorAll("details.file[open]").length`)
	b.keys("e")
	b.is("true", `document.querySelectorAll("details.file[open]").length > 3`)

	b.search()
	b.columns()
	b.deepLinks()
	b.keys("?")
	b.is("true", `document.getElementById("help").open`)
	b.keys("\x1b")
	b.is("false", `document.getElementById("help").open`)
	b.clean()
}

func (b *browser) search() {
	b.keys("/fnv-1A")
	b.is("0 functions, 0 files, 0 lines", `document.getElementById("status").textContent`)
	b.keys("\x1b")
	b.is("", `document.getElementById("status").textContent`)
	b.keys("/fnv-1a")
	b.is("0 functions, 1 files, 1 lines", `document.getElementById("status").textContent`)
	b.keys("\r")
	b.is("    unsigned h = 2166136261u; /* FNV-1a */", target)
	b.is("true", inView)
	b.is("true", `document.querySelector("tr.target").classList.contains("hit")`)
	b.keys("\x1b/alloc")
	b.is("true", `document.querySelectorAll("#functions tbody tr").length < 12 && `+names+`.includes("calloc")`)
	b.keys("\x1b")
	b.keys("n") // the hottest line
	b.is("hot line 1", `document.getElementById("status").textContent`)
}

func (b *browser) columns() {
	b.is("6", `document.querySelectorAll("#functions thead th[scope=col]").length - 2`)
	b.keys("m")
	b.is("input", `document.activeElement.localName`)
	b.click("#columns label:nth-of-type(2) input") // I1mr
	b.is("7", `document.querySelectorAll("#functions thead th[scope=col]").length - 2`)
	b.keys("p")
	b.is("0", `document.querySelectorAll("#functions td i").length`)
	b.keys("p\x1b")
	b.is("false", `document.getElementById("menu").open`)
}

func (b *browser) deepLinks() {
	path := b.eval(`location.pathname`)
	b.open(path, "#testdata/html/new.c:24")
	b.is("        if (strcmp(e->word, word) == 0)", target)
	b.is("true", inView)
	b.open(path, "#compare")
	b.is("compare", `document.querySelector("tr.current th").textContent`)
	b.is("true", inView)
	b.open(path, "#no%2")
	b.is("__vfprintf_internal", firstFn)
	b.open(path, "#nothing")
	b.is("there is no nothing", `document.getElementById("status").textContent`)
}

// TestOracleHTMLDark: as the system has it, and by a key.
func TestOracleHTMLDark(t *testing.T) {
	const background = `getComputedStyle(document.body).backgroundColor`
	b := newBrowser(t)
	file := page(t, "testdata/html/new.out")
	b.open(file, "#lookup")
	b.is("rgb(255, 255, 255)", background)
	b.scheme("dark")
	b.is("rgb(15, 19, 24)", background)
	b.screenshot("annotate-dark")
	b.keys("t")
	b.is("rgb(255, 255, 255)", background)
	b.open(file, "") // remembered
	b.is("rgb(255, 255, 255)", background)
	b.clean()
}

// TestOracleHTMLDiff: old, new and delta, by functions and by lines.
func TestOracleHTMLDiff(t *testing.T) {
	b := newBrowser(t)
	b.open(page(t, "--diff", "--mod-filename=s/(old|new).c/prog.c/", "testdata/html/old.out", "testdata/html/new.out"), "#hash")
	b.is("delta other", sorted)
	b.is("true", inView)
	b.is("old,new,◆ delta", `[...document.querySelectorAll("#functions thead tr:nth-child(2) th")].slice(1, 4).map((h) => (h.ariaSort ? "◆ " : "") + h.textContent).join()`)
	b.is("true", `document.querySelectorAll("#functions td.hot").length > 0 && document.querySelectorAll("#functions td.cold").length > 0`)
	b.is("true", `document.querySelectorAll("tr.gone").length > 0`)
	b.screenshot("annotate-diff")
	const deltas = rows + `.map((r) => Number(r.cells[3].firstChild.textContent.replace("−", "-").replaceAll(",", "")))`
	b.is("true", `(() => { const d = `+deltas+`.map(Math.abs); return d.every((x, i) => i === 0 || x <= d[i - 1]); })()`)
	b.click("#functions thead tr:nth-child(2) th:nth-child(4) button")
	b.is("delta descending", sorted)
	b.is("true", `(() => { const d = `+deltas+`; return d.every((x, i) => i === 0 || x <= d[i - 1]); })()`)
	b.clean()
}

// TestOracleHTMLInert: what a profile names is not run.
func TestOracleHTMLInert(t *testing.T) {
	dir := t.TempDir()
	evil := `<script>alert(1)</script><img src=x onerror=alert(2)>`
	source := filepath.Join(dir, "evil.c")
	require.NoError(t, os.WriteFile(source, []byte("</script>"+evil+"\n"), 0o644))
	profile := filepath.Join(dir, "p.out")
	require.NoError(t, os.WriteFile(profile, []byte("desc: "+evil+"\ncmd: "+evil+"\nevents: Ir\nfl="+source+"\nfn="+evil+"\n1 5\nsummary: 5\n"), 0o644))
	b := newBrowser(t)
	b.open(page(t, profile), "")
	b.is(evil, firstFn)
	b.click("#functions tbody a")
	b.is("</script>"+evil, target)
	b.is(evil, `document.title`)
	b.is("2,0", `[document.scripts.length, document.images.length]`)
	b.clean()
}

// TestOracleHTMLLarge: 50,000 lines with counts in 250 files, 5,000 functions.
func TestOracleHTMLLarge(t *testing.T) {
	dir := t.TempDir()
	var p strings.Builder
	p.WriteString("cmd: large\nevents: Ir Dr Dw\n")
	var sum [3]int
	for f := range 250 {
		name := filepath.Join(dir, fmt.Sprintf("source%03d.c", f))
		var text strings.Builder
		fmt.Fprintf(&p, "fl=%s\n", name)
		for line := range 200 {
			if line%10 == 0 {
				fmt.Fprintf(&p, "fn=function_%d_%d\n", f, line/10)
			}
			fmt.Fprintf(&text, "    sum[%d] += values[%d] * 3; /* line of file %d */\n", line, line, f)
			counts := [3]int{(f*7919+line*104729)%100000 + 1, f + line, line}
			fmt.Fprintf(&p, "%d %d %d %d\n", line+1, counts[0], counts[1], counts[2])
			for i, c := range counts {
				sum[i] += c
			}
		}
		require.NoError(t, os.WriteFile(name, []byte(text.String()), 0o644))
	}
	fmt.Fprintf(&p, "summary: %d %d %d\n", sum[0], sum[1], sum[2])
	profile := filepath.Join(dir, "large.out")
	require.NoError(t, os.WriteFile(profile, []byte(p.String()), 0o644))

	start := time.Now()
	file := page(t, "--threshold=0", profile)
	written := time.Since(start)
	b := newBrowser(t)
	step := func(name string, act func()) {
		start := time.Now()
		act()
		t.Logf("%s: %v", name, time.Since(start))
	}
	t.Logf("written: %v", written)
	step("open", func() {
		b.open(file, "")
		b.is("5000", `document.getElementById("functions-count").textContent`)
	})
	step("sort", func() { b.keys("2"); b.is("Dr descending", sorted) })
	step("search", func() {
		b.keys("/file 249 */")
		b.is("file 249 */", `document.getElementById("search").value`)
		b.is("0 functions, 1 files, 200 lines", `document.getElementById("status").textContent`)
		b.keys("\x1b")
	})
	step("open all files", func() {
		b.keys("e")
		b.is("250", `document.querySelectorAll("details.file[open]").length`)
	})
	step("link", func() {
		b.eval(`location.hash = "function_125_19"`)
		b.is("true", inView)
	})
	b.is("true", `document.querySelector("tr.target td.code").clientWidth > 600`)
	b.is("true", `document.querySelectorAll("tr").length < 60000`)
	b.clean()
}
