//go:build !linux

package main

import (
	"errors"
	"os"
)

// spool fails: no engine runs here.
func spool(string) (*os.File, error) { return nil, errors.New("--verify: not on this host") }
