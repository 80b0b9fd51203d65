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
	"path/filepath"
	"regexp"
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
