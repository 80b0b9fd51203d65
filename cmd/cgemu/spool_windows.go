package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// spool makes a file that is gone when it is closed.
func spool(name string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(os.TempDir(), "cgemu-"+rand.Text()), os.O_RDWR|os.O_CREATE|os.O_EXCL|windows.FILE_FLAG_DELETE_ON_CLOSE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--verify: a file for %s: %w", name, err)
	}
	return f, nil
}
