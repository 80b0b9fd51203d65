// Package uio is how system calls reach what their callers hand them: Args, the registers, and Memory, the process' address space.
// What is not mapped is EFAULT, as Linux's copy_from_user and copy_to_user have it. Lengths are bytes.
//
// An Iovec is a piece of guest memory; what has been transferred of several is counted in bytes from the first one's begin (Skip, First).
package uio
