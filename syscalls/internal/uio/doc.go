// Package uio is how system calls reach what their callers hand them: Args, the registers, and Memory, the address
// space. An access to memory that is not mapped is EFAULT, as in Linux's copy_from_user and copy_to_user.
//
// An Iovec is a piece of guest memory. How far a transfer over several of them has come is counted in bytes from the
// beginning of the first; Skip and First cut them there.
package uio
