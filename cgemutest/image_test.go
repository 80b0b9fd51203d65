package cgemutest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/internal/image/imagetest"
)

// TestCheckImage has a program of an image, whose file is not the host's, and one of the working directory beside an
// image.
func TestCheckImage(t *testing.T) {
	needs(t)
	guest, err := os.ReadFile(program(t, "guest"))
	require.NoError(t, err)
	dir := inPackage(t)
	require.NoError(t, os.WriteFile("image.tar", imagetest.Tar(imagetest.File("bin/inside", string(guest), 0o755)), 0o644))
	require.NoError(t, os.WriteFile("own", guest, 0o755))
	image, err := cgemu.OpenImage(filepath.Join(dir, "image.tar"), "")
	require.NoError(t, err)
	defer image.Close()
	*update = true
	defer func() { *update = false }()
	for _, path := range []string{"/bin/inside", "./own"} {
		cmd := cgemu.Command(path, "a")
		cmd.Image, cmd.Dir, cmd.Binds = image, dir, []cgemu.Bind{{Host: dir, Guest: "/w"}}
		r := record("TestX", func(t testing.TB) { Check(t, cmd, "") })
		require.Empty(t, r.failed, path)
		text, err := os.ReadFile(Baseline)
		require.NoError(t, err)
		require.Contains(t, string(text), "TestX\tmade-by\tprogram\t")
	}
}
