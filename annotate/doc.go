// Package annotate renders profiles as cg_annotate does, and has the commands
// cg_annotate, cg_diff and cg_merge as functions: Annotate, Diff and Merge.
//
// The rules are those of Valgrind's programs of that name since 3.22, written in
// Python: what is shown, its order and its layout, the errors
// and their status, and the dialect of the regular expressions of --mod-filename
// and --mod-funcname. Where the originals crash (on text that is no UTF-8, on
// bad regular expressions, on profiles without events), these do not: bytes go
// through as they are, and errors are errors.
//
// Beyond that, and only if asked for, there are JSON, CSV, markdown and HTML, and a
// comparison of two profiles. These render a Report (report.go), which build.go
// makes; docs/manual.md has the rules.
//
// The functions never read standard input. They return the exit status: 0, 1 for
// what is wrong with a file, 2 for what is wrong with the command line.
package annotate
