//go:build !linux

package main

import (
	"runtime"

	"github.com/cgemu/cgemu"
)

// examineHost says where this is.
func examineHost() []finding { return []finding{well("host", "%s/%s", runtime.GOOS, runtime.GOARCH)} }

// examineRuns runs nothing, since that takes files here. It says what does, and what can be run.
func examineRuns() []finding {
	if _, err := cgemu.FindEngine(cgemu.AutoEngine); err != nil {
		return nil
	}
	return []finding{
		noteOf("counting", "not tried", "cgemu doctor --selftest"),
		noteOf("dynamic programs", "this host is not Linux, and has no libraries for them", "--image=FILE, a container image that has them; or run cgemu in a container or in WSL2"),
	}
}
