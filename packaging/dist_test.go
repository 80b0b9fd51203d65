package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/internal/version"
)

// TestArchive has an archive hold its files in their order, as of one time, of root.
func TestArchive(t *testing.T) {
	at := time.Unix(1700000000, 0)
	list := []file{{"d/", nil, 0o755}, {"d/program", []byte("x"), 0o755}, {"d/text", []byte("yy"), 0o644}}
	data := gzippedTar(list, at)
	require.Equal(t, data, gzippedTar(list, at))
	z, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	require.True(t, z.ModTime.IsZero())
	r := tar.NewReader(z)
	for _, f := range list {
		h, err := r.Next()
		require.NoError(t, err)
		require.Equal(t, f.Name, h.Name)
		require.Equal(t, f.Mode, h.Mode)
		require.Equal(t, at.Unix(), h.ModTime.Unix())
		require.Zero(t, h.Uid+h.Gid)
		got, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, string(f.Data), string(got))
	}
	_, err = r.Next()
	require.ErrorIs(t, err, io.EOF)
}

// TestDocuments has the links of each document lead to something, in an archive and in packages.
func TestDocuments(t *testing.T) {
	r := &release{Source: "..", Version: "1.2.3", Commit: "0123-dirty", Time: time.Unix(0, 0)}
	list, err := r.documents()
	require.NoError(t, err)
	again, err := r.documents()
	require.NoError(t, err)
	require.Equal(t, list, again)
	r.Files = append(list, file{"man/man1/cgemu.1", nil, 0o644}, file{"completions/_cgemu", nil, 0o644})
	archive, size := map[string]file{}, 0
	for _, f := range list {
		archive["/"+f.Name] = f
		size += len(f.Data)
	}
	require.Less(t, size, 1<<20, "documents and examples of all archives")
	for _, name := range []string{"/README.md", "/docs/manual.md", "/docs/install.md", "/docs/tasks.md", "/examples/c/words.c", "/examples/c/cgemu.toml", "/include/cgemu.h"} {
		require.Contains(t, archive, name)
	}
	deb, rpm := r.placed("deb", nil), r.placed("rpm", nil)
	require.Contains(t, deb, "/usr/share/doc/cgemu/docs/install.md")
	require.Contains(t, deb, "/usr/share/doc/cgemu/examples/c/words.c")
	require.Contains(t, deb, "/usr/share/zsh/vendor-completions/_cgemu")
	require.Contains(t, rpm, "/usr/share/licenses/cgemu/LICENSE")
	require.Contains(t, string(deb[docDir+"README.md"].Data), "[LICENSE](copyright)")
	require.Contains(t, string(rpm[docDir+"README.md"].Data), "[LICENSE](../../licenses/cgemu/LICENSE)")
	for kind, files := range map[string]map[string]file{"archive": archive, "deb": deb, "rpm": rpm} {
		documents, relative, onTheWeb := 0, 0, 0
		for name, f := range files {
			if path.Ext(name) != ".md" {
				continue
			}
			documents++
			for _, m := range regexp.MustCompile(`\]\(([^()\s]+)\)`).FindAllStringSubmatch(string(f.Data), -1) {
				to, _, _ := strings.Cut(m[1], "#")
				if there, ok := strings.CutPrefix(to, "https://github.com/cgemu/cgemu/"); ok {
					_, there, ok = strings.Cut(there, "/0123/")
					require.True(t, ok, "%s: %s: %s", kind, name, m[1])
					require.FileExists(t, filepath.Join("..", there))
					onTheWeb++
				} else if to != "" && !strings.Contains(to, ":") {
					require.True(t, has(files, path.Join(path.Dir(name), to)), "%s: %s: there is no %s", kind, name, to)
					relative++
				}
			}
		}
		require.Greater(t, documents, 10, kind)
		require.Greater(t, relative, 50, kind)
		require.Greater(t, onTheWeb, 10, kind)
	}
	formula, err := os.ReadFile("homebrew/cgemu.rb.tmpl")
	require.NoError(t, err)
	for _, f := range list {
		top, _, _ := strings.Cut(f.Name, "/")
		require.True(t, top == "include" || strings.Contains(string(formula), `"`+top+`"`), "Homebrew's formula does not install %s", top)
	}
}

// has reports whether there is a file, or one in a directory, of a name.
func has(files map[string]file, name string) bool {
	for f := range files {
		if f == name || strings.HasPrefix(f, name+"/") {
			return true
		}
	}
	return false
}

// TestPageSize has docs/install.md say how large the page for browsers is.
func TestPageSize(t *testing.T) {
	r := &release{Source: "..", Version: "1.2.3", Out: t.TempDir(), Work: t.TempDir(), Files: []file{{"LICENSE", nil, 0o644}, {"THIRD-PARTY-LICENSES", nil, 0o644}}}
	require.NoError(t, r.web(nil))
	page, err := os.ReadFile(r.name("_web.html"))
	require.NoError(t, err)
	program, err := os.ReadFile(filepath.Join(r.Work, "cgemu-web.wasm"))
	require.NoError(t, err)
	compressed := len(gzipped(program))
	text, err := os.ReadFile("../docs/install.md")
	require.NoError(t, err)
	figures := regexp.MustCompile(`one file of ([\d.]+) MB .* ([\d.]+) MB of it are the program: ([\d.]+) MB of WebAssembly, ([\d.]+) MB by gzip, .*gzip makes ([\d.]+) MB of it`).
		FindStringSubmatch(strings.Join(strings.Fields(string(text)), " "))
	require.Len(t, figures, 6)
	for i, size := range []int{len(page), (compressed + 2) / 3 * 4, len(program), compressed, len(gzipped(page))} {
		said, err := strconv.ParseFloat(figures[i+1], 64)
		require.NoError(t, err)
		require.InEpsilon(t, float64(size)/1e6, said, 0.1, "docs/install.md: %s MB is %d bytes now", figures[i+1], size)
	}
}

func TestLicense(t *testing.T) {
	for name, text := range map[string]string{
		"MIT":                         "Permission is hereby granted, free of charge, to any\nperson obtaining a copy",
		"BSD-3-Clause":                "Redistribution and use in source and binary forms, ...\nNeither the name of",
		"BSD-2-Clause":                "Redistribution and use in source and binary  forms",
		"Apache-2.0":                  "Apache License\n  Version 2.0, January 2004",
		"Apache-2.0 AND BSD-3-Clause": "Redistribution and use in source and binary forms\nNeither the name\n----\nFiles: x/*\nApache License\nVersion 2.0",
		"":                            "All rights reserved.",
	} {
		require.Equal(t, name, license([]byte(text)))
	}
}

func TestDebian(t *testing.T) {
	text := string(debianCopyright([]byte("MIT License\n\nCopyright (c)\n\nPermission\n")))
	require.Contains(t, text, "\nLicense: MIT\n Copyright (c)\n .\n Permission\n")
	r := release{Version: "1.2.3", Time: time.Unix(0, 0).UTC()}
	require.Equal(t, "cgemu (1.2.3-1) unstable; urgency=medium\n\n  * Release 1.2.3: see changelog.gz.\n\n -- "+maintainer+
		"  Thu, 01 Jan 1970 00:00:00 +0000\n", string(r.debianChangelog()))
}

// TestVersion has no other file of the repository name a version than the one that is made.
func TestVersion(t *testing.T) {
	found := 0
	for _, name := range []string{"../action.yml", "gitlab/cgemu.yml", "../docs/install.md"} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, v := range regexp.MustCompile(`\b[0-9]+\.[0-9]+\.[0-9]+\b`).FindAllString(string(text), -1) {
			require.Equal(t, version.Next, v, name)
			found++
		}
	}
	require.NotZero(t, found)
}

// TestDirty has a release be refused of files that are in no commit.
func TestDirty(t *testing.T) {
	dir := t.TempDir()
	_, err := newRelease(dir, "", false)
	require.ErrorContains(t, err, "git status --porcelain: fatal: not a git repository")
	for _, args := range [][]string{
		{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x", "--date=2020-01-02T03:04:05Z"},
	} {
		_, err := git(dir, args...)
		require.NoError(t, err)
	}
	r, err := newRelease(dir, "", false)
	require.NoError(t, err)
	require.Len(t, r.Commit, 40)
	require.NoError(t, os.WriteFile(dir+"/new", nil, 0o644))
	_, err = newRelease(dir, "", false)
	require.ErrorContains(t, err, "files differ from the commit's:\n?? new")
	r, err = newRelease(dir, "", true)
	require.NoError(t, err)
	require.Regexp(t, "^[0-9a-f]{40}-dirty$", r.Commit)
	t.Setenv("SOURCE_DATE_EPOCH", "soon")
	_, err = newRelease(dir, "", true)
	require.ErrorContains(t, err, "SOURCE_DATE_EPOCH")
	require.False(t, errors.Is(err, os.ErrNotExist))
}

// TestPlatforms has a release be of some of the platforms, and refuses what is none.
func TestPlatforms(t *testing.T) {
	all := targets
	defer func() { targets = all }()
	require.NoError(t, choose(""))
	require.Equal(t, all, targets)
	require.EqualError(t, choose("linux/amd64,plan9/arm"), `-platforms: "plan9/arm" is none of [linux/amd64 linux/arm64 darwin/arm64 darwin/amd64 windows/amd64 windows/arm64 freebsd/amd64]`)
	require.NoError(t, choose("windows/amd64,linux/amd64"))
	require.Equal(t, []target{{"linux", "amd64"}, {"windows", "amd64"}}, targets)
	require.Len(t, all, 7)
	r := release{Out: t.TempDir()}
	require.NoError(t, r.formula(nil))
	require.NoFileExists(t, filepath.Join(r.Out, "cgemu.rb"))
}

// TestFormula has Homebrew's formula name the archives of a release with their checksums.
func TestFormula(t *testing.T) {
	r := &release{Version: "1.2.3", Out: t.TempDir(), Time: time.Unix(0, 0), Files: []file{{"man/man1/cgemu.1", nil, 0o644}}}
	binaries := map[target][]byte{}
	for _, at := range targets {
		binaries[at] = []byte(at.String())
	}
	require.NoError(t, r.archives(binaries))
	require.NoError(t, r.formula(nil))
	text, err := os.ReadFile(filepath.Join(r.Out, "cgemu.rb"))
	require.NoError(t, err)
	for _, at := range brewed {
		archive, err := os.ReadFile(r.name("_" + at.OS + "_" + at.Arch + ".tar.gz"))
		require.NoError(t, err)
		require.Regexp(t, fmt.Sprintf(`cgemu_1\.2\.3_%s_%s\.tar\.gz"\s+sha256 "%x"`, at.OS, at.Arch, sha256.Sum256(archive)), string(text))
	}
}

// TestNotes has the notes of a release name every platform, and say how programs run there.
func TestNotes(t *testing.T) {
	r := release{Version: "1.2.3", Commit: "abc", Out: t.TempDir()}
	require.NoError(t, r.notes(nil))
	text, err := os.ReadFile(filepath.Join(r.Out, "release-notes.md"))
	require.NoError(t, err)
	for _, target := range targets {
		require.Contains(t, string(text), "| "+target.String()+" | "+target.runs()+" | yes |\n")
	}
	require.Contains(t, string(text), "| linux/arm64 | yes, by the interpreter | yes |\n")
	require.NotContains(t, string(text), " no |")
	require.NotContains(t, description(target{"linux", "amd64"}), "interpreter")
	require.Contains(t, description(target{"linux", "arm64"}), "an interpreter executes them")
	require.Contains(t, string(text), "`cgemu_1.2.3_web.html`")
}
