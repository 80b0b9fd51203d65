//go:build linux && amd64

package cgemu_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/internal/image/imagetest"
)

// guestImage makes an image with testdata/guest, and opens it.
func guestImage(t *testing.T, cache string) *cgemu.Image {
	b, err := os.ReadFile("testdata/guest")
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "image.tar")
	m := imagetest.Image{Env: []string{"A=b"}, User: "7:8", WorkingDir: "/w", Cmd: []string{"/bin/guest", "x"}, Layers: [][]byte{imagetest.Tar(imagetest.File("bin/guest", string(b), 0o755))}}
	require.NoError(t, os.WriteFile(name, imagetest.Docker(m), 0o644))
	image, err := cgemu.OpenImage(name, cache)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, image.Close()) })
	return image
}

// TestImage runs a program of an image twice, and with a cache: the same profile, with the names that things have in
// the image.
func TestImage(t *testing.T) {
	cache := t.TempDir()
	image := guestImage(t, "")
	require.Equal(t, cgemu.ImageConfig{Env: []string{"A=b"}, User: "7:8", WorkingDir: "/w", Cmd: []string{"/bin/guest", "x"}}, image.Config())
	want := ""
	for _, m := range []*cgemu.Image{image, image, guestImage(t, cache), guestImage(t, cache)} {
		var out bytes.Buffer
		c := m.Config()
		res, err := cgemu.Run(context.Background(), cgemu.Config{Path: c.Cmd[0], Args: c.Cmd, Env: c.Env, Image: m, Stdout: &out})
		require.NoError(t, err)
		require.Equal(t, "x\n", out.String())
		require.Equal(t, []string{"/bin/guest"}, res.Programs)
		require.Equal(t, []string{"/bin/guest"}, res.Objects)
		require.Empty(t, res.Warnings)
		require.Contains(t, text(t, res), "guest.c")
		if want == "" {
			want = text(t, res)
		}
		require.Equal(t, want, text(t, res))
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	require.NotEmpty(t, cgemu.DefaultImageCache())
}

// TestImageAccounts has an image whose superuser has no group: that matters if the image says that programs are his.
func TestImageAccounts(t *testing.T) {
	name := filepath.Join(t.TempDir(), "image.tar")
	for user, want := range map[string]string{"": "", "0": "its line in the image's /etc/passwd is no good"} {
		m := imagetest.Image{User: user, Layers: [][]byte{imagetest.Tar(imagetest.File("etc/passwd", "root:x:0::\n", 0o644))}}
		require.NoError(t, os.WriteFile(name, imagetest.Docker(m), 0o644))
		image, err := cgemu.OpenImage(name, "")
		if want != "" {
			require.ErrorContains(t, err, want)
			continue
		}
		require.NoError(t, err)
		require.NoError(t, image.Close())
	}
}

// TestImageRefused has what does not go with an image.
func TestImageRefused(t *testing.T) {
	image := guestImage(t, "")
	for want, cfg := range map[string]cgemu.Config{
		"an image and a root or sysroot: not both": {Root: "/"}, "an image and a root": {Sysroot: "/"}, "an image and Compat": {Compat: true},
	} {
		cfg.Path, cfg.Args, cfg.Image = "/bin/guest", []string{"guest"}, image
		_, err := cgemu.Run(context.Background(), cfg)
		require.ErrorContains(t, err, want)
	}
	_, err := cgemu.OpenImage(filepath.Join(t.TempDir(), "none"), "")
	require.ErrorContains(t, err, "no such file")
	_, err = cgemu.Run(context.Background(), cgemu.Config{Path: "/bin/none", Args: []string{"none"}, Image: image})
	require.ErrorIs(t, err, os.ErrNotExist)
}
