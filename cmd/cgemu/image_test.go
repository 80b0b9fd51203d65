//go:build linux && amd64

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cgemu/cgemu/internal/image/imagetest"
)

// makeImage makes a container image: image docker|oci|dir|tar FILE [NAME=VALUE]... LAYER...
//
// A layer is a directory, or +NAME, a program of the host's with the libraries that it needs. What is said of the image
// are values of tag, env, workdir, user, arch, entrypoint, cmd (by words) and gzip; device=NAME,MAJOR,MINOR is a layer
// with a device.
func makeImage(ts *testscript.TestScript, _ bool, args []string) {
	var m imagetest.Image
	for _, a := range args[2:] {
		name, value, ok := strings.Cut(a, "=")
		switch {
		case strings.HasPrefix(a, "+"):
			m.Layers = append(m.Layers, imagetest.Tar(programLayer(ts, a[1:])...))
		case !ok:
			m.Layers = append(m.Layers, imagetest.Tar(dirLayer(ts, ts.MkAbs(a))...))
		case name == "tag":
			m.Tags = append(m.Tags, value)
		case name == "env":
			m.Env = append(m.Env, value)
		case name == "entrypoint":
			m.Entrypoint = strings.Fields(value)
		case name == "cmd":
			m.Cmd = strings.Fields(value)
		case name == "workdir":
			m.WorkingDir = value
		case name == "user":
			m.User = value
		case name == "arch":
			m.Arch = value
		case name == "device":
			var d imagetest.Member
			d.Typeflag, d.Mode = tar.TypeChar, 0o666
			_, err := fmt.Sscanf(strings.ReplaceAll(value, ",", " "), "%s %d %d", &d.Name, &d.Devmajor, &d.Devminor)
			ts.Check(err)
			m.Layers = append(m.Layers, imagetest.Tar(d))
		case name == "gzip":
			m.Compress = zipped
		default:
			ts.Fatalf("no such thing is said of an image: %s", a)
		}
	}
	to := ts.MkAbs(args[1])
	switch args[0] {
	case "docker":
		ts.Check(os.WriteFile(to, imagetest.Docker(m), 0o644))
	case "oci":
		ts.Check(os.WriteFile(to, imagetest.Pack(imagetest.Layout(m)), 0o644))
	case "dir":
		ts.Check(imagetest.WriteDir(to, imagetest.Layout(m)))
	case "tar":
		b := flat(ts, m.Layers)
		if m.Compress != nil {
			b = zipped(b)
		}
		ts.Check(os.WriteFile(to, b, 0o644))
	default:
		ts.Fatalf("no such format: %s", args[0])
	}
}

func zipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

// flat is one archive of all layers, none of which takes anything away.
func flat(ts *testscript.TestScript, layers [][]byte) []byte {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, l := range layers {
		r := tar.NewReader(bytes.NewReader(l))
		for {
			h, err := r.Next()
			if err != nil {
				break
			}
			ts.Check(w.WriteHeader(h))
			_, err = io.Copy(w, r)
			ts.Check(err)
		}
	}
	ts.Check(w.Close())
	return out.Bytes()
}

// dirLayer has the files below a directory.
func dirLayer(ts *testscript.TestScript, dir string) (list []imagetest.Member) {
	ts.Check(filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		at, err := filepath.Rel(dir, name)
		if err == nil {
			list = append(list, member(ts, name, at))
		}
		return err
	}))
	return list
}

// member is the member at of an archive that a file of the host is to be.
func member(ts *testscript.TestScript, name, at string) (m imagetest.Member) {
	info, err := os.Lstat(name)
	ts.Check(err)
	switch {
	case at == "tmp":
		m = imagetest.Dir(at, 0o1777)
	case info.IsDir():
		m = imagetest.Dir(at, 0o755)
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(name)
		ts.Check(err)
		m = imagetest.Symlink(at, target)
	default:
		b, err := os.ReadFile(name)
		ts.Check(err)
		m = imagetest.File(at, string(b), int64(info.Mode().Perm()))
	}
	m.ModTime = time.Unix(1e9, 0)
	return m
}

// programLayer has a program of the host's and its libraries, by the names that are asked for.
func programLayer(ts *testscript.TestScript, program string) (list []imagetest.Member) {
	name, err := exec.LookPath(program)
	ts.Check(err)
	names := []string{name}
	out, _ := exec.Command("ldd", name).Output() // a static program has none
	for f := range strings.FieldsSeq(string(out)) {
		if filepath.IsAbs(f) {
			names = append(names, f)
		}
	}
	for _, name := range names {
		real, err := filepath.EvalSymlinks(name)
		ts.Check(err)
		list = append(list, member(ts, real, strings.TrimPrefix(name, "/")))
	}
	return list
}
