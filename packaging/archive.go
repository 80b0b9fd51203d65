package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// small are the commands that have no page of the manual of their own: that of cgemu says all there is.
var small = []string{"completion", "help", "debug", "version"}

// completions are the scripts for shells, by the names under which the shells look for them.
var completions = map[string]string{"bash": "cgemu.bash", "zsh": "_cgemu", "fish": "cgemu.fish"}

// commonFiles returns what is in every archive besides the program, sorted.
func (r *release) commonFiles(map[target][]byte) (list []file, err error) {
	if list, err = r.documents(); err != nil {
		return nil, err
	}
	pages, err := r.commands()
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		if slices.Contains(small, page) {
			continue
		}
		data, err := r.cgemu("help", "--man", page)
		if err != nil {
			return nil, err
		}
		name := "cgemu-" + page + ".1"
		if page == "run" {
			name = "cgemu.1"
		}
		list = append(list, file{"man/man1/" + name, data, 0o644})
	}
	for shell, name := range completions {
		data, err := r.cgemu("completion", shell)
		if err != nil {
			return nil, err
		}
		list = append(list, file{"completions/" + name, data, 0o644})
	}
	licenses, err := r.licenseTexts()
	if err != nil {
		return nil, err
	}
	list = append(list, file{"THIRD-PARTY-LICENSES", licenses, 0o644})
	slices.SortFunc(list, func(a, b file) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// commands returns cgemu's commands, as a shell learns of them.
func (r *release) commands() (list []string, err error) {
	text, err := r.cgemu("__complete", "")
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if name, _, _ := strings.Cut(line, "\t"); i > 0 {
			list = append(list, name)
		}
	}
	return list, err
}

// archives writes an archive for each target.
func (r *release) archives(binaries map[target][]byte) error {
	for _, t := range targets {
		base := fmt.Sprintf("cgemu_%s_%s_%s", r.Version, t.OS, t.Arch)
		list := []file{{base + "/" + t.program(), binaries[t], 0o755}}
		for _, f := range r.Files {
			list = append(list, file{base + "/" + f.Name, f.Data, f.Mode})
		}
		data, ending, err := gzippedTar(list, r.Time), ".tar.gz", error(nil)
		if t.OS == "windows" {
			ending = ".zip"
			data, err = zipped(list, r.Time)
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.Out, base+ending), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// gzippedTar returns a tar of files, compressed. All belong to root, and are of one time.
func gzippedTar(list []file, at time.Time) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // an error would be the level's
	z.Write(plainTar(list, at))
	z.Close()
	return b.Bytes()
}

// plainTar is gzippedTar without compression. A file whose name ends with a slash is a directory. What is written to
// memory does not fail.
func plainTar(list []file, at time.Time) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range list {
		h := &tar.Header{Name: f.Name, Mode: f.Mode, Size: int64(len(f.Data)), ModTime: at, Uname: "root", Gname: "root", Format: tar.FormatUSTAR}
		if strings.HasSuffix(f.Name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			panic("BUG: " + err.Error())
		}
		w.Write(f.Data)
	}
	w.Close()
	return b.Bytes()
}

// zipped is gzippedTar for Windows.
func zipped(list []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range list {
		h := &zip.FileHeader{Name: f.Name, Method: zip.Deflate, Modified: at}
		h.SetMode(os.FileMode(f.Mode))
		part, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := part.Write(f.Data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// checksums writes SHA256SUMS, as sha256sum -c reads it.
func (r *release) checksums(map[target][]byte) error {
	entries, err := os.ReadDir(r.Out)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(r.Out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	return os.WriteFile(filepath.Join(r.Out, "SHA256SUMS"), b.Bytes(), 0o644)
}

// find returns the common file of a name.
func (r *release) find(name string) (file, error) {
	for _, f := range r.Files {
		if f.Name == name || path.Base(f.Name) == name {
			return f, nil
		}
	}
	return file{}, fmt.Errorf("there is no %s among the files", name)
}
