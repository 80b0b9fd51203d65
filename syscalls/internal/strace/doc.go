// Package strace shows system calls, signals and ends of processes as strace(1) does, one line for each. Signatures
// says of which kind each argument of a call is, and the kinds (argKinds, flagSets) how it is shown.
package strace
