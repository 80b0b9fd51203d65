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

// TestOtherHosts checks the types of all packages and their tests as other hosts have them, from the sources: compiling the standard library
// for each host takes a minute. Of functions that are not ours there are no bodies.
func TestOtherHosts(t *testing.T) {
	dir, err := os.Getwd()
	require.NoError(t, err)
	for _, host := range []struct{ os, arch, tags string }{
		{"linux", "arm64", "unicorn"}, {"linux", "arm64", ""}, {"darwin", "arm64", ""}, {"darwin", "amd64", ""}, {"windows", "amd64", ""}, {"windows", "arm64", ""},
		{"freebsd", "amd64", ""}, {"js", "wasm", ""},
	} {
		t.Run(strings.TrimSpace(host.os+" "+host.arch+" "+host.tags), func(t *testing.T) {
			found, err := packages.Load(&packages.Config{
				Mode: packages.NeedName | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes, Dir: dir, Tests: host.os != "js", BuildFlags: []string{"-tags=" + host.tags},
				Env: append(os.Environ(), "GOOS="+host.os, "GOARCH="+host.arch, "CGO_ENABLED=0"),
				ParseFile: func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
					file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
					if file != nil && !strings.HasPrefix(name, dir) {
						for _, d := range file.Decls {
							if f, ok := d.(*ast.FuncDecl); ok {
								f.Body = nil
							}
						}
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
