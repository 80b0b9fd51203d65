//go:build !linux

package main

import (
	"os"
	"time"
)

// limits are not known.
var limits = map[string]func() (uint64, bool){"ulimit -n": unknownLimit, "ulimit -f": unknownLimit}

func unknownLimit() (uint64, bool) { return 0, false }

// checkHost finds nothing: what it looks for on Linux, /proc, is not asked for here.
func checkHost() error { return nil }

// writableDir says whether a directory is missing. Whether files can be made in it shows when one is.
func writableDir(dir string) error {
	_, err := os.Stat(dir)
	return err
}

// checkDirectory finds nothing: a working directory that is gone is an error of whatever uses it.
func checkDirectory() error { return nil }

// lockDirectory does nothing: two runs in one directory may write the same profile.
func lockDirectory(string) (unlock func()) { return func() {} }

// writable says that a write would not wait: not every host can be asked.
func writable(*os.File, time.Duration) bool { return true }
