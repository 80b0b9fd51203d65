//go:build !amd64

package soft

// fromRoutine has no routines on this host.
func fromRoutine(Routine, F80, F80, uint16) (Result, bool) { return Result{}, false }
