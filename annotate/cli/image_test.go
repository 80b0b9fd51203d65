package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/internal/image/imagetest"
)

// TestImagesClosed looks at the descriptors that commands leave open: none of an image's.
func TestImagesClosed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("descriptors are listed in /proc")
	}
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	image, profile := filepath.Join(dir, "image.tar"), filepath.Join(dir, "p.out")
	require.NoError(t, os.WriteFile(image, imagetest.Tar(imagetest.File("a.c", "one\n", 0o644)), 0o600))
	require.NoError(t, os.WriteFile(profile, []byte("cmd: x\nevents: Ir\nfl=/a.c\nfn=f\n1 10\nsummary: 10\n"), 0o600))
	var out, stderr bytes.Buffer
	require.Zero(t, Annotate("annotate", []string{"--image", image, profile}, &out, &stderr), stderr.String())
	require.Contains(t, out.String(), "one\n")
	require.Zero(t, Diff("diff", []string{"--table", "--image-old", image, "--image-new", image, profile, profile}, &out, &stderr), stderr.String())
	require.NotZero(t, Diff("diff", []string{"--image-old", image, profile, profile}, &out, &stderr))
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, d := range list {
		name, _ := os.Readlink("/proc/self/fd/" + d.Name())
		require.False(t, strings.HasPrefix(name, dir), name)
	}
}
