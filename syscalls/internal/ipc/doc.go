// Package ipc has System V IPC (shared memory, semaphores, message queues) and POSIX message queues. A Namespace has all objects of a
// run; identifiers are given in order and never again.
package ipc
