package syscalls

// etcNodes are files of /etc that say who the machine is and, in package net, how it finds others. They are made up, as the machine is:
// the host's differ from one container to the next.
var etcNodes = map[string]*vnode{
	"hostname": diskNode(func(*Thread) []byte { return []byte(hostName + "\n") }),
}

var etcRoot = dirNode(etcNodes)

// diskNode is fileNode for a file that is as if on a disk.
func diskNode(content func(*Thread) []byte) *vnode {
	n := fileNode(content)
	n.disk = true
	return n
}
