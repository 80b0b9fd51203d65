package check

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"github.com/cgemu/cgemu/internal/spell"
)

// ManifestName is what a manifest is called unless the user says otherwise.
const ManifestName = "cgemu.toml"

// A Manifest says what is run and compared.
type Manifest struct {
	// Baseline is the file with the counts to compare with, relative to the manifest's directory.
	Baseline string `toml:"baseline"`
	// Build is a command that makes the programs, run in the manifest's directory: with --build, and in the other
	// revision of --against.
	Build []string `toml:"build"`
	// Defaults hold for all benchmarks that do not say otherwise.
	Defaults Settings `toml:"defaults"`
	// Benchmarks are in the order of the file.
	Benchmarks []Benchmark `toml:"benchmark"`

	// Dir is the manifest's directory.
	Dir string `toml:"-"`
	// imageDir is where images are, which a commit need not have; "" for Dir.
	imageDir string
}

// A Benchmark is a program that is run.
type Benchmark struct {
	// Name is unique, and without blanks and #: it begins the lines of the baseline.
	Name string `toml:"name"`
	// Group is a name for several benchmarks.
	Group string `toml:"group"`
	// Run is the program and its arguments. A program with a slash is found from Dir on, another in PATH.
	Run []string `toml:"run"`
	// Functions have limits of their own.
	Functions []FunctionLimit `toml:"function"`
	Settings
}

// Settings are what benchmarks have in common. What the table of a benchmark does not say is as in the defaults.
type Settings struct {
	// Dir is the working directory, relative to the manifest's.
	Dir string `toml:"dir"`
	// Stdin is a file that is read as standard input, relative to the manifest's directory; "" is the null device.
	Stdin string `toml:"stdin"`
	// Env are the variables that the program sees, and no others but the image's.
	Env map[string]string `toml:"env"`
	// Isolate is the directory that the program finds at /work, relative to the manifest's: true, the default, is the
	// manifest's own, false leaves the host's files as they are. See cgemu.Config.
	Isolate any `toml:"isolate"`
	// Image is a container image, or an archive of a root directory, that has the guest's files, relative to the
	// manifest's directory: FILE or FILE:TAG.
	Image string `toml:"image"`
	// Volumes are directories of the host that the guest sees in the image: DIR:PATH or DIR:PATH:ro, with a DIR
	// relative to the manifest's directory.
	Volumes []string `toml:"volumes"`
	// Status is the exit status that is expected.
	Status int `toml:"status"`
	// Events are those that are compared: Ir alone unless said otherwise.
	Events []string `toml:"events"`
	// Limit is how far a count may go up: "1%", 1000, or a table of events with either. The default is nothing at all.
	Limit any `toml:"limit"`
	// CPU is the guest's CPU model, Caches and Branches ask for simulation.
	CPU      string `toml:"cpu"`
	Caches   bool   `toml:"cache-sim"`
	Branches bool   `toml:"branch-sim"`
	// ToggleCollect, From and To say which functions count, as the options of cgemu run do.
	ToggleCollect []string `toml:"toggle-collect"`
	From          []string `toml:"from"`
	To            []string `toml:"to"`
	// MaxInsns ends a run that takes more instructions: it fails.
	MaxInsns uint64 `toml:"max-insns"`
	// Children says whether what other processes count that the program starts is added to its counts: it is unless
	// this is false.
	Children *bool `toml:"trace-children"`
}

// A FunctionLimit is a limit for the functions that a pattern matches, added up.
type FunctionLimit struct {
	// Name is a pattern of functions' names: "*" stands for any text, "?" for any character.
	Name  string `toml:"name"`
	Limit any    `toml:"limit"`
}

// Check refuses a benchmark that cannot be run or compared.
func (b *Benchmark) Check() error { return b.check(map[string]bool{}) }

// Load reads a manifest and checks it.
func Load(name string) (*Manifest, error) {
	text, err := readManifest(name)
	if err != nil {
		return nil, err
	}
	m, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	m.Dir = filepath.Dir(name)
	if m.Baseline == "" {
		m.Baseline = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)) + ".baseline"
	}
	return m, nil
}

// maxManifest is how many bytes a manifest may have.
const maxManifest = 16 << 20

func readManifest(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err == nil && len(text) > maxManifest {
		err = fmt.Errorf("%s: more than %d MiB: no manifest", name, maxManifest>>20)
	}
	return text, err
}

// Parse reads the text of a manifest and checks it. Errors begin with the line, if it is known, and a colon.
func Parse(text []byte) (*Manifest, error) {
	m := &Manifest{}
	d := toml.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return nil, located(err)
	}
	tables, err := exactKeys(text)
	if err != nil {
		return nil, err
	}
	if len(m.Benchmarks) == 0 {
		return nil, errors.New(" no [[benchmark]]")
	}
	seen := map[string]bool{}
	for i := range m.Benchmarks {
		b := &m.Benchmarks[i]
		b.inherit(m.Defaults, tables[i])
		if err := b.check(seen); err != nil {
			return nil, fmt.Errorf(" benchmark %d (%q): %w", i+1, b.Name, err)
		}
	}
	return m, nil
}

// exactKeys refuses keys that the decoder takes although their case is another one. It returns the tables of the
// benchmarks.
func exactKeys(text []byte) (tables []map[string]any, err error) {
	var all map[string]any
	if err := toml.Unmarshal(text, &all); err != nil {
		return nil, located(err)
	}
	defaults, _ := all["defaults"].(map[string]any)
	err = cmp.Or(known(all, keys[Manifest]()), known(defaults, keys[Settings]()))
	benchmarks, _ := all["benchmark"].([]any)
	for _, b := range benchmarks {
		table, _ := b.(map[string]any)
		tables = append(tables, table)
		err = cmp.Or(err, known(table, keys[Benchmark]()))
		functions, _ := table["function"].([]any)
		for _, f := range functions {
			table, _ := f.(map[string]any)
			err = cmp.Or(err, known(table, keys[FunctionLimit]()))
		}
	}
	return tables, err
}

// known refuses keys of a table that are not among names.
func known(table map[string]any, names []string) error {
	for _, key := range slices.Sorted(maps.Keys(table)) {
		if !slices.Contains(names, key) {
			return fmt.Errorf(" unknown key %q%s", key, spell.Suggest(key, names))
		}
	}
	return nil
}

// located puts the line in front of an error of the decoder, and what may have been meant behind it.
func located(err error) error {
	var missing *toml.StrictMissingError
	if errors.As(err, &missing) && len(missing.Errors) > 0 {
		e := &missing.Errors[0]
		row, _ := e.Position()
		key := e.Key()
		name := key[len(key)-1]
		return fmt.Errorf("%d: unknown key %q%s", row, strings.Join(key, "."), spell.Suggest(name, keysOf(key)))
	}
	var bad *toml.DecodeError
	if errors.As(err, &bad) {
		row, column := bad.Position()
		return fmt.Errorf("%d:%d: %s", row, column, plain(strings.TrimPrefix(bad.Error(), "toml: ")))
	}
	return fmt.Errorf(" %w", err)
}

// wrongType is the decoder's message for a value of a type that a key does not have.
var wrongType = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^cannot decode TOML (\w+) into struct field check\.\w+\.\w+ of type (\S+)$`)
})

// plain is a message of the decoder in words of manifests.
func plain(message string) string {
	m := wrongType().FindStringSubmatch(message)
	if m == nil {
		return message
	}
	expected := map[string]string{
		"[]string": `a list of texts, like ["./prog", "argument"]`, "string": "a text", "bool": "true or false", "int": "a number", "uint64": "a number",
		"map[string]string": `a table of texts, like { LANG = "C" }`,
	}[m[2]]
	if expected == "" {
		return message
	}
	article := "a "
	if strings.ContainsRune("aeio", rune(m[1][0])) {
		article = "an "
	}
	return article + m[1] + ", where " + expected + " is expected"
}

// keysOf lists the keys that there are beside the last of key.
func keysOf(key []string) []string {
	switch {
	case len(key) == 1:
		return keys[Manifest]()
	case len(key) > 2 && key[len(key)-2] == "function":
		return keys[FunctionLimit]()
	case key[0] == "benchmark":
		return keys[Benchmark]()
	}
	return keys[Settings]()
}

// keys lists the keys of a table that is read into a T.
func keys[T any]() (out []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if key := f.Tag.Get("toml"); key != "" && key != "-" {
			out = append(out, key)
		}
	}
	return out
}

// inherit takes from the defaults what b, whose table said is, does not say.
func (b *Benchmark) inherit(d Settings, said map[string]any) {
	env := maps.Clone(d.Env)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, b.Env)
	own, from := reflect.ValueOf(&b.Settings).Elem(), reflect.ValueOf(d)
	for i := range own.NumField() {
		if _, ok := said[own.Type().Field(i).Tag.Get("toml")]; !ok {
			own.Field(i).Set(from.Field(i))
		}
	}
	b.Env = env
	if len(b.Events) == 0 {
		b.Events = []string{"Ir"}
	}
}

// check refuses what cannot be run or compared.
func (b *Benchmark) check(seen map[string]bool) error {
	switch {
	case b.Name == "":
		return errors.New("no name")
	case strings.ContainsAny(b.Name, " \t\r\n#") || strings.ContainsFunc(b.Name, func(r rune) bool { return r < ' ' }):
		return errors.New("a name has no blanks and no #")
	case seen[b.Name]:
		return errors.New("there are two of this name")
	case len(b.Run) == 0 || b.Run[0] == "":
		return errors.New("run has no program")
	}
	seen[b.Name] = true
	switch v := b.Isolate.(type) {
	case nil, bool:
	case string:
		if filepath.IsAbs(v) || v == "" {
			return fmt.Errorf("isolate = %q: true, false, or a directory relative to the manifest's", v)
		}
	default:
		return fmt.Errorf("isolate = %v: true, false, or a directory relative to the manifest's", v)
	}
	if b.Image == "" && len(b.Volumes) > 0 {
		return errors.New("volumes: only with image")
	}
	for _, v := range b.Volumes {
		if _, err := parseVolume(v); err != nil {
			return err
		}
	}
	for name := range b.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("env: %q is no name of a variable", name)
		}
	}
	if _, err := b.limits(b.Limit); err != nil {
		return err
	}
	for _, f := range b.Functions {
		if f.Name == "" {
			return errors.New("a function has no name: a pattern of names is expected")
		}
		if _, err := b.limits(f.Limit); err != nil {
			return fmt.Errorf("function %q: %w", f.Name, err)
		}
	}
	return nil
}

// isolation is the directory that b's program finds at /work, relative to the manifest's; "" for none.
func (b *Benchmark) isolation() string {
	switch v := b.Isolate.(type) {
	case bool:
		if !v {
			return ""
		}
	case string:
		return v
	}
	return "."
}

// environ is the environment of b's program, sorted.
func (b *Benchmark) environ() []string {
	var out []string
	for k, v := range b.Env {
		out = append(out, k+"="+v)
	}
	sort.Strings(out)
	return out
}

// A Limit is how far a count may go up.
type Limit struct {
	// Percent is of the old count; Events is a number, if Percent is negative.
	Percent float64
	Events  uint64
}

// String is l as a manifest has it.
func (l Limit) String() string {
	if l.Percent >= 0 {
		return strconv.FormatFloat(l.Percent, 'f', -1, 64) + "%"
	}
	return strconv.FormatUint(l.Events, 10)
}

// allows reports whether a count may go from old to new.
func (l Limit) allows(old, new uint64) bool {
	switch {
	case new <= old:
		return true
	case l.Percent >= 0:
		return float64(new-old) <= float64(old)*l.Percent/100
	}
	return new-old <= l.Events
}

// limits returns the limit of each event that v, a value of the manifest, speaks of: nothing may go up without one.
func (b *Benchmark) limits(v any) (map[string]Limit, error) {
	out := map[string]Limit{}
	if table, ok := v.(map[string]any); ok {
		for event, v := range table {
			if !slices.Contains(b.Events, event) {
				return nil, fmt.Errorf("limit of %s, which is not among the events %s%s", event, strings.Join(b.Events, ", "), spell.Suggest(event, b.Events))
			}
			l, err := parseLimit(v)
			if err != nil {
				return nil, fmt.Errorf("limit of %s: %w", event, err)
			}
			out[event] = l
		}
		return out, nil
	}
	l, err := parseLimit(v)
	if err != nil {
		return nil, fmt.Errorf("limit: %w", err)
	}
	for _, e := range b.Events {
		out[e] = l
	}
	return out, nil
}

// ParseLimit reads a limit of a command line: "1.5%", or a number of events.
func ParseLimit(s string) (Limit, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return parseLimit(n)
	}
	return parseLimit(s)
}

func parseLimit(v any) (Limit, error) {
	switch v := v.(type) {
	case nil:
		return Limit{}, nil
	case Limit:
		return v, nil
	case int64:
		if v >= 0 {
			return Limit{Percent: -1, Events: uint64(v)}, nil
		}
	case string:
		if text, ok := strings.CutSuffix(v, "%"); ok {
			if p, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil && p >= 0 && p <= 1e6 {
				return Limit{Percent: p}, nil
			}
		}
	}
	return Limit{}, fmt.Errorf("%v is neither a number of events nor a text like \"1.5%%\"", v)
}
