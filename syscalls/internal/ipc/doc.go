// Package ipc has the objects of System V IPC (shared memory, semaphores, message queues) and POSIX message queues, and
// the calls that may have to wait for them. A Namespace has all objects of a kernel. Ids are given in order and never
// again, so that they are the same in every run.
package ipc
