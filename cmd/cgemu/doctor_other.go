//go:build !linux

package main

import "runtime"

// examineHost says where this is.
func examineHost() []finding { return []finding{well("host", "%s/%s", runtime.GOOS, runtime.GOARCH)} }

// examineRuns runs nothing: no engine does.
func examineRuns() []finding { return nil }
