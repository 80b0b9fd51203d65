package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/cgemu/cgemu/annotate"
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
	against      string
	build        bool
	shard        string
	merge        bool
	stderr       io.Writer
}

// flags returns the options, to be parsed into c. What they mean is in checkReference.
func (c *checkCommand) flags(name string) *pflag.FlagSet {
	f := pflag.NewFlagSet(name, pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.BoolVar(&c.update, "update", false, "")
	f.BoolVar(&c.list, "list", false, "")
	f.StringSliceVar(&c.filter, "filter", nil, "")
	f.StringArrayVar(&c.reports, "report", nil, "")
	f.StringVar(&c.manifest, "manifest", check.ManifestName, "")
	f.StringVar(&c.against, "against", "", "")
	f.StringVar(&c.shard, "shard", "", "")
	f.BoolVar(&c.build, "build", false, "")
	f.BoolVar(&c.merge, "merge", false, "")
	f.IntVarP(&c.jobs, "jobs", "j", 1, "")
	return f
}

// runCheck is `cgemu check`.
func runCheck(name string, args []string, stdout, stderr io.Writer) int {
	c := checkCommand{stderr: stderr}
	f := c.flags(name)
	err := suggestFlag(f, f.Parse(args))
	switch {
	case errors.Is(err, pflag.ErrHelp):
		if _, err = io.WriteString(stdout, checkReference().Help(name)); err == nil {
			return 0
		}
	case err == nil:
		err = c.check(f)
	}
	if err == nil {
		if f.NArg() == 1 && !c.merge {
			c.manifest = f.Arg(0)
		}
		var status int
		if status, err = c.run(stdout, f.Args()); err == nil {
			return status
		}
	}
	if missing := new(fs.PathError); errors.Is(err, fs.ErrNotExist) && errors.As(err, &missing) && missing.Path == c.manifest {
		err = fmt.Errorf("%w (a manifest says what to run: cgemu help check)", err)
	}
	fmt.Fprintf(stderr, "%s: %v\n", name, err)
	return checkFailed
}

// check refuses options that do not go together.
func (c *checkCommand) check(f *pflag.FlagSet) error {
	switch {
	case f.NArg() > 1 && !c.merge:
		return fmt.Errorf("one manifest expected, got %d", f.NArg())
	case f.NArg() == 0 && c.merge:
		return errors.New("--merge: no reports")
	case c.merge && (c.against != "" || c.shard != "" || c.build || c.list || len(c.filter) > 0):
		return errors.New("--merge runs nothing: not with --against, --build, --filter, --list, --shard")
	case f.Changed("against") && c.against == "":
		return errors.New("--against: no revision (is the variable that has it empty?)")
	case c.against != "" && c.update:
		return errors.New("--against and --update: not both, the baseline is not looked at")
	case c.jobs < 1:
		return errors.New("--jobs: at least 1")
	}
	return c.checkReports()
}

func (c *checkCommand) run(stdout io.Writer, args []string) (int, error) {
	m, err := check.Load(c.manifest)
	if err == nil && !c.merge {
		err = checkHost()
	}
	if err != nil {
		return 0, err
	}
	var report *check.Report
	var ctx context.Context
	if c.merge {
		report, err = mergeReports(m, args)
		ctx = untilSignal()
	} else {
		var chosen []*check.Benchmark
		if chosen, err = c.choose(m); err == nil && c.list {
			for _, b := range chosen {
				fmt.Fprintln(stdout, b.Name)
			}
			return 0, nil
		}
		var old check.Baseline
		if err == nil && c.against == "" {
			// Signals still end cgemu as they do by default: opening a FIFO waits for who writes to it.
			old, err = c.oldBaseline(m)
		}
		ctx = untilSignal()
		if err == nil {
			report, err = c.compare(ctx, m, chosen, old)
		}
	}
	var by endSignal
	if errors.As(context.Cause(ctx), &by) {
		fmt.Fprintln(c.stderr, "cgemu check: interrupted")
		return by.status(), nil
	}
	if err != nil {
		return 0, err
	}
	if err := c.write(ctx, report, stdout); err != nil {
		return 0, err
	}
	if c.update {
		if err := updateBaseline(ctx, m, report, stdout); err != nil {
			return 0, err
		}
	}
	switch {
	case report.Failed():
		return checkFailed, nil
	case c.update:
	case report.Regressed():
		return checkRegressed, nil
	case report.Stale() && c.against == "":
		c.tellStale(m, report)
		return checkRegressed, nil
	}
	return 0, nil
}

// tellStale says that the baseline has to be written, and why.
func (c *checkCommand) tellStale(m *check.Manifest, report *check.Report) {
	file, update := filepath.Join(m.Dir, m.Baseline), "cgemu check --update"
	if len(m.Build) > 0 {
		update = "cgemu check --build --update"
	}
	_, err := os.Stat(file)
	switch {
	case err != nil:
		fmt.Fprintf(c.stderr, "cgemu check: there is no %s: %s writes it, to be committed\n", file, update)
	case report.Lacks():
		fmt.Fprintf(c.stderr, "cgemu check: %s lacks some of this: %s takes today's counts, to be committed\n", file, update)
	default:
		fmt.Fprintf(c.stderr, "cgemu check: %s has counts of something else: %s takes today's, to be committed\n", file, update)
	}
}

// compare runs benchmarks, and compares what they count with the baseline, which is old, or with another revision.
func (c *checkCommand) compare(ctx context.Context, m *check.Manifest, chosen []*check.Benchmark, old check.Baseline) (*check.Report, error) {
	var against string
	if c.against == "" {
		c.tellGone(m, old)
	} else {
		var err error
		if old, against, err = c.measureAt(ctx, m, chosen); err != nil {
			return nil, err
		}
	}
	if c.build || c.against != "" && len(m.Build) > 0 {
		if err := m.RunBuild(ctx, c.stderr); err != nil {
			return nil, err
		}
	}
	report := &check.Report{Results: make([]check.Result, len(chosen)), Dir: topDir(m.Dir), Against: against}
	c.measure(ctx, m, chosen, func(i int, now *check.Measurement, err error) {
		if b := chosen[i]; err != nil {
			report.Results[i] = check.Result{Name: b.Name, Group: b.Group, Verdict: check.Failed, Err: err}
		} else {
			report.Results[i] = check.Compare(b, old[b.Name], now)
		}
	})
	return report, nil
}

// tellGone names the benchmarks that the baseline alone has: nothing holds them to their counts any more.
func (c *checkCommand) tellGone(m *check.Manifest, old check.Baseline) {
	gone := old.Gone(m)
	if len(gone) == 0 {
		return
	}
	then := "--update takes them out"
	if c.update {
		then = "they are taken out"
	}
	fmt.Fprintf(c.stderr, "cgemu check: %s has counts of %s, which the manifest does not have any more: %s\n", filepath.Join(m.Dir, m.Baseline), annotate.Visible(strings.Join(gone, ", ")), then)
}

// topDir is a directory as annotations have to name it: from the top of the repository on, where a CI says that it is
// or git has it.
func topDir(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	for _, v := range []string{"GITHUB_WORKSPACE", "CI_PROJECT_DIR"} {
		if top := os.Getenv(v); top != "" {
			if rel, err := filepath.Rel(top, abs); err == nil && filepath.IsLocal(rel) {
				return rel
			}
		}
	}
	if rel, ok := check.FromTop(dir); ok {
		return rel
	}
	return dir
}

// oldBaseline is what there is to be compared with. Whoever writes all of it anew need not have been able to read it.
func (c *checkCommand) oldBaseline(m *check.Manifest) (check.Baseline, error) {
	old, err := readBaseline(m)
	if err != nil && c.update && c.shard == "" && len(c.filter) == 0 {
		fmt.Fprintf(c.stderr, "cgemu check: %v; it is written anew\n", err)
		return check.Baseline{}, nil
	}
	return old, err
}

// measureAt counts in the commit from which this one has parted from another revision, and says which that is. A
// benchmark that cannot be run there is new.
func (c *checkCommand) measureAt(ctx context.Context, m *check.Manifest, chosen []*check.Benchmark) (old check.Baseline, against string, err error) {
	commit, err := m.Base(ctx, c.against)
	if err != nil {
		return nil, "", err
	}
	against = fmt.Sprintf("%.12s", commit)
	if !strings.HasPrefix(commit, c.against) {
		against = c.against + " (" + against + ")"
	}
	if m.IsHead(ctx, commit) {
		against += ", from which nothing but uncommitted changes differ"
	}
	at, remove, err := m.At(ctx, commit, c.stderr)
	if err != nil {
		return nil, "", err
	}
	counts, errs := make([]*check.Counts, len(chosen)), make([]error, len(chosen))
	c.measure(ctx, at, chosen, func(i int, now *check.Measurement, err error) {
		if errs[i] = err; err == nil {
			counts[i] = now.Whole()
		}
	})
	old = check.Baseline{}
	for i, b := range chosen {
		switch {
		case errs[i] != nil && len(m.Build) == 0:
			err = errors.Join(err, fmt.Errorf("%s in %s: %w (the manifest has no build command: build = [\"make\"])", b.Name, against, errs[i]))
		case errs[i] != nil:
			fmt.Fprintf(c.stderr, "cgemu check: %s in %s: %v\n", b.Name, against, errs[i])
		default:
			old[b.Name] = counts[i]
		}
	}
	return old, against, errors.Join(err, remove())
}

// updateBaseline takes what a report counted into the baseline.
func updateBaseline(ctx context.Context, m *check.Manifest, report *check.Report, stdout io.Writer) error {
	b, err := readBaseline(m)
	if err != nil {
		b = check.Baseline{} // whose benchmarks are all in the report: see oldBaseline
	}
	measured := false
	for _, r := range report.Results {
		if r.Now != nil {
			b[r.Name], measured = r.Now, true
		}
	}
	if !measured {
		return nil
	}
	b.Keep(m)
	file := filepath.Join(m.Dir, m.Baseline)
	if err := outfile.Write(ctx, file, 0o644, b.Write); err != nil {
		return fmt.Errorf("%s cannot be written: %w", file, err)
	}
	fmt.Fprintf(stdout, "wrote %s\n", file)
	return nil
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
			spoken = spoken || format != "github" // whose annotations may stand in a log
			err = write(stdout)
		} else {
			err = outfile.Write(ctx, file, 0o644, write)
		}
		if err != nil {
			return fmt.Errorf("--report: %s: %v", file, err)
		}
	}
	if spoken {
		return nil
	}
	return report.WriteText(stdout)
}

// choose returns the benchmarks that the filter lets through: those of the part, if there is one.
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
	if c.shard == "" {
		return out, nil
	}
	s, err := parseShard(c.shard, os.Getenv)
	if err != nil {
		return nil, err
	}
	part := s.of(out)
	if len(part) == 0 {
		fmt.Fprintf(c.stderr, "cgemu check: --shard=%s: this part has no benchmark: there are fewer, %d, than parts\n", c.shard, len(out))
	}
	return part, nil
}

// measure runs benchmarks, so many at once as is said, and hands over what each counted, or why it could not.
func (c *checkCommand) measure(ctx context.Context, m *check.Manifest, chosen []*check.Benchmark, done func(i int, now *check.Measurement, err error)) {
	var running sync.WaitGroup
	slots := make(chan struct{}, c.jobs)
	for i, b := range chosen {
		slots <- struct{}{}
		running.Go(func() {
			now, err := m.Run(ctx, b)
			if text := cure(err); text != "" {
				err = fmt.Errorf("%w%s", err, text)
			}
			done(i, now, err)
			<-slots
		})
	}
	running.Wait()
}

// readBaseline reads a manifest's baseline, if there is one.
func readBaseline(m *check.Manifest) (check.Baseline, error) {
	file := filepath.Join(m.Dir, m.Baseline)
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
