//go:build linux && amd64

package linux

import (
	"go/constant"
	"go/types"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

// otherValues are names that have another value in x/sys/unix, and why.
var otherValues = map[string]string{
	"O_LARGEFILE": "0 there on 64-bit hosts, where open(2) sets it by itself; F_GETFL shows it",
}

// TestValues compares the numbers with those that x/sys/unix has under the same names.
func TestValues(t *testing.T) {
	mode := packages.NeedName | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes
	found, err := packages.Load(&packages.Config{Mode: mode}, ".", "golang.org/x/sys/unix")
	require.NoError(t, err)
	require.Len(t, found, 2)
	ours, theirs := found[0].Types, found[1].Types
	if theirs.Name() != "unix" {
		ours, theirs = theirs, ours
	}
	compared := 0
	for _, name := range ours.Scope().Names() {
		our, ok := ours.Scope().Lookup(name).(*types.Const)
		if !ok {
			continue
		}
		their, ok := theirs.Scope().Lookup(name).(*types.Const)
		if !ok || otherValues[name] != "" {
			continue
		}
		compared++
		assert.Equal(t, constant.ToInt(their.Val()).ExactString(), constant.ToInt(our.Val()).ExactString(), name)
	}
	require.Greater(t, compared, 500)
}
