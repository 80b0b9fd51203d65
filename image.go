package cgemu

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/cgemu/cgemu/internal/image"
	"github.com/cgemu/cgemu/syscalls"
)

// An Image is an opened container image, or an archive of a root directory.
type Image struct {
	m *image.Image
	u image.User
}

// ImageConfig is what an image says of the program to be run: nothing if it is an archive of files.
type ImageConfig struct {
	Env, Entrypoint, Cmd []string
	// WorkingDir is where programs begin, User who they are: a name or number, and a group behind a colon or not.
	WorkingDir, User string
}

// DefaultImageCache is where the command keeps what it knows of images, "" if there is no place for that.
func DefaultImageCache() string { return image.DefaultCache() }

// OpenImage opens an image: a file that docker save, podman save or skopeo has written, a directory with an OCI layout,
// or a tar archive of a root directory. Of several images in one, name says behind a colon which is meant, by its tag.
// What is found out about it, and what of it was compressed, is kept in the directory cache, unless that is "". Close
// the image when no run needs it any more.
func OpenImage(name, cache string) (*Image, error) {
	m, err := image.Open(name, image.Options{Cache: cache})
	if err != nil {
		return nil, err
	}
	out := &Image{m: m}
	if out.u, err = m.LookupUser(m.Config.User); err != nil && m.Config.User != "" {
		m.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// Config is what the image says.
func (i *Image) Config() ImageConfig { return ImageConfig(i.m.Config) }

// FS has the image's files, by their names without the leading slash. Links are followed; directories are not listed.
func (i *Image) FS() fs.FS { return i.m.FS() }

// Close closes the files of the image.
func (i *Image) Close() error { return i.m.Close() }

// opened is what the kernel needs of an image, nil if there is none.
func (i *Image) opened() *image.Image {
	if i == nil {
		return nil
	}
	return i.m
}

// dir is the working directory.
func (i *Image) dir() string {
	if i == nil {
		return ""
	}
	return i.m.Config.WorkingDir
}

// user is who runs programs. If the image does not say, it is somebody to whom belongs what belongs to root, as if the
// image had been unpacked and the user who did that ran them.
func (i *Image) user() *syscalls.User {
	if i == nil {
		return nil
	}
	return &syscalls.User{Shown: i.m.Config.User != "", UID: i.u.UID, GID: i.u.GID, Groups: i.u.Groups}
}

// checkImage refuses what does not go with an image.
func (cfg *Config) checkImage() error {
	switch {
	case cfg.Image == nil:
	case cfg.Root != "" || cfg.Sysroot != "":
		return errors.New("an image and a root or sysroot: not both")
	case cfg.Compat:
		return errors.New("an image and Compat: not both; Valgrind shows programs the host's user")
	case cfg.Replay != nil:
		return errors.New("an image and a recording: not both; that has the files")
	}
	return nil
}
