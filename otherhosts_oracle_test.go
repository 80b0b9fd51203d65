//go:build oracles

package cgemu_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

// TestOtherHosts type-checks all packages and their tests for other hosts. It begins with the sources of what they
// import, and skips the bodies of functions there: compiling the standard library for a host takes a minute.
func TestOtherHosts(t *testing.T) {
	dir, err := os.Getwd()
	require.NoError(t, err)
	mode := packages.NeedName | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes
	for _, host := range []struct{ os, arch, tags string }{
		{"linux", "arm64", "unicorn"}, {"linux", "arm64", ""}, {"darwin", "arm64", ""}, {"darwin", "amd64", ""}, {"windows", "amd64", ""}, {"windows", "arm64", ""},
		{"freebsd", "amd64", ""}, {"js", "wasm", ""},
	} {
		t.Run(strings.TrimSpace(host.os+" "+host.arch+" "+host.tags), func(t *testing.T) {
			found, err := packages.Load(&packages.Config{
				Mode: mode, Dir: dir, BuildFlags: []string{"-tags=" + host.tags},
				Tests: host.os != "js", // where only cmd/cgemu-web is to run, and no tests are
				Env:   append(os.Environ(), "GOOS="+host.os, "GOARCH="+host.arch, "CGO_ENABLED=0"),
				ParseFile: func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
					file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
					if file != nil && !strings.HasPrefix(name, dir) {
						dropBodies(file)
					}
					return file, err
				},
			}, "./...")
			require.NoError(t, err)
			require.Greater(t, len(found), 50)
			for _, p := range found {
				if strings.HasSuffix(p.ID, ".test") { // the go command's main
					continue
				}
				for _, e := range p.Errors {
					t.Errorf("%s: %v", p.ID, e)
				}
				require.True(t, p.Types.Complete() || len(p.Errors) > 0, p.ID)
			}
		})
	}
}

// dropBodies leaves of functions what others need to know.
func dropBodies(file *ast.File) {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			f.Body = nil
		}
	}
}
