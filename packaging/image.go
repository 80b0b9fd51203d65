package main

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// image writes a container image of nothing but cgemu, as a tar of an OCI layout. It is for the one platform on which
// programs run: another machine then takes it through its emulation, or says that it cannot.
func (r *release) image(binaries map[target][]byte) error {
	t := target{"linux", "amd64"}
	if !slices.Contains(targets, t) {
		return nil
	}
	list := []file{{"bin/", nil, 0o755}, {"bin/cgemu", binaries[t], 0o755}, {"tmp/", nil, 0o1777}, {"work/", nil, 0o755}, {"licenses/", nil, 0o755}}
	for _, name := range []string{"LICENSE", "THIRD-PARTY-LICENSES"} {
		f, err := r.find(name)
		if err != nil {
			return err
		}
		list = append(list, file{"licenses/" + name, f.Data, f.Mode})
	}
	data := plainTar(list, r.Time)
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(9))
	if err != nil {
		return err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{
		Created: v1.Time{Time: r.Time}, CreatedBy: "make dist", Comment: "cgemu " + r.Version,
	}}); err != nil {
		return err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.Created, config.OS, config.Architecture = v1.Time{Time: r.Time}, t.OS, t.Arch
	config.Config = v1.Config{
		Entrypoint: []string{"/bin/cgemu"}, Cmd: []string{"help"}, WorkingDir: "/work", Env: []string{"PATH=/bin"}, Labels: r.labels(),
	}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return err
	}
	img = mutate.Annotations(img, r.labels()).(v1.Image)
	return r.writeLayout(img, t)
}

// labels are what OCI's specification has names for.
func (r *release) labels() map[string]string {
	const label = "org.opencontainers.image."
	return map[string]string{
		label + "title": "cgemu", label + "description": "counts the instructions of x86-64 Linux programs", label + "version": r.Version,
		label + "revision": r.Commit, label + "created": r.Time.Format(time.RFC3339), label + "licenses": "MIT",
		label + "source": "https://github.com/cgemu/cgemu",
	}
}

// writeLayout writes a tar of the layout that has the image.
func (r *release) writeLayout(img v1.Image, t target) error {
	dir := filepath.Join(r.Work, "image")
	p, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := p.AppendImage(img, layout.WithPlatform(v1.Platform{OS: t.OS, Architecture: t.Arch}),
		layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": r.Version, "io.containerd.image.name": "docker.io/library/cgemu:" + r.Version})); err != nil {
		return err
	}
	var list []file
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		if d.IsDir() {
			list = append(list, file{filepath.ToSlash(rel) + "/", nil, 0o755})
			return nil
		}
		data, err := os.ReadFile(name)
		list = append(list, file{filepath.ToSlash(rel), data, 0o644})
		return err
	})
	if err != nil {
		return err
	}
	return os.WriteFile(r.name("_oci.tar"), plainTar(list, r.Time), 0o644)
}
