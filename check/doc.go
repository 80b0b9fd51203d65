// Package check holds programs to the numbers of instructions that they took before: `cgemu check`.
//
// A Manifest (cgemu.toml) says what to run and how far each count may go. A Baseline is what was counted when somebody
// was content with it: a text file for the repository, one line for each benchmark and event, sorted, so that changes
// of two branches merge. Run makes a Measurement of each benchmark, Compare a Report of both, which says what went
// beyond its limit and which functions moved it there.
//
// Counts are exact: a benchmark that is run again, on any host, has the same ones. What can make them differ is in the
// Fingerprint that goes with them: the program, the libraries it loads, its input, the options, and the version of the
// rules of counting.
//
// Limits are per cent of the old count, or numbers of events.
//
// The package is cgemu's own: what it promises may change.
package check
