package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// shipped are the files of the repository that archives and packages have, too, as git ls-files takes them. Pictures are
// not among them, nor what is for those who change cgemu: links to these lead to the repository on the web.
var shipped = []string{
	"LICENSE", "README.md", "CHANGELOG.md", "BENCHMARKS.md", "docs/*.md", ":!docs/internals.md", "docs/*.json", "examples", "include",
	"bazel/cgemu.bzl", "packaging/gitlab/cgemu.yml",
}

// documents returns what is shipped, with links that hold in an archive.
func (r *release) documents() (list []file, err error) {
	out, err := git(r.Source, append([]string{"ls-files", "-z", "--"}, shipped...)...)
	if err != nil {
		return nil, err
	}
	for _, name := range strings.Split(strings.TrimSuffix(out, "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(r.Source, name))
		if err != nil {
			return nil, err
		}
		list = append(list, file{name, data, 0o644})
	}
	inArchive := func(name string) string { // its place, or "" if it is not there
		if slices.ContainsFunc(list, func(f file) bool { return f.Name == name || strings.HasPrefix(f.Name, name+"/") }) {
			return name
		}
		return ""
	}
	for i, f := range list {
		list[i].Data = r.linked(f, inArchive)
	}
	return list, nil
}

// link matches a link of Markdown to a file beside the document: the target's name, and the heading in it.
var link = regexp.MustCompile(`\]\(([^()\s:#]+)(#[^()\s]*)?\)`)

// linked returns a document with links that hold where it is placed. place returns the place of a file or directory of
// the repository, or "" if it is not shipped: then the link leads to the repository on the web.
func (r *release) linked(f file, place func(name string) string) []byte {
	if path.Ext(f.Name) != ".md" {
		return f.Data
	}
	return link.ReplaceAllFunc(f.Data, func(whole []byte) []byte {
		m := link.FindSubmatch(whole)
		target := path.Join(path.Dir(f.Name), string(m[1]))
		info, err := os.Stat(filepath.Join(r.Source, target))
		if err != nil {
			return whole // it only looks like a link
		}
		to := place(target)
		if to == "" {
			to = r.onTheWeb(target, info.IsDir())
		} else if to, err = filepath.Rel(path.Dir(place(f.Name)), to); err != nil {
			panic("BUG: " + err.Error()) // all places are relative, or all are not
		}
		return []byte("](" + filepath.ToSlash(to) + string(m[2]) + ")")
	})
}

// onTheWeb is the address of a file or directory of the commit.
func (r *release) onTheWeb(name string, dir bool) string {
	kind := "blob"
	if ext := path.Ext(name); dir {
		kind = "tree"
	} else if ext == ".png" || ext == ".svg" {
		kind = "raw"
	}
	return "https://github.com/cgemu/cgemu/" + kind + "/" + strings.TrimSuffix(r.Commit, "-dirty") + "/" + name
}
