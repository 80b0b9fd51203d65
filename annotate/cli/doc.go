// Package cli has cgemu's commands for profiles as functions: Annotate, CgDiff (and Diff, which differs on terminals)
// and Merge, which are cg_annotate, cg_diff and cg_merge, Callers, Export and View. Each takes a command line and
// returns an exit status: 0, 1 for what is wrong with a file, 2 for what is wrong with the command line. (Browse,
// Commands and PageOptions are for the command cgemu.)
//
// The rules of Annotate, CgDiff and Merge are those of Valgrind's programs since 3.22, written in Python: options and
// their abbreviations, what is shown, its order and its layout, the errors and their status. Where the originals crash
// (on text that is no UTF-8, on bad regular expressions, on profiles without events), these do not: bytes go through as
// they are, and errors are errors. docs/manual.md has the other commands, and the options that the originals lack.
//
// The functions never read standard input. If standard output is a terminal, Annotate, and Diff of a table, start a
// pager and leave SIGINT to it until it ends; CGEMU_PAGER, PAGER, NO_COLOR and TERM of the environment count then.
// Package annotate does the same for Go programs, without any of that.
package cli
