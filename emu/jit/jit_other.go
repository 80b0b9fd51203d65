//go:build !(linux && amd64)

package jit

import (
	"fmt"
	"io"
	"runtime"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// Available says that this host has no translator.
func Available() error {
	return fmt.Errorf("engine jit: it runs on linux/amd64 only, this is %s/%s", runtime.GOOS, runtime.GOARCH)
}

// A Pool makes no engines.
type Pool struct{}

// New says why.
func (*Pool) New(*mem.Space, emu.Config) (emu.Engine, error) { return nil, Available() }

// Images is what Keep takes.
type Images interface {
	Load(name string) (image []byte, release func(part []byte))
	Save(name string, write func(io.Writer) error)
}

// Keep does nothing.
func (*Pool) Keep(Images, string) {}

// Close does nothing.
func (*Pool) Close() {}
