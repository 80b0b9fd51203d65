package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"github.com/cgemu/cgemu/annotate"
	"github.com/cgemu/cgemu/annotate/serve"
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/internal/usage"
)

const viewUsage = `usage: %[1]s [-h] [--version] [--listen HOST:PORT] [--open] [--diff]
       [options of annotate] cachegrind-out-file [cachegrind-out-file ...]
`

var viewCommand = sync.OnceValue(func() *usage.Command {
	return &usage.Command{
		Name:     "cgemu view",
		Title:    "shows profiles as a page in a browser of this host",
		Synopsis: []string{"[options] PROFILE...", "--diff [options] OLD NEW"},
		About: []string{
			"Serves the page of cgemu annotate --html on loopback, and prints its address; sources are sent when they are looked at. It ends at " +
				"Ctrl-C. cgemu --view PROGRAM shows a run while it lasts.",
		},
		Examples: []usage.Row{
			{Name: "cgemu view callgrind.out.1000", Text: "one profile"},
			{Name: "cgemu view --diff old.out new.out", Text: "what differs between two"},
			{Name: "cgemu view --listen=127.0.0.1:8000 --open FILE", Text: "at an address of one's own, in a browser that is started"},
		},
		Groups: []usage.Group{
			{Title: "Options", Options: slices.Concat(usageHelp, []usage.Option{
				{Names: []string{"--listen"}, Arg: "HOST:PORT", Text: "serve there (127.0.0.1:0, a free port); loopback only"},
				{Names: []string{"--open"}, Text: "open the page in the browser of the desktop"},
				{Names: []string{"--diff"}, Text: "show what differs between two profiles"},
				{Names: []string{"--show"}, Arg: "A,B,C", Text: "show these events only (default: all)"},
				{Names: []string{"--sort"}, Arg: "A,B,C", Text: "begin with the first of these events (default: in the profile's order)"},
				{Names: []string{"--threshold"}, Arg: "N", Text: "show functions from N % of the first event on, 0 to 20 (0.1)"},
				{Names: []string{"--context"}, Arg: "N", Text: "show N lines of context before and after lines with counts (8)"},
				usageEditor, usageDerived,
			}, usageMod)},
			usageSelect, usageSources, usageCompare,
		},
		Operands: usage.Files,
		Sections: []usage.Section{usageStatuses},
		SeeAlso:  []string{"cgemu(1)", "cgemu-annotate(1)", "cgemu-diff(1)"},
	}
})

// A view is the options of View.
type view struct {
	*options
	listen string
	open   bool
}

// viewOptions are those of annotate that have a meaning for a page, and its own.
func (v *view) viewOptions() []option {
	said := append(slices.Clone(usageMod), viewCommand().Options()...)
	list := slices.DeleteFunc(v.annotateOptions(bufio.NewWriter(io.Discard)), func(o option) bool {
		return !slices.ContainsFunc(said, func(s usage.Option) bool { return slices.Contains(s.Names, o.names[0]) })
	})
	return append(list,
		option{names: []string{"--listen"}, own: true, set: text(&v.listen)},
		option{names: []string{"--open"}, own: true, flag: func(string) { v.open = true }})
}

// View shows profiles as a page in a browser, until a signal ends it.
func View(name string, args []string, stdout, stderr io.Writer) int {
	o := newOptions(name, args, stdout)
	v := view{o, serve.DefaultAddress, false}
	out := bufio.NewWriter(stdout)
	p := parser{
		name:     name,
		options:  slices.Concat(helpOptions(out, name, viewCommand()), v.viewOptions()),
		operands: []operand{{"cachegrind-out-file", true}},
	}
	values, stop, err := p.parse(args)
	defer o.closeImages()
	usage := fmt.Sprintf(viewUsage, name)
	if err == nil && !stop {
		if err = needed(p.used, o.diff, "--diff", compareOptions...); err == nil {
			err = v.checkAddress()
		}
	}
	if err == nil && !stop {
		o.take(values[0], stderr)
		var r *annotate.Report
		if r, err = v.read(); err == nil { // signals end that as they do: a profile may be a FIFO that nobody writes to
			ctx, end := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer end()
			err = v.serve(ctx, r, out)
		}
	}
	return finish(name, usage+p.why, err, out, stderr)
}

// checkAddress refuses an address at which nothing is served.
func (v *view) checkAddress() error {
	if err := serve.CheckAddress(v.listen); err != nil {
		return usagef("argument --listen: %v", err)
	}
	return nil
}

// read makes the report.
func (v *view) read() (*annotate.Report, error) {
	if v.diff && len(v.files) != 2 {
		return nil, usagef("argument --diff: needs two profiles")
	}
	if err := v.modError(); err != nil {
		return nil, err
	}
	v.format = "html"
	if len(v.files) == 1 {
		_, err := os.Stat(v.files[0] + cgout.InsnsSuffix)
		v.Asm = err == nil
	}
	return v.report("annotate")
}

// serve shows the report until ctx is done.
func (v *view) serve(ctx context.Context, r *annotate.Report, out *bufio.Writer) error {
	ln, err := serve.Listen(v.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	url := serve.URL(ln)
	fmt.Fprintf(out, "%s\n", url)
	if err := out.Flush(); err != nil {
		ln.Close()
		return cannotWrite(err)
	}
	if v.open {
		if err := Browse(url); err != nil {
			ln.Close()
			return err
		}
	}
	s := serve.Server{Content: func() (serve.Content, error) { return serve.Content{Report: r, Version: 1}, nil }}
	return s.Serve(ctx, ln)
}

// Browse opens an address in the browser of the desktop.
func Browse(url string) error {
	command := []string{"xdg-open", url}
	switch runtime.GOOS {
	case "darwin":
		command[0] = "open"
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", url}
	}
	c := exec.Command(command[0], command[1:]...)
	if err := c.Start(); err != nil {
		return fmt.Errorf("--open: %w; open %s yourself", err, url)
	}
	go c.Wait()
	return nil
}

// PageOptions are the options of a page of a run that is shown while it lasts: those that annotate --html has without
// any.
func PageOptions() annotate.Options {
	o := annotate.Defaults()
	o.CallGraph = true
	o.Dir, _ = os.Getwd() // without it no sources are told apart
	return o
}
