//go:build linux && amd64 && portable

package syscalls_test

// hostDiffers has the conformance programs of which lines differ with the host layer of other hosts, how many at most,
// and why.
var hostDiffers = map[string]struct {
	lines int
	why   string
}{
	"calls":      {6, "O_PATH of a file that is removed then: other hosts have nothing that refers to it"},
	"checking":   {18, "what goes to a FIFO of the host is copied first, as far as there is something; Linux refuses all of it"},
	"execat":     {3, "a removed script and a memfd have no name by which the host would open them again"},
	"fdaccess":   {2, "a file that was removed is not found by a name"},
	"files":      {8, "a working directory that was removed is not there for stat(2)"},
	"lastnames":  {18, "other hosts exchange no names, and say otherwise why a directory is in the way"},
	"limits":     {9, "a memfd is a file of ours: fallocate(2) of one makes it longer, and does nothing else"},
	"pipes":      {12, "a FIFO of the host has no size that could be asked for"},
	"proc":       {2, "/proc/PID/fd/N of a file that was removed is at the place where N is, not at the file's begin"},
	"times":      {4, "package os has the years 1678 to 2262"},
	"wrongkinds": {2, "a FIFO of the host has no size that could be asked for"},
	"xattr":      {56, "other hosts are not asked for extended attributes"},
}
