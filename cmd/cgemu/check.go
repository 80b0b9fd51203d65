package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/cgemu/cgemu/check"
	"github.com/cgemu/cgemu/internal/glob"
	"github.com/cgemu/cgemu/internal/outfile"
	"github.com/cgemu/cgemu/internal/spell"
)

// Exit statuses of check.
const (
	checkRegressed = 1
	checkFailed    = 2
)

// A checkCommand is the command line of check.
type checkCommand struct {
	manifest     string
	update, list bool
	filter       []string
	jobs         int
	reports      []string
}

// flags returns the options, to be parsed into c. What they mean is in checkReference.
func (c *checkCommand) flags(name string) *pflag.FlagSet {
	f := pflag.NewFlagSet(name, pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.BoolVar(&c.update, "update", false, "")
	f.BoolVar(&c.list, "list", false, "")
	f.StringSliceVar(&c.filter, "filter", nil, "")
	f.StringArrayVar(&c.reports, "report", nil, "")
	f.IntVarP(&c.jobs, "jobs", "j", 1, "")
	return f
}

// runCheck is `cgemu check`.
func runCheck(name string, args []string, stdout, stderr io.Writer) int {
	c := checkCommand{manifest: check.ManifestName}
	f := c.flags(name)
	err := suggestFlag(f, f.Parse(args))
	switch {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprint(stdout, checkReference.Help(name))
		return 0
	case err == nil && f.NArg() > 1:
		err = fmt.Errorf("one manifest expected, got %d", f.NArg())
	case err == nil && c.jobs < 1:
		err = errors.New("--jobs: at least 1")
	case err == nil:
		err = c.checkReports()
	}
	if err == nil {
		if f.NArg() == 1 {
			c.manifest = f.Arg(0)
		}
		var status int
		if status, err = c.run(stdout); err == nil {
			return status
		}
	}
	if errors.Is(err, fs.ErrNotExist) && f.NArg() == 0 {
		err = fmt.Errorf("%w (a manifest says what to run: cgemu help check)", err)
	}
	fmt.Fprintf(stderr, "%s: %v\n", name, err)
	return checkFailed
}

func (c *checkCommand) run(stdout io.Writer) (int, error) {
	m, err := check.Load(c.manifest)
	if err != nil {
		return 0, err
	}
	chosen, err := c.choose(m)
	if err != nil {
		return 0, err
	}
	if c.list {
		for _, b := range chosen {
			fmt.Fprintln(stdout, b.Name)
		}
		return 0, nil
	}
	file := filepath.Join(m.Dir, m.Baseline)
	old, err := readBaseline(file)
	if err != nil {
		return 0, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	report, measured := c.measure(ctx, m, chosen, old)
	if err := ctx.Err(); err != nil {
		return 0, errors.New("interrupted")
	}
	if err := c.write(ctx, report, stdout); err != nil {
		return 0, err
	}
	if c.update {
		for name, counts := range measured {
			old[name] = counts
		}
		if err := outfile.Write(ctx, file, 0o644, old.Write); err != nil {
			return 0, err
		}
		fmt.Fprintf(stdout, "wrote %s\n", file)
	}
	switch {
	case report.Failed():
		return checkFailed, nil
	case report.Regressed() && !c.update:
		return checkRegressed, nil
	}
	return 0, nil
}

// checkReports refuses reports that cannot be written.
func (c *checkCommand) checkReports() error {
	for _, r := range c.reports {
		format, file, ok := strings.Cut(r, "=")
		if !ok || file == "" {
			return fmt.Errorf("--report: %q is not FORMAT=FILE", r)
		}
		if !slices.Contains(check.Formats, format) {
			return fmt.Errorf("--report: no format %q%s (%s)", format, spell.Suggest(format, check.Formats), strings.Join(check.Formats, ", "))
		}
	}
	return nil
}

// write writes the reports that are asked for. Standard output gets text if it gets nothing else.
func (c *checkCommand) write(ctx context.Context, report *check.Report, stdout io.Writer) error {
	spoken := false
	for _, r := range c.reports {
		format, file, _ := strings.Cut(r, "=")
		write := func(w io.Writer) error { return report.Write(w, format) }
		var err error
		if file == "-" {
			spoken = true
			err = write(stdout)
		} else {
			err = outfile.Write(ctx, file, 0o644, write)
		}
		if err != nil {
			return err
		}
	}
	if spoken {
		return nil
	}
	return report.WriteText(stdout)
}

// choose returns the benchmarks that the filter lets through.
func (c *checkCommand) choose(m *check.Manifest) ([]*check.Benchmark, error) {
	var out []*check.Benchmark
	for i := range m.Benchmarks {
		b := &m.Benchmarks[i]
		if len(c.filter) == 0 || glob.Any(c.filter, b.Name) || glob.Any(c.filter, b.Group) {
			out = append(out, b)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("--filter: no benchmark has such a name or group; --list shows them")
	}
	return out, nil
}

// measure runs the benchmarks, and compares each with the baseline.
func (c *checkCommand) measure(ctx context.Context, m *check.Manifest, chosen []*check.Benchmark, old check.Baseline) (*check.Report, check.Baseline) {
	report := &check.Report{Results: make([]check.Result, len(chosen)), Dir: m.Dir}
	counts := make([]*check.Counts, len(chosen))
	var running sync.WaitGroup
	slots := make(chan struct{}, c.jobs)
	for i, b := range chosen {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			now, err := m.Run(ctx, b)
			if err != nil {
				report.Results[i] = check.Result{Name: b.Name, Group: b.Group, Verdict: check.Failed, Err: err}
				return
			}
			counts[i] = now.Counts
			report.Results[i] = check.Compare(b, old[b.Name], now)
		})
	}
	running.Wait()
	measured := check.Baseline{}
	for i, b := range chosen {
		if counts[i] != nil {
			measured[b.Name] = counts[i]
		}
	}
	return report, measured
}

// readBaseline reads the baseline, if there is one.
func readBaseline(file string) (check.Baseline, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return check.Baseline{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := check.ReadBaseline(f)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", file, err)
	}
	return b, nil
}
