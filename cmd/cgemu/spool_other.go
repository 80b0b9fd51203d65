//go:build !linux && !windows

package main

import (
	"errors"
	"fmt"
	"os"
)

// spool makes a file that has no name in any directory.
func spool(name string) (*os.File, error) {
	f, err := os.CreateTemp("", "cgemu-")
	if err == nil {
		err = os.Remove(f.Name())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("--verify: a file for %s: %w", name, err), f.Close())
	}
	return f, nil
}
