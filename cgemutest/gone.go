package cgemutest

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cgemu/cgemu/check"
)

// begun are the tests of which this process has written counts, without those below them.
var begun = map[string]bool{}

// dropGone takes out of b, which gets counts of the test name, those of tests that are gone: of functions that the
// package does not have any more, and, if all tests run, those below the function of name, which come again as far as
// they are still there.
func dropGone(b check.Baseline, name string) {
	function, _, below := strings.Cut(name, "/")
	all := below && !begun[function] && allTests(function)
	begun[function] = true
	there := testFunctions()
	for _, other := range slices.Collect(maps.Keys(b)) {
		f, _, _ := strings.Cut(other, "/")
		if there != nil && !there[f] && f != function || all && f == function {
			delete(b, other)
		}
	}
}

// allTests reports whether nothing on the command line keeps parts of a test from being run.
func allTests(function string) bool {
	chosen := func(name string) bool {
		f := flag.Lookup(name)
		return f != nil && f.Value.String() != ""
	}
	return strings.HasPrefix(function, "Test") && !testing.Short() && !chosen("test.run") && !chosen("test.skip")
}

// testFunctions are the functions in the package's files of tests, for any system. It is nil if they are not known: a
// test may run elsewhere than where its sources are.
func testFunctions() map[string]bool {
	files, _ := fs.Glob(os.DirFS(packageDir), "*_test.go") // the pattern is right
	var there map[string]bool
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(packageDir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil {
				if there == nil {
					there = map[string]bool{}
				}
				there[d.Name.Name] = true
			}
		}
	}
	return there
}
