package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A module is one whose code is in the binaries.
type module struct {
	Path, Version, Sum string
	// License is its SPDX name, Text all of it.
	License string
	Text    []byte
}

// modules returns the modules in all binaries, sorted, and the standard library as the first one.
func (r *release) modules() (list []module, err error) {
	seen := map[string]bool{}
	for _, t := range targets {
		info, err := buildinfo.ReadFile(r.binary(t))
		if err != nil {
			return nil, err
		}
		if list == nil {
			list = append(list, module{Path: "std", Version: info.GoVersion})
		}
		for _, d := range info.Deps {
			if !seen[d.Path] {
				seen[d.Path] = true
				list = append(list, module{Path: d.Path, Version: d.Version, Sum: d.Sum})
			}
		}
	}
	slices.SortFunc(list[1:], func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	for i := range list {
		if err := list[i].findLicense(r.Source); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// findLicense reads the license where the module is on this host.
func (m *module) findLicense(source string) error {
	dir, err := goDirectory(source, m)
	if err != nil {
		return err
	}
	for _, name := range []string{"LICENSE", "LICENSE.txt", "LICENSE.md", "COPYING"} {
		if m.Text, err = os.ReadFile(filepath.Join(dir, name)); err == nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("%s: no license in %s: whether its code may be passed on has to be found out", m.Path, dir)
	}
	if m.License = license(m.Text); m.License == "" {
		return fmt.Errorf("%s: the license in %s is none of those that are known: read it, and add it to licenses.go", m.Path, dir)
	}
	return nil
}

func goDirectory(source string, m *module) (string, error) {
	args := []string{"list", "-m", "-f", "{{.Dir}}", m.Path}
	if m.Path == "std" {
		args = []string{"env", "GOROOT"}
	}
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = source, os.Stderr
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// license returns the SPDX expression of a license's text, "" if it is not known. A text may have several, for parts of
// the code.
func license(text []byte) string {
	words := strings.Join(strings.Fields(string(text)), " ")
	has := func(phrase string) bool { return strings.Contains(words, phrase) }
	var all []string
	for _, l := range []struct {
		name  string
		found bool
	}{
		{"Apache-2.0", has("Apache License Version 2.0")},
		{"BSD-3-Clause", has("Redistribution and use in source and binary forms") && has("Neither the name")},
		{"BSD-2-Clause", has("Redistribution and use in source and binary forms") && !has("Neither the name")},
		{"MIT", has("Permission is hereby granted, free of charge, to any person obtaining a copy")},
	} {
		if l.found {
			all = append(all, l.name)
		}
	}
	return strings.Join(all, " AND ")
}

// licenseTexts returns the licenses of all code in the binaries that is not cgemu's own: they ask to be passed on with
// it.
func (r *release) licenseTexts() ([]byte, error) {
	list, err := r.modules()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("The program cgemu contains code of others, under these licenses.\n")
	for _, m := range list {
		name := m.Path + " " + m.Version
		if m.Path == "std" {
			name = "the Go standard library and runtime, " + m.Version
		}
		fmt.Fprintf(&b, "\n%s\n%s (%s)\n\n%s\n", strings.Repeat("=", 80), name, m.License, bytes.TrimSpace(m.Text))
	}
	return b.Bytes(), nil
}
