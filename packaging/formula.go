package main

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the template
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"text/template"
)

//go:embed homebrew/cgemu.rb.tmpl
var formulaText string

// brewed are the platforms that Homebrew is for.
var brewed = []target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "arm64"}, {"darwin", "amd64"}}

// formula writes the formula for Homebrew, which names the archives and their checksums: of a release that has them
// all.
func (r *release) formula(map[target][]byte) error {
	if slices.ContainsFunc(brewed, func(t target) bool { return !slices.Contains(targets, t) }) {
		return nil
	}
	t, err := template.New("formula").Option("missingkey=error").Parse(formulaText)
	if err != nil {
		return err
	}
	sums := map[string]string{}
	for _, target := range brewed {
		data, err := os.ReadFile(r.name(fmt.Sprintf("_%s_%s.tar.gz", target.OS, target.Arch)))
		if err != nil {
			return err
		}
		sums[target.OS+"_"+target.Arch] = fmt.Sprintf("%x", sha256.Sum256(data))
	}
	var b bytes.Buffer
	if err := t.Execute(&b, map[string]any{"Version": r.Version, "Sum": sums}); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.Out, "cgemu.rb"), b.Bytes(), 0o644)
}
