package cgemu_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

const module = "github.com/cgemu/cgemu"

// allowed is policy: package -> packages of ours it may import. Leaves map to
// nothing. Adding an arrow is a design change: say why in RATIONALE.md.
var allowed = map[string]string{
	"hooks": "emu emu/x86", "cachesim": "", "branchsim": "", "dwarfmap": "internal/nonblock", "mark": "",
	"internal/image": "internal/nonblock internal/store", "internal/image/imagetest": "",
	"internal/debuginfod": "internal/outfile", "internal/store": "internal/outfile",
	"internal/nonblock": "", "internal/numbering": "", "internal/outfile": "internal/nonblock", "cgout": "internal/numbering internal/outfile",
	"emu": "cachesim", "emu/x86": "", "emu/x86/gen": "", "emu/soft": "", "emu/mem": "emu",
	"emu/guest": "emu emu/mem emu/x86 hooks",
	"emu/sem":   "emu emu/guest emu/mem emu/soft emu/x86",
	"emu/jit":   "emu emu/callgraph emu/guest emu/mem emu/sem emu/tally emu/x86 hooks cachesim", "emu/tally": "emu", "emu/callgraph": "emu internal/numbering",
	"emu/interp":         "branchsim cachesim emu emu/callgraph emu/guest emu/mem emu/sem emu/soft emu/tally emu/x86 hooks",
	"emu/unicorn":        "emu emu/guest emu/mem emu/sem emu/x86 hooks cachesim branchsim",
	"emu/lockstep":       "emu emu/callgraph emu/guest emu/mem emu/x86",
	"emu/enginetest":     "emu",
	"internal/glob":      "",
	"internal/funcwatch": "dwarfmap emu emu/mem internal/glob",
	"internal/jitnames":  "",
	"internal/profiler":  "cachesim cgout dwarfmap emu emu/callgraph emu/mem emu/x86 internal/funcwatch internal/jitnames internal/numbering",
	"internal/enginelog": "emu emu/x86",
	"loader":             "emu emu/mem",
	// The kernel: each of its packages imports only those above it in this list.
	"syscalls/internal/linux":       "",
	"syscalls/internal/vfs":         "syscalls/internal/linux",
	"syscalls/internal/vfs/vfstest": "syscalls/internal/linux syscalls/internal/vfs",
	"syscalls/internal/host":        "syscalls/internal/linux syscalls/internal/vfs",
	"syscalls/internal/uio":         "emu emu/mem syscalls/internal/linux",
	"syscalls/internal/task":        "emu emu/mem loader syscalls/internal/host syscalls/internal/linux syscalls/internal/uio",
	"syscalls/internal/ldcache":     "",
	"syscalls/internal/record":      "syscalls/internal/host syscalls/internal/linux syscalls/internal/vfs",
	"syscalls/internal/imagefs":     "internal/image syscalls/internal/linux syscalls/internal/vfs",
	"syscalls/internal/files":       "emu emu/mem internal/image loader syscalls/internal/host syscalls/internal/imagefs syscalls/internal/ldcache syscalls/internal/linux syscalls/internal/record syscalls/internal/task syscalls/internal/uio syscalls/internal/vfs",
	"syscalls/internal/tty":         "emu syscalls/internal/files syscalls/internal/linux syscalls/internal/task syscalls/internal/uio",
	"syscalls/internal/net":         "emu syscalls/internal/files syscalls/internal/host syscalls/internal/linux syscalls/internal/task syscalls/internal/uio",
	"syscalls/internal/ipc":         "emu syscalls/internal/files syscalls/internal/host syscalls/internal/linux syscalls/internal/task syscalls/internal/uio",
	"syscalls/internal/procfs": "emu emu/mem syscalls/internal/files syscalls/internal/ipc syscalls/internal/linux syscalls/internal/net " +
		"syscalls/internal/task",
	"syscalls/internal/strace": "emu loader syscalls/internal/linux syscalls/internal/task syscalls/internal/uio",
	"syscalls": "emu emu/mem loader syscalls/internal/files syscalls/internal/host syscalls/internal/ipc syscalls/internal/linux syscalls/internal/net " +
		"syscalls/internal/procfs syscalls/internal/record syscalls/internal/strace syscalls/internal/task syscalls/internal/tty syscalls/internal/uio",
	"internal/sandbox": "",
	"internal/python":  "cgout", "annotate": "cgout internal/glob internal/nonblock internal/python",
	"internal/usage": "", "internal/version": "",
	"annotate/serve":       "annotate",
	"annotate/cli":         "annotate annotate/serve cgout export internal/image internal/outfile internal/python internal/spell internal/usage internal/version",
	"export":               "cgout",
	"annotate/web":         "annotate cgout",
	"annotate/web/page":    "annotate",
	"cmd/cgemu-web":        "annotate/web annotate/web/page internal/outfile internal/version",
	"internal/browsertest": "internal/testhost", // for tests, as testhost is
	"internal/testhost":    "",
	// The root package makes a run out of the parts; the command is thin above it.
	".":              "cachesim cgout dwarfmap emu emu/interp emu/jit emu/lockstep emu/mem emu/unicorn internal/enginelog internal/image internal/jitnames internal/profiler internal/store loader syscalls",
	"check":          ". annotate cachesim cgout dwarfmap internal/glob internal/spell",
	"cgemutest":      ". check internal/outfile mark",
	"internal/spell": "",
	"examples/go":    "",
	"cmd/cgemu": ". annotate annotate/cli annotate/serve cachesim cgout check dwarfmap emu export internal/debuginfod internal/glob internal/outfile internal/sandbox internal/spell " +
		"internal/usage internal/version loader syscalls",
}

// foreign is policy: modules of others -> packages of ours that may import them.
// RATIONALE.md says why each was taken.
var foreign = map[string]string{
	"github.com/pelletier/go-toml":           "check",
	"github.com/spf13/pflag":                 "cmd/cgemu",
	"github.com/kballard/go-shellquote":      "cmd/cgemu",
	"golang.org/x/arch":                      "annotate",
	"golang.org/x/net":                       "internal/sandbox",
	"golang.org/x/sys":                       "emu/mem emu/jit emu/unicorn internal/image internal/sandbox syscalls/internal/host cmd/cgemu",
	"golang.org/x/term":                      "annotate/cli cmd/cgemu",
	"github.com/ebitengine/purego":           "emu/unicorn",
	"github.com/ianlancetaylor/demangle":     "dwarfmap",
	"github.com/google/go-containerregistry": "internal/image",
	"github.com/klauspost/compress":          "internal/image",
	"github.com/google/pprof":                "export",
	"github.com/dlclark/regexp2":             "annotate",
	"github.com/chromedp":                    "internal/browsertest",
	"github.com/stretchr/testify":            "internal/browsertest", // and tests
	"github.com/rogpeppe/go-internal":        "",                     // tests
	"github.com/santhosh-tekuri/jsonschema":  "",                     // tests
}

// An imported is an import somewhere in the module.
type imported struct{ file, pkg, path string }

// imports returns the imports of all files, whatever their build constraints.
func imports(t *testing.T) (list []imported) {
	err := walk(func(file string) error {
		if !strings.HasSuffix(file, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range f.Imports {
			p, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			slash := filepath.ToSlash(file)
			list = append(list, imported{slash, path.Dir(slash), p})
		}
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, list)
	return list
}

// walk calls f with the files of the module but test data. What is built in bin and dist comes and goes while tests
// run: test-dist has clones of the project there.
func walk(f func(file string) error) error {
	return filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			return f(file)
		case file == "bin", file == "dist", d.Name() == "testdata", strings.HasPrefix(d.Name(), ".") && file != ".", isModule(file):
			return filepath.SkipDir
		}
		return nil
	})
}

// isModule reports whether a directory is a module of its own.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return dir != "." && err == nil
}

// TestImports holds the line between packages: who may import whom, of ours and
// of others; no cgo; unsafe in files that say so by their name.
func TestImports(t *testing.T) {
	used := map[string]bool{}
	for _, i := range imports(t) {
		test := strings.HasSuffix(i.file, "_test.go")
		ours, isOurs := strings.CutPrefix(i.path, module)
		switch {
		case i.path == "C":
			t.Errorf("%s uses cgo", i.file)
		case i.path == "unsafe":
			if !test && !strings.HasSuffix(i.file, "_unsafe.go") {
				t.Errorf("%s imports unsafe, but its name does not end in _unsafe.go", i.file)
			}
		case test:
		case isOurs:
			ours = strings.TrimPrefix(ours, "/")
			if ours == "" {
				ours = "."
			}
			rule, known := allowed[i.pkg]
			if !known {
				t.Errorf("%s: package %s is not in the policy", i.file, i.pkg)
			} else if !slices.Contains(strings.Fields(rule), ours) {
				t.Errorf("%s: %s must not import %s", i.file, i.pkg, ours)
			}
			used[i.pkg+" "+ours] = true
		case strings.Contains(strings.Split(i.path, "/")[0], "."):
			mod := foreignAllowed(i)
			if mod == "" {
				t.Errorf("%s: %s must not import %s", i.file, i.pkg, i.path)
			}
			used[i.pkg+" "+mod] = true
		}
	}
	for mod, users := range foreign {
		for _, pkg := range strings.Fields(users) {
			if !used[pkg+" "+mod] {
				t.Errorf("%s need not import %s: the policy is out of date", pkg, mod)
			}
		}
	}
	for pkg, rule := range allowed {
		for _, ours := range strings.Fields(rule) {
			if !used[pkg+" "+ours] {
				t.Errorf("%s need not import %s: the policy is out of date", pkg, ours)
			}
		}
		if files, _ := filepath.Glob(filepath.Join(pkg, "*.go")); len(files) == 0 {
			t.Errorf("there is no package %s: the policy is out of date", pkg)
		}
	}
}

// foreignAllowed returns the module by which i is allowed, "" if it is not.
func foreignAllowed(i imported) string {
	for mod, users := range foreign {
		if (i.path == mod || strings.HasPrefix(i.path, mod+"/")) && slices.Contains(strings.Fields(users), i.pkg) {
			return mod
		}
	}
	return ""
}

// TestPolicy makes sure that the policy itself has no circles and no upward
// arrows hidden in it.
func TestPolicy(t *testing.T) {
	var visit func(pkg string, above []string)
	visit = func(pkg string, above []string) {
		require.NotContains(t, above, pkg, "a circle")
		for _, p := range strings.Fields(allowed[pkg]) {
			require.Contains(t, allowed, p, "%s may import %s, of which the policy does not know", pkg, p)
			visit(p, append(slices.Clone(above), pkg))
		}
	}
	for pkg := range allowed {
		visit(pkg, nil)
	}
}

// long are functions that may have more than maxFunction lines, and why.
var long = map[string]string{"dwarfmap/program.go:run": "the dispatch of the line number program's opcodes"}

const (
	maxFile     = 800 // lines
	maxFunction = 80
	maxComment  = 120     // columns, of which a tab takes 4
	maxTracked  = 4 << 20 // bytes
)

// TestSizes bounds files, functions and lines of comments, but those of tests and what programs have generated.
func TestSizes(t *testing.T) {
	err := walk(func(file string) error {
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, text, parser.ParseComments)
		if err != nil || ast.IsGenerated(f) {
			return err
		}
		line := 0
		for l := range strings.Lines(strings.ReplaceAll(string(text), "\t", "    ")) {
			line++
			comment := strings.TrimSpace(l)
			if n := strings.Index(l, "/") + utf8.RuneCountInString(comment); strings.HasPrefix(comment, "// ") && n > maxComment {
				t.Errorf("%s:%d: a comment of %d columns", file, line, n)
			}
		}
		if n := fset.Position(f.End()).Line; n > maxFile {
			t.Errorf("%s has %d lines", file, n)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || long[filepath.ToSlash(file)+":"+fn.Name.Name] != "" {
				continue
			}
			if n := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1; n > maxFunction {
				t.Errorf("%s: %s has %d lines", file, fn.Name.Name, n)
			}
		}
		return nil
	})
	require.NoError(t, err)
}

// TestTrackedFiles finds what was committed by mistake: something large, such as a binary.
func TestTrackedFiles(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		t.Skip("no git repository: ", err)
	}
	for file := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if st, err := os.Lstat(file); err == nil && st.Size() > maxTracked {
			t.Errorf("%s has %d bytes", file, st.Size())
		}
	}
}
