//go:build oracles

// Package browsertest drives a headless Chromium, for tests of HTML pages.
package browsertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// A Browser is a tab of a headless Chromium, with storage of its own.
type Browser struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string // errors and warnings on the console, exceptions, breaches of the page's policy
}

// chromium starts the Chromium that has all tabs, without a network to speak of. There must be one. Suite ends it.
var chromium = sync.OnceValues(func() (context.Context, error) {
	path, err := exec.LookPath("google-chrome")
	if err != nil {
		path, err = exec.LookPath("chromium")
	}
	if err != nil {
		return nil, fmt.Errorf("the tests of HTML pages need Chromium: %w", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	ctx, cancelAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(ctx)
	end = func() { cancel(); cancelAllocator() }
	return ctx, do(ctx)
})

// patience is how long an answer may take, on a slow machine too: what takes longer has failed.
const patience = 3 * time.Minute

// do runs actions, of which the first in a context starts what that is for: the context itself has no limit.
func do(ctx context.Context, actions ...chromedp.Action[chromedp.Void]) error {
	done := make(chan error, 1)
	go func() { done <- chromedp.Do(ctx, actions...) }()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		return errors.New("the browser does not answer")
	}
}

// New opens a tab, which the end of the test closes. TestMain has the tests run by a Suite.
func New(t *testing.T) *Browser {
	require.NotNil(t, end, "TestMain has to run the tests by a browsertest.Suite")
	ctx, err := chromium()
	require.NoError(t, err)
	ctx, cancel := chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	b := &Browser{t: t, ctx: ctx}
	require.NoError(t, chromedp.Listen(ctx, b.event))
	b.Do(call(log.Enable, cdp.Empty{}), chromedp.EmulateViewport(1280, 800))
	b.Scheme("light")
	return b
}

// call is an action that sends a command.
func call[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

func (b *Browser) event(event any) {
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

// Clean fails the test if the page complained.
func (b *Browser) Clean() {
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b.t, b.problems)
}

// Do runs actions.
func (b *Browser) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, do(b.ctx, actions...))
}

// Open loads a page, of which fragment is a part.
func (b *Browser) Open(file, fragment string) {
	b.t.Helper()
	path, err := filepath.Abs(file)
	require.NoError(b.t, err)
	b.Visit("file://" + path + fragment)
}

// Visit loads a page by its address.
func (b *Browser) Visit(url string) {
	b.t.Helper()
	b.Do(chromedp.Navigate("about:blank"), chromedp.Navigate(url))
}

// Eval returns the value of a JavaScript expression as text.
func (b *Browser) Eval(expression string) string {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("String("+expression+")"))
	require.NoError(b.t, err, expression)
	return v
}

// Is waits until an expression has a value. It asks less and less often, since each question takes the page some time.
func (b *Browser) Is(want, expression string) {
	b.t.Helper()
	deadline := time.Now().Add(patience)
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 160*time.Millisecond) {
		got := b.Eval(expression)
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			require.Equal(b.t, want, got, expression)
		}
		time.Sleep(pause)
	}
}

// Keys presses keys: characters, \r for Enter, \t for Tab, \x1b for Escape, \b for Backspace, ←, →, ↑ and ↓ for the
// arrows.
func (b *Browser) Keys(keys string) {
	b.t.Helper()
	names := map[rune]string{
		'\r': "Enter", '\t': "Tab", '\x1b': "Escape", '\b': "Backspace", '←': "ArrowLeft", '→': "ArrowRight", '↑': "ArrowUp", '↓': "ArrowDown",
	}
	codes := map[rune]int64{'\r': 13, '\t': 9, '\x1b': 27, '\b': 8, '←': 37, '↑': 38, '→': 39, '↓': 40}
	for _, r := range keys {
		down := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: names[r], Text: string(r), WindowsVirtualKeyCode: codes[r]}
		if names[r] != "" && r != '\r' {
			down.Text = ""
		}
		if down.Key == "" {
			down.Key = string(r)
		}
		b.Do(call(input.DispatchKeyEvent, down), call(input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyUp, Key: down.Key}))
	}
}

// Click clicks on an element.
func (b *Browser) Click(selector string) {
	b.t.Helper()
	b.Do(chromedp.Click(chromedp.CSS(selector)))
}

// Scheme says whether the system is light or dark.
func (b *Browser) Scheme(name string) {
	b.Do(call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	}))
}

// Screenshot writes one if HTML_SCREENSHOTS names a directory.
func (b *Browser) Screenshot(name string) {
	dir := os.Getenv("HTML_SCREENSHOTS")
	if dir == "" {
		return
	}
	b.Do(chromedp.Sleep(300 * time.Millisecond))
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644))
}

// Pick puts files into a file input, as if they had been chosen.
func (b *Browser) Pick(selector string, files ...string) {
	b.t.Helper()
	b.Do(chromedp.SetUploadFiles(chromedp.CSS(selector), files, chromedp.NodeReady))
}

// Drop drops files and folders at a point of the window.
func (b *Browser) Drop(x, y float64, files ...string) {
	b.t.Helper()
	data := &input.DragData{Items: []*input.DragDataItem{}, Files: files, DragOperationsMask: 1}
	for _, kind := range []input.DispatchDragEventType{
		input.DispatchDragEventTypeDragEnter, input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDrop,
	} {
		b.Eval("0") // what the page said to the event before has come back
		b.Do(call(input.DispatchDragEvent, input.DispatchDragEventParams{Type: kind, X: x, Y: y, Data: data}))
	}
}

// Size sets the size of the window.
func (b *Browser) Size(width, height int64) { b.Do(chromedp.EmulateViewport(width, height)) }
