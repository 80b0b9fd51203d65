//go:build linux && amd64

package jit

import (
	"github.com/cgemu/cgemu/emu"
)

// approximate executes the approximations (RCPPS, RSQRTPS and their kin) and the x87
// transcendentals.
func (e *Engine) approximate(c *emu.CPU, g *ginsn) *emu.Fault {
	return &emu.Fault{Vector: emu.VecUD, Unsupported: g.Op.String()}
}
