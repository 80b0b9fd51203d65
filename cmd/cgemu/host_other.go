//go:build !linux

package main

import (
	"os"
	"time"
)

// limits are not known.
var limits = map[string]func() (uint64, bool){"ulimit -n": unknownLimit, "ulimit -f": unknownLimit}

func unknownLimit() (uint64, bool) { return 0, false }

// checkHost and checkDirectory find nothing: no engine runs here.
func checkHost() error { return nil }

func checkDirectory() error { return nil }

// lockDirectory does nothing.
func lockDirectory(string) (unlock func()) { return func() {} }

func writable(*os.File, time.Duration) bool { return true }
