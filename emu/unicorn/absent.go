//go:build !unicorn || !linux || (!amd64 && !arm64)

package unicorn

import (
	"errors"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// errAbsent says how to get the engine.
var errAbsent = errors.New("engine unicorn: not in this build (make unicorn makes one with it, on Linux for amd64 and arm64)")

// Available returns why the engine cannot be used.
func Available() (found string, err error) { return "", errAbsent }

// Warning returns what users of the library that was found should know.
func Warning() string { return "" }

// New returns why there is no engine.
func New(*mem.Space, emu.Config) (emu.Engine, error) { return nil, errAbsent }
