package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // Debian's format
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // Fedora's format
)

// maintainer is who answers for the packages. There is no address yet.
const maintainer = "The cgemu authors <noreply@github.com>"

// copyright is Debian's file of that name.
const copyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: cgemu
Source: https://github.com/cgemu/cgemu

Files: *
Copyright: 2026 The cgemu authors
License: MIT

License: MIT
`

// packages writes a package for Debian and one for Fedora, for each Linux.
func (r *release) packages(binaries map[target][]byte) error {
	for _, t := range targets {
		if t.OS != "linux" {
			continue
		}
		for _, format := range []string{"deb", "rpm"} {
			if err := r.pack(t, format, binaries[t]); err != nil {
				return fmt.Errorf("%s for %s: %w", format, t, err)
			}
		}
	}
	return nil
}

// docDir is where packages have documents, laid out as in archives.
const docDir = "/usr/share/doc/cgemu/"

// place returns where a package has a file of archives.
func place(format, name string) string {
	base := path.Base(name)
	switch {
	case name == "completions/cgemu.bash":
		return "/usr/share/bash-completion/completions/cgemu"
	case name == "completions/_cgemu" && format == "deb":
		return "/usr/share/zsh/vendor-completions/_cgemu"
	case name == "completions/_cgemu":
		return "/usr/share/zsh/site-functions/_cgemu"
	case name == "completions/cgemu.fish":
		return "/usr/share/fish/vendor_completions.d/cgemu.fish"
	case name == "include/cgemu.h":
		return "/usr/include/cgemu.h"
	case strings.HasPrefix(name, "man/"):
		return "/usr/share/man/man1/" + base + ".gz"
	case name == "CHANGELOG.md":
		return docDir + "changelog.gz"
	case name == "LICENSE" && format == "rpm":
		return "/usr/share/licenses/cgemu/LICENSE"
	case name == "LICENSE":
		return docDir + "copyright"
	}
	return docDir + name
}

// placed returns the files of a package by their places.
func (r *release) placed(format string, binary []byte) map[string]file {
	placed := map[string]file{"/usr/bin/cgemu": {Data: binary, Mode: 0o755}}
	for _, f := range r.Files {
		at := place(format, f.Name)
		f.Data = r.linked(f, func(name string) string { return place(format, name) })
		switch {
		case path.Ext(at) == ".gz":
			f.Data = gzipped(f.Data)
		case path.Base(at) == "copyright":
			f.Data = debianCopyright(f.Data)
		}
		placed[at] = f
	}
	if format == "deb" {
		placed[docDir+"changelog.Debian.gz"] = file{Data: gzipped(r.debianChangelog()), Mode: 0o644}
		placed["/usr/share/lintian/overrides/cgemu"] = file{Data: []byte(overrides), Mode: 0o644}
	}
	return placed
}

// overrides say to Debian's checker what is meant to be so.
const overrides = "# One file without needs of its own, which runs in any image.\ncgemu: statically-linked-binary [usr/bin/cgemu]\n"

// debianChangelog is the package's own, as Debian wants it; cgemu's is beside it.
func (r *release) debianChangelog() []byte {
	return fmt.Appendf(nil, "cgemu (%s-1) unstable; urgency=medium\n\n  * Release %[1]s: see changelog.gz.\n\n -- %s  %s\n",
		r.Version, maintainer, r.Time.Format(time.RFC1123Z))
}

// debianCopyright puts the license into Debian's form: a paragraph whose lines are indented.
func debianCopyright(license []byte) []byte {
	var b bytes.Buffer
	b.WriteString(copyright)
	_, text, _ := strings.Cut(string(license), "\n\n") // without the heading
	for line := range strings.Lines(strings.TrimSpace(text) + "\n") {
		if strings.TrimSpace(line) == "" {
			line = ".\n"
		}
		b.WriteString(" " + line)
	}
	return b.Bytes()
}

// gzipped compresses without a name and a time.
func gzipped(data []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	z.Write(data)
	z.Close()
	return b.Bytes()
}

// pack writes a package.
func (r *release) pack(t target, format string, binary []byte) error {
	info := &nfpm.Info{
		Name: "cgemu", Arch: t.Arch, Platform: "linux", Version: r.Version, Release: "1", Section: "devel", Priority: "optional",
		Maintainer: maintainer, Homepage: "https://github.com/cgemu/cgemu", License: "MIT", MTime: r.Time,
		Description: "counter of the instructions of x86-64 Linux programs\n" + description(t),
		Overridables: nfpm.Overridables{
			RPM: nfpm.RPM{BuildHost: "localhost", Summary: "Counts the instructions of x86-64 Linux programs", Group: "Development/Tools"},
		},
	}
	for place, f := range r.placed(format, binary) {
		source := filepath.Join(r.Work, "packages", format, t.Arch, place)
		if err := os.MkdirAll(filepath.Dir(source), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(source, f.Data, os.FileMode(f.Mode)); err != nil {
			return err
		}
		info.Contents = append(info.Contents, &files.Content{
			Source: source, Destination: place,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: os.FileMode(f.Mode), MTime: r.Time},
		})
	}
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := packager.Package(info, &b); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.Out, packager.ConventionalFileName(info)), b.Bytes(), 0o644)
}

// description says what a package is for, and what it does in another way.
func description(t target) string {
	text := "cgemu runs programs on a CPU and a Linux of its own, counts the instructions\nthey execute by source line, exactly and the same every time, and writes " +
		"the\nfile that Cachegrind writes."
	if t.Arch != "amd64" {
		text += "\nOn this architecture an interpreter executes them, 8 to 18 times slower;\nthe counts are the same. --image has the libraries of dynamic ones."
	}
	return text
}
