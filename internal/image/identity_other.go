//go:build !unix

package image

import (
	"fmt"
	"os"
)

// identity is what changes when a file does.
func identity(f *os.File) (id string, size int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return "", 0, err
	}
	return fmt.Sprintf("%d bytes, %d", info.Size(), info.ModTime().UnixNano()), info.Size(), nil
}
