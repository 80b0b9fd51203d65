package check

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"encoding/hex"
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

// The least part of all counts that a function has which is kept in a baseline, one in so many: of the benchmark's own code, and of other
// code, as libraries.
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
	// Result is what the run left; the counts of other processes and of dumps are added to its profile.
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

// Run runs a benchmark. An error says what is wrong with the program or the manifest: that it is not there, that it ended in another
// way than expected, that nothing was counted.
func (m *Manifest) Run(ctx context.Context, b *Benchmark) (*Measurement, error) {
	cfg, err := m.config(b)
	if err != nil {
		return nil, err
	}
	if b.Stdin != "" {
		f, err := os.Open(filepath.Join(m.Dir, b.Stdin))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		cfg.Stdin = f
	}
	now, err := m.RunConfig(ctx, b, cfg)
	_, there := os.Stat(cfg.Path)
	switch {
	case errors.Is(there, fs.ErrNotExist) && len(m.Build) > 0:
		err = fmt.Errorf("%s is not there: --build runs the manifest's build command", b.Run[0])
	case errors.Is(there, fs.ErrNotExist):
		err = fmt.Errorf("%s is not there: was it built?", b.Run[0])
	case errors.Is(err, fs.ErrNotExist) && cfg.Isolate != "":
		err = fmt.Errorf("%w (the program finds %s at /work, and nothing in /tmp: see isolate)", err, cfg.Isolate)
	}
	return now, err
}

// RunConfig is Run for a configuration that was made elsewhere: of b it takes what is expected and compared. Standard error and messages
// go into the error, unless the configuration says where to.
func (m *Manifest) RunConfig(ctx context.Context, b *Benchmark, c *cgemu.Config) (*Measurement, error) {
	cfg := *c
	var said, logged bytes.Buffer
	if cfg.Stderr == nil {
		cfg.Stderr = &said
	}
	if cfg.Log == nil {
		cfg.Log = &logged
	}
	var dumped []*cgout.Profile
	cfg.OnDump = func(_ int, p *cgout.Profile) { dumped = append(dumped, p) }
	res, err := cgemu.Run(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if x := res.Exit; x.Signal != 0 || x.Code != b.Status || x.Interrupted || x.Limit || x.Deadlock {
		return nil, fmt.Errorf("%v, expected exit status %d%s", x, b.Status, lastLine(said.String()))
	}
	profile := res.Profile
	for _, c := range res.Children {
		dumped = append(dumped, c.Profile)
	}
	for _, p := range dumped {
		if err := profile.Merge(p); err != nil {
			return nil, err
		}
	}
	return m.measure(b, &cfg, res, profile, logged.String())
}

// config is how a benchmark is run.
func (m *Manifest) config(b *Benchmark) (*cgemu.Config, error) {
	dir, err := filepath.Abs(filepath.Join(m.Dir, b.Dir))
	if err != nil {
		return nil, err
	}
	program := b.Run[0]
	if strings.Contains(program, "/") {
		if !filepath.IsAbs(program) {
			program = filepath.Join(dir, program)
		}
	} else if program, err = exec.LookPath(program); err != nil {
		if _, e := os.Stat(filepath.Join(dir, b.Run[0])); e == nil {
			err = fmt.Errorf("%w; did you mean %q?", err, "./"+b.Run[0])
		}
		return nil, err
	}
	cfg := &cgemu.Config{
		Path: program, Args: b.Run, Env: b.environ(), Dir: dir, CPU: b.CPU, Branches: b.Branches, MaxInsns: b.MaxInsns, TraceChildren: b.Children,
		Names:   dwarfmap.Options{Demangle: true},
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

// measure takes what is compared out of a run's result.
func (m *Manifest) measure(b *Benchmark, cfg *cgemu.Config, res *cgemu.Result, p *cgout.Profile, log string) (*Measurement, error) {
	out := &Measurement{Counts: newCounts(), Lines: map[string][]Line{}, Result: res}
	for _, e := range b.Events {
		if !slices.Contains(p.Events, e) {
			return nil, fmt.Errorf("event %s is not counted: there are %s (cache-sim and branch-sim count more)", e, strings.Join(p.Events, ", "))
		}
		out.Events[e] = p.Total(e)
	}
	if p.Total(p.Events[0]) == 0 {
		why := "nothing was counted"
		if r := cfg.Regions; len(r.Toggle)+len(r.From)+len(r.To) > 0 {
			why += ": a function of toggle-collect, from or to was never entered, or inlined"
		}
		return nil, errors.New(why + lastLine(strings.ReplaceAll(log, "cgemu: ", "")))
	}
	m.functions(b, p, out)
	for _, f := range b.Functions {
		if out.Limited[f.Name] == 0 {
			return nil, fmt.Errorf("limit of functions %q: no function that counted is called so; was it inlined, or the program stripped?", f.Name)
		}
	}
	return out, m.fingerprint(b, cfg, res, out.Fingerprint)
}

// functions fills in the functions that have a share worth keeping, or a limit.
func (m *Manifest) functions(b *Benchmark, p *cgout.Profile, out *Measurement) {
	i := slices.Index(p.Events, b.Events[0])
	lines := map[string][]Line{}
	p.Each(func(file, fn string, line int, counts []uint64) {
		if counts[i] == 0 {
			return
		}
		file = m.source(file)
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

// source is a source file as a baseline names it: one that is below the manifest's directory from there on, so that it is the same in
// every clone; others begin with "/" or "./".
func (m *Manifest) source(file string) string {
	dir, err := filepath.Abs(m.Dir)
	if err != nil || file == cgout.Unknown {
		return file
	}
	if !filepath.IsAbs(file) {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			return "./" + filepath.Clean(file)
		}
		return filepath.Clean(file)
	}
	if rest, ok := strings.CutPrefix(filepath.Clean(file), strings.TrimSuffix(dir, "/")+"/"); ok {
		return rest
	}
	return file
}

// ours reports whether a file of a baseline is below the manifest's directory.
func ours(file string) bool {
	return file != cgout.Unknown && !strings.HasPrefix(file, "/") && !strings.HasPrefix(file, "./")
}

// fingerprint says what the counts depend on.
func (m *Manifest) fingerprint(b *Benchmark, cfg *cgemu.Config, res *cgemu.Result, out map[string]string) error {
	out["counting"] = cgemu.CountingRules
	out["cpu"] = res.CPU
	out["command"] = strings.Join(b.Run, " ")
	if len(cfg.Env) > 0 {
		out["env"] = strings.Join(cfg.Env, " ")
	}
	if cfg.Isolate == "" {
		out["isolate"] = "no"
	}
	for what, list := range map[string][]string{"toggle-collect": cfg.Regions.Toggle, "from": cfg.Regions.From, "to": cfg.Regions.To} {
		if len(list) > 0 {
			out[what] = strings.Join(list, " ")
		}
	}
	if cfg.Caches != nil {
		out["caches"] = strings.Join(cfg.Caches.Describe(), ", ")
	}
	files := map[string][]string{"program": {cfg.Path}}
	if b.Stdin != "" {
		files["stdin"] = []string{filepath.Join(m.Dir, b.Stdin)}
	}
	own, err := filepath.EvalSymlinks(cfg.Path)
	if err != nil {
		return err
	}
	for _, o := range res.Objects {
		if o != own && o != cfg.Path {
			files["libraries"] = append(files["libraries"], o)
		}
	}
	if c := compiler(own); c != "" {
		out["compiler"] = c
	}
	for what, names := range files {
		d, err := digest(names)
		if err != nil {
			return err
		}
		out[what] = d
	}
	return nil
}

// compiler names what made a program, as its section .comment does, or Go's build information: "" if neither is there.
func compiler(program string) string {
	if info, err := buildinfo.ReadFile(program); err == nil {
		return info.GoVersion
	}
	f, err := elf.Open(program)
	if err != nil {
		return ""
	}
	defer f.Close()
	s := f.Section(".comment")
	if s == nil || s.Size > maxComment {
		return ""
	}
	text, err := s.Data()
	if err != nil {
		return ""
	}
	names := strings.FieldsFunc(string(text), func(r rune) bool { return r == 0 })
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// maxComment is how much of a program's .comment is read.
const maxComment = 4 << 10

// digest is that of files, one after the other.
func digest(names []string) (string, error) {
	h := sha256.New()
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		sum := sha256.Sum256(text)
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// lastLine is the last line of text behind a colon, for an error.
func lastLine(text string) string {
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
