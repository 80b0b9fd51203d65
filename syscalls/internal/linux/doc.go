// Package linux has Linux's numbers: errors, flags, commands, structures' sizes, by the names that the manual pages and
// the kernel's headers give them, for x86-64. They are the guest's, on every host. It knows nothing of how cgemu does
// what they ask for.
//
// A constant that golang.org/x/sys/unix has too has the same value there: a test compares them.
package linux
