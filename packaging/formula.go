package main

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the template
	"fmt"
	"os"
	"path/filepath"
	"text/template"
)

//go:embed homebrew/cgemu.rb.tmpl
var formulaText string

// formula writes the formula for Homebrew, which names the archives and their checksums.
func (r *release) formula(map[target][]byte) error {
	t, err := template.New("formula").Option("missingkey=error").Parse(formulaText)
	if err != nil {
		return err
	}
	sums := map[string]string{}
	for _, target := range targets {
		if target.OS == "windows" || target.OS == "freebsd" {
			continue // Homebrew is for neither
		}
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
