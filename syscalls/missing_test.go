package syscalls

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// TestManyMissingCalls tries more numbers than are named, each twice.
func TestManyMissingCalls(t *testing.T) {
	var log strings.Builder
	g := newGuest(t, func(c *Config) { c.Log = &log })
	for i := range uint64(2 * (task.MaxReported + 50)) {
		g.fails(linux.ENOSYS, 10000+i/2)
	}
	assert.Equal(t, task.MaxReported, strings.Count(log.String(), "is not supported"))
	assert.Equal(t, 1, strings.Count(log.String(), "further ones are not named"))
}
