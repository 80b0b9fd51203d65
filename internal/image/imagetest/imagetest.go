// Package imagetest makes container images for tests.
package imagetest

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
)

// A Member is one of a tar archive.
type Member struct {
	tar.Header
	Body string
}

// File, Dir, Link and Symlink are members as most are.
func File(name, body string, mode int64) Member {
	return Member{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(body))}, body}
}

// Dir is a directory.
func Dir(name string, mode int64) Member {
	return Member{Header: tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: mode}}
}

// Symlink is a symbolic link.
func Symlink(name, target string) Member {
	return Member{Header: tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777}}
}

// Link is a hard link.
func Link(name, target string) Member {
	return Member{Header: tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: target, Mode: 0o644}}
}

// Tar makes an archive.
func Tar(members ...Member) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		must(w.WriteHeader(&m.Header))
		_, err := w.Write([]byte(m.Body))
		must(err)
	}
	must(w.Close())
	return b.Bytes()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// An Image is what an image is made of. Layers are tar archives, Compress, if set, compresses them.
type Image struct {
	Tags                 []string
	Arch                 string // amd64 if it is empty
	Env, Entrypoint, Cmd []string
	WorkingDir, User     string
	Layers               [][]byte
	Compress             func([]byte) []byte
	// MediaType is that of layers, for OCI.
	MediaType string
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func encode(x any) []byte {
	b, err := json.Marshal(x)
	must(err)
	return b
}

type object map[string]any

func (m *Image) arch() string {
	if m.Arch == "" {
		return "amd64"
	}
	return m.Arch
}

// config is the image's configuration.
func (m *Image) config() []byte {
	ids := []string{}
	for _, l := range m.Layers {
		ids = append(ids, "sha256:"+digest(l))
	}
	return encode(object{
		"architecture": m.arch(), "os": "linux", "rootfs": object{"type": "layers", "diff_ids": ids},
		"config": object{"Env": m.Env, "Entrypoint": m.Entrypoint, "Cmd": m.Cmd, "WorkingDir": m.WorkingDir, "User": m.User},
	})
}

func (m *Image) compressed(layer []byte) []byte {
	if m.Compress == nil {
		return layer
	}
	return m.Compress(layer)
}

// Docker makes what docker save writes.
func Docker(images ...Image) []byte {
	files := map[string][]byte{}
	manifest := []object{}
	for _, m := range images {
		config := m.config()
		name := digest(config) + ".json"
		files[name] = config
		layers := []string{}
		for _, l := range m.Layers {
			at := digest(l) + "/layer.tar"
			files[at] = m.compressed(l)
			layers = append(layers, at)
		}
		manifest = append(manifest, object{"Config": name, "RepoTags": m.Tags, "Layers": layers})
	}
	files["manifest.json"] = encode(manifest)
	return Pack(files)
}

// Layout makes the files of an OCI layout, by name.
func Layout(images ...Image) map[string][]byte {
	files := map[string][]byte{"oci-layout": encode(object{"imageLayoutVersion": "1.0.0"})}
	put := func(kind string, b []byte) object {
		files["blobs/sha256/"+digest(b)] = b
		return object{"mediaType": kind, "digest": "sha256:" + digest(b), "size": len(b)}
	}
	var index []object
	for _, m := range images {
		layers := []object{}
		for _, l := range m.Layers {
			layers = append(layers, put("application/vnd.oci.image.layer.v1.tar"+m.MediaType, m.compressed(l)))
		}
		manifest := object{
			"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
			"config": put("application/vnd.oci.image.config.v1+json", m.config()), "layers": layers,
		}
		d := put("application/vnd.oci.image.manifest.v1+json", encode(manifest))
		d["platform"] = object{"os": "linux", "architecture": m.arch()}
		for _, t := range m.Tags {
			d["annotations"] = object{"org.opencontainers.image.ref.name": t}
		}
		index = append(index, d)
	}
	files["index.json"] = encode(object{"schemaVersion": 2, "manifests": index})
	return files
}

// Pack makes a tar archive of files by name.
func Pack(files map[string][]byte) []byte {
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	var members []Member
	for _, name := range names {
		members = append(members, File(name, string(files[name]), 0o644))
	}
	return Tar(members...)
}

// WriteDir writes files into a directory.
func WriteDir(dir string, files map[string][]byte) error {
	for name, b := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, b, 0o644); err != nil {
			return err
		}
	}
	return nil
}
