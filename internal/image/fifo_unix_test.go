//go:build unix

package image_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/internal/image"
	"github.com/cgemu/cgemu/internal/image/imagetest"
)

// TestFIFO has a layout with a FIFO in place of a file: nobody waits for its other end.
func TestFIFO(t *testing.T) {
	at := t.TempDir()
	files := imagetest.Layout(layered)
	require.NoError(t, imagetest.WriteDir(at, files))
	for _, name := range []string{"index.json", "oci-layout"} {
		require.NoError(t, os.Remove(filepath.Join(at, name)))
		require.NoError(t, unix.Mkfifo(filepath.Join(at, name), 0o644))
	}
	done := make(chan error, 1)
	go func() {
		_, err := image.Open(at, image.Options{})
		done <- err
	}()
	select {
	case err := <-done:
		require.ErrorContains(t, err, "index.json: a regular file is expected")
	case <-time.After(time.Minute):
		require.Fail(t, "it waits")
	}
}
