//go:build !portable

package mem

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() { alike["ForkWithoutPagemap"] = TestForkWithoutPagemap }

// TestForkWithoutPagemap copies all where the host does not tell which pages are in use.
func TestForkWithoutPagemap(t *testing.T) {
	was := pagemap
	pagemap = func() int { return -1 }
	defer func() { pagemap = was }()
	m := newSpace(t)
	f := forkFile(t)
	require.NoError(t, m.Map(VMA{Lo: 0x100000, Hi: 0x105000, Prot: Read, Path: "/f"}, f)) // two pages behind its end
	require.NoError(t, m.Map(VMA{Lo: 0x200000, Hi: 0x210000, Prot: Read | Write}, nil))
	poke(t, m, 0x20f000, 5)
	n := fork(t, m)
	assert.EqualValues(t, 3, peek(t, n, 0x102000))
	assert.EqualValues(t, 5, peek(t, n, 0x20f000))
}
