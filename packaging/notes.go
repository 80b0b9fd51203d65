package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// notes writes what is said beside the files of a release: what they are, and what they can do.
func (r *release) notes(map[target][]byte) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# cgemu %s\n\nMade of commit %s. CHANGELOG.md, in each archive, says what is new; docs/install.md how to install and verify.\n\n", r.Version, r.Commit)
	b.WriteString("| platform | runs programs | annotate, diff, merge |\n|---|---|---|\n")
	for _, t := range targets {
		fmt.Fprintf(&b, "| %s | %s | yes |\n", t, t.runs())
	}
	b.WriteString("\nPrograms are those of Linux on x86-64 everywhere; where there are no libraries for them, `--image` takes those of a container image. `cgemu_" + r.Version + "_web.html` is annotate, diff and merge as a page to be opened in a browser. " +
		"The container image is for linux/amd64. Packages are not signed; SHA256SUMS has the checksums of all files, and `make dist` makes the same ones from the same commit.\n")
	return os.WriteFile(filepath.Join(r.Out, "release-notes.md"), b.Bytes(), 0o644)
}
