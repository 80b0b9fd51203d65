// Package procfs has the contents of /proc and /sys. What they say of processes is the kernel's state; what they say of
// the machine is the same on every host (docs/manual.md, "Determinism"). Importing the package fills in files.ProcRoot
// and files.SysRoot, the roots of these trees.
package procfs
