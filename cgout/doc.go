// Package cgout reads, writes, adds up and compares cachegrind.out profiles.
//
// A profile gives counts of events to cost centres: a file name, a function
// name, a line number (0 when unknown) and one count per event. Names are byte
// strings and are kept as they are; a line feed or carriage return in a name
// would break the format, so it is written as a blank. Callgrind's format does
// not keep blanks around names. What is written can be read; what could not be,
// as a line less than 0, is an error.
//
// A Profile is what a run of ours produces: unsigned 64-bit counts, written as
// Cachegrind 3.24 writes them. Files from elsewhere may hold any integers, even
// negative ones (cg_diff writes such), so Visitor, Merger and Differ work with
// Count, which has no bound. The syntax is that of cg_annotate 3.22 and later,
// which is wider than what Cachegrind writes.
//
// A profile may have a CallGraph. Callgrind's format has room for it: WriteCallgrind writes that, and whatever reads
// profiles reads it, what Callgrind wrote, too; its calls are known to Read alone. CallGraph.Functions adds a graph up
// by function, which is where inclusive costs, callers and callees are.
//
// Errors in a profile read `file:line: message`, in the words of cg_annotate.
//
// A Profile is not safe for concurrent use.
package cgout
