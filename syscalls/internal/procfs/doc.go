// Package procfs makes up /proc and /sys: what they say of processes is the kernel's state, what they say of the machine is the same
// everywhere (docs/manual.md, "Determinism"). It fills in files.ProcRoot and files.SysRoot when it is imported.
package procfs
