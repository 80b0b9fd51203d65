// Package strace shows system calls, signals and exits as strace(1) does, a line each. Signatures says what each argument is.
package strace
