//go:build !(linux && amd64)

package jit

import (
	"fmt"
	"runtime"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// New says that this host has no translator.
func New(m *mem.Space, cfg Config) (emu.Engine, error) {
	return nil, fmt.Errorf("jit: the translating engine runs on linux/amd64 only, this is %s/%s; no other engine is built in yet",
		runtime.GOOS, runtime.GOARCH)
}
