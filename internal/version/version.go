// Package version says which cgemu this is.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Next is the version that is being made. The one place that has it: make dist reads it here, and users ask cgemu.
const Next = "0.1.0"

// What make dist sets by -ldflags=-X: the version of a release, and the commit that it is made of, with its day. A
// release does not depend on what go build finds of the repository, which differs between a clone and a worktree.
var release, commit, date string

// Number returns the version. That of a build which is no release ends in -dev.
func Number() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version == "v"+Next {
		return Next // go install …@v0.1.0
	}
	return Next + "-dev"
}

// A Commit is what a build was made of.
type Commit struct {
	// Hash is its full name, "" if the build does not know it.
	Hash string
	// Date is the day, as 2026-11-22; "" if it is not known.
	Date string
	// Modified says that files differed from the commit's.
	Modified bool
}

// Source returns the commit of this build.
func Source() (c Commit) {
	if commit != "" {
		return Commit{Hash: commit, Date: date}
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return c
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			c.Hash = s.Value
		case "vcs.time":
			c.Date, _, _ = strings.Cut(s.Value, "T")
		case "vcs.modified":
			c.Modified = s.Value == "true"
		}
	}
	return c
}

// Line is what cgemu version prints: the version, the commit, the compiler and the platform.
func Line() string {
	c := Source()
	source := "commit unknown"
	if c.Hash != "" {
		source = "commit " + c.Hash + " of " + c.Date
		if c.Modified {
			source += ", modified"
		}
	}
	return fmt.Sprintf("cgemu %s (%s), %s, %s/%s", Number(), source, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
