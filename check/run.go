package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/annotate"
	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/dwarfmap"
	"github.com/cgemu/cgemu/internal/glob"
)

// The least part of all counts that a function has which is kept in a baseline, one in so many: of the benchmark's own
// code, and of other code, as libraries.
const (
	ownShare   = 1000
	otherShare = 200
)

// A Measurement is what a run of a benchmark counted.
type Measurement struct {
	// Counts is what a baseline has of it.
	*Counts
	// All are the counts of all functions, those included that a baseline leaves out.
	All map[string]uint64
	// Lines are the busiest lines of each function of Functions, by its first event, the busiest first.
	Lines map[string][]Line
	// Result is what the run left. Its profile has the counts of other processes and of dumps, too, and Children is
	// empty.
	Result *cgemu.Result
}

// A Line is a line of a source file, and what it counted.
type Line struct {
	File  string `json:"file"`
	Line  int    `json:"line"`
	Count uint64 `json:"count"`
}

// maxLines is how many lines of a function are kept.
const maxLines = 3

// Run runs a benchmark. An error says what is wrong with the program or the manifest: that it is not there, that it
// ended in another way than expected, that nothing was counted.
func (m *Manifest) Run(ctx context.Context, b *Benchmark) (*Measurement, error) {
	cfg, err := m.config(b)
	if err != nil {
		return nil, err
	}
	if b.Image != "" {
		if err := m.intoImage(b, cfg); err != nil {
			return nil, err
		}
		defer cfg.Image.Close()
	}
	if b.Stdin != "" {
		file := filepath.Join(m.Dir, b.Stdin)
		if info, err := os.Stat(file); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
			return nil, fmt.Errorf("stdin: %s is a FIFO: a file is expected, which each run reads from its beginning", b.Stdin)
		}
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		cfg.Stdin = f
	}
	now, err := m.RunConfig(ctx, b, cfg)
	var there error
	if b.Image == "" {
		_, there = os.Stat(cfg.Path)
	}
	switch {
	case errors.Is(there, fs.ErrNotExist):
		err = m.missing(b, &guestFiles{}, cfg.Path)
	case errors.Is(err, fs.ErrNotExist) && cfg.Isolate != "":
		err = fmt.Errorf("%w (the program finds %s at /work, and nothing in /tmp: see isolate)", err, cfg.Isolate)
	}
	return now, err
}

// RunConfig is Run for a configuration that was made elsewhere: of b it takes what is expected and compared. Standard
// error and messages go into the error, unless the configuration says where to.
func (m *Manifest) RunConfig(ctx context.Context, b *Benchmark, c *cgemu.Config) (*Measurement, error) {
	cfg := *c
	var said, logged tail
	if cfg.Stderr == nil {
		cfg.Stderr = &said
	}
	if cfg.Log == nil {
		cfg.Log = &logged
	}
	var dumped []*cgout.Profile
	cfg.OnDump = func(_ int, p *cgout.Profile) { dumped = append(dumped, p) }
	opened := map[string]bool{}
	tell := cfg.OnOpen
	cfg.OnOpen = func(path string) {
		opened[path] = true
		if tell != nil {
			tell(path)
		}
	}
	res, err := cgemu.Run(ctx, cfg)
	if err != nil {
		return nil, runError{err}
	}
	if x := res.Exit; x.Signal != 0 || x.Code != b.Status || x.Interrupted || x.Limit || x.Deadlock {
		return nil, fmt.Errorf("%v, expected exit status %d%s", x, b.Status, lastLine(said.String())+lastLine(logged.String()))
	}
	profile := res.Profile
	for _, c := range res.Children {
		dumped = append(dumped, c.Profile)
	}
	res.Children = nil
	for _, p := range dumped {
		if err := profile.Merge(p); err != nil {
			return nil, err
		}
	}
	return m.measure(b, &cfg, res, opened, logged.String())
}

// config is how a benchmark is run.
func (m *Manifest) config(b *Benchmark) (*cgemu.Config, error) {
	dir, err := filepath.Abs(filepath.Join(m.Dir, b.Dir))
	if err != nil {
		return nil, err
	}
	if b.Image == "" {
		switch info, err := os.Stat(dir); {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("dir: %s is not there", b.Dir)
		case err != nil:
			return nil, fmt.Errorf("dir: %w", err)
		case !info.IsDir():
			return nil, fmt.Errorf("dir: %s is no directory", b.Dir)
		}
	}
	program := b.Run[0]
	switch {
	case b.Image != "": // intoImage finds it
	case filepath.IsAbs(program):
	case strings.Contains(program, "/"):
		program = filepath.Join(dir, program)
	default:
		if program, err = exec.LookPath(program); err == nil {
			break
		}
		if _, e := os.Stat(filepath.Join(dir, b.Run[0])); e == nil {
			err = fmt.Errorf("%w; did you mean %q?", err, "./"+b.Run[0])
		}
		return nil, err
	}
	cfg := &cgemu.Config{
		Path: program, Args: b.Run, Env: b.environ(), Dir: dir, CPU: b.CPU, Branches: b.Branches, MaxInsns: b.MaxInsns, TraceChildren: b.Children == nil || *b.Children,
		Names:   dwarfmap.Options{Demangle: true},
		CodeDir: cgemu.DefaultCodeDir(),
		Regions: cgemu.Regions{Toggle: b.ToggleCollect, From: b.From, To: b.To},
	}
	if top := b.isolation(); top != "" {
		if cfg.Isolate, err = filepath.Abs(filepath.Join(m.Dir, top)); err != nil {
			return nil, err
		}
	}
	if b.Caches {
		caches, err := cachesim.PresetByName("default")
		if err != nil {
			return nil, err
		}
		cfg.Caches = &caches
	}
	return cfg, nil
}

// intoImage opens a benchmark's image, and has the benchmark be run in it.
func (m *Manifest) intoImage(b *Benchmark, cfg *cgemu.Config) error {
	name := b.Image
	if !filepath.IsAbs(name) {
		name = filepath.Join(cmp.Or(m.imageDir, m.Dir), name)
	}
	image, err := cgemu.OpenImage(name, cgemu.DefaultImageCache())
	if err != nil {
		return fmt.Errorf("image: %w", err)
	}
	cfg.Image = image
	cfg.Env = append(slices.DeleteFunc(slices.Clone(image.Config().Env), func(e string) bool {
		name, _, ok := strings.Cut(e, "=")
		_, own := b.Env[name]
		return !ok || name == "" || own
	}), cfg.Env...)
	for _, v := range b.Volumes {
		bind, err := parseVolume(v)
		if err == nil && !filepath.IsAbs(bind.Host) {
			bind.Host, err = filepath.Abs(filepath.Join(m.Dir, bind.Host))
		}
		if err != nil {
			return errors.Join(err, image.Close())
		}
		cfg.Binds = append(cfg.Binds, bind)
	}
	files, err := filesOfRun(cfg)
	if err == nil && !strings.Contains(b.Run[0], "/") {
		cfg.Path, err = files.find(b.Run[0], cfg.Env)
	} else if err == nil {
		cfg.Path, err = files.program(cfg)
	}
	if err == nil {
		if _, there := files.stat(cfg.Path); errors.Is(there, fs.ErrNotExist) {
			err = m.missing(b, files, cfg.Path)
		}
	}
	if err != nil {
		return errors.Join(err, image.Close())
	}
	return nil
}

// A runError is the error of a run without the name of the package that runs it: a report has the benchmark's there.
type runError struct{ error }

// Error implements error.
func (e runError) Error() string { return strings.TrimPrefix(e.error.Error(), "cgemu: ") }

// Unwrap returns the whole error.
func (e runError) Unwrap() error { return e.error }

// missing is the error for a program that is not there.
func (m *Manifest) missing(b *Benchmark, files *guestFiles, program string) error {
	_, host := files.host(program)
	switch {
	case !host:
		return fmt.Errorf("%s is not in the image %s", program, b.Image)
	case len(m.Build) > 0:
		return fmt.Errorf("%s is not there: --build runs the manifest's build command", b.Run[0])
	}
	return fmt.Errorf("%s is not there: was it built?", b.Run[0])
}

// ErrNothing is the error of a run that counted nothing.
var ErrNothing = errors.New("nothing was counted")

// measure takes what is compared out of a run's result. opened are the files of the host that were opened.
func (m *Manifest) measure(b *Benchmark, cfg *cgemu.Config, res *cgemu.Result, opened map[string]bool, log string) (*Measurement, error) {
	p := res.Profile
	out := &Measurement{Counts: newCounts(), Lines: map[string][]Line{}, Result: res}
	for _, e := range b.Events {
		if !slices.Contains(p.Events, e) {
			return nil, fmt.Errorf("event %s is not counted: there are %s (cache-sim and branch-sim count more)", e, strings.Join(p.Events, ", "))
		}
		out.Events[e] = p.Total(e)
	}
	if p.Total(p.Events[0]) == 0 {
		why := ""
		if r := cfg.Regions; len(r.Toggle)+len(r.From)+len(r.To) > 0 {
			why = ": a function of toggle-collect, from or to was never entered, or inlined"
		}
		return nil, fmt.Errorf("%w%s%s", ErrNothing, why, lastLine(strings.ReplaceAll(log, "cgemu: ", "")))
	}
	files, err := filesOfRun(cfg)
	if err != nil {
		return nil, err
	}
	names := m.sourceNames(b, files.onHost(append([]string{cfg.Path}, res.Programs...)), filesOf(p))
	names.functions(b, p, out)
	for _, f := range b.Functions {
		if out.Limited[f.Name] == 0 {
			return nil, fmt.Errorf("limit of functions %q: no function that counted is called so; was it inlined, or the program stripped?", f.Name)
		}
	}
	return out, m.fingerprint(b, cfg, res, names, files, opened, out.Fingerprint)
}

// functions fills in the functions that have a share worth keeping, or a limit.
func (s *sourceNames) functions(b *Benchmark, p *cgout.Profile, out *Measurement) {
	i := slices.Index(p.Events, b.Events[0])
	lines := map[string][]Line{}
	p.Each(func(file, fn string, line int, counts []uint64) {
		if counts[i] == 0 {
			return
		}
		file = s.name(file)
		key := file + ":" + annotate.StripHash(fn) // whether the compiler makes a clone changes from build to build
		out.Functions[key] += counts[i]
		lines[key] = append(lines[key], Line{file, line, counts[i]})
	})
	b.sumLimited(out.Counts)
	out.All = maps.Clone(out.Functions)
	total := out.Events[b.Events[0]]
	for key, n := range out.All {
		least := total / otherShare
		if file, _, _ := strings.Cut(key, ":"); ours(file) {
			least = total / ownShare
		}
		if n < least && !b.limited(key) {
			delete(out.Functions, key)
		}
		l := lines[key]
		slices.SortStableFunc(l, func(x, y Line) int { return cmp.Compare(y.Count, x.Count) })
		out.Lines[key] = l[:min(len(l), maxLines)]
	}
}

// filesOf lists the source files that a profile names.
func filesOf(p *cgout.Profile) (files []string) {
	seen := map[string]bool{}
	p.Each(func(file, _ string, _ int, _ []uint64) {
		if !seen[file] {
			seen[file] = true
			files = append(files, file)
		}
	})
	return files
}

// Whole is what was counted with all functions: more than a baseline has.
func (m *Measurement) Whole() *Counts {
	c := *m.Counts
	c.Functions, c.whole = m.All, true
	return &c
}

// limited reports whether a function has a limit of its own.
func (b *Benchmark) limited(key string) bool {
	return slices.ContainsFunc(b.Functions, func(f FunctionLimit) bool { return f.matches(key) })
}

// matches reports whether f speaks of a function, by its name or by file and name.
func (f *FunctionLimit) matches(key string) bool {
	_, name, _ := strings.Cut(key, ":")
	return glob.Match(f.Name, name) || glob.Match(f.Name, key)
}

// ours reports whether a file of a baseline is of the project.
func ours(file string) bool {
	return file != cgout.Unknown && !strings.HasPrefix(file, "/") && !strings.HasPrefix(file, "./")
}

// maxTail is how much is kept of what a program says, and maxLine how much of a line of it an error has, in bytes.
const (
	maxTail = 1 << 20
	maxLine = 1000
)

// A tail keeps the end of what was written to it, maxTail at least.
type tail struct{ text []byte }

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.text = append(t.text, b[max(len(b)-maxTail, 0):]...)
	if len(t.text) > 2*maxTail {
		t.text = append(t.text[:0], t.text[len(t.text)-maxTail:]...)
	}
	return len(b), nil
}

func (t *tail) String() string { return string(t.text) }

// lastLine is the last line of text behind a colon, for an error: what a terminal would take for a command is visible.
func lastLine(text string) string {
	line := lastOf(text)
	if len(line) > maxLine {
		line = strings.ToValidUTF8(line[:maxLine], "") + "…"
	}
	return annotate.Visible(line)
}

func lastOf(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	if i := strings.Index("\n"+text, "\npanic: "); i >= 0 { // Go's stacks stand behind the reason
		line, _, _ := strings.Cut(text[i:], "\n")
		return ": " + line
	}
	return ": " + text[strings.LastIndexByte(text, '\n')+1:]
}
