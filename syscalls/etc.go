package syscalls

import "os"

// etcNodes are files of /etc that say who the machine is and how it finds others. They are made up, as the machine is: the host's differ from
// one container to the next. On the host's network they are the host's.
var etcNodes = map[string]*vnode{
	"hostname": diskNode(func(*Thread) []byte { return []byte(hostName + "\n") }),
	"hosts": diskNode(func(t *Thread) []byte {
		own := "127.0.1.1 " + hostName + "\n"
		if t.k.cfg.Network == NetworkHost {
			return append(hostText("/etc/hosts"), own...)
		}
		return []byte("127.0.0.1 localhost\n" + own)
	}),
	"resolv.conf": diskNode(func(t *Thread) []byte {
		if t.k.cfg.Network == NetworkHost {
			return hostText("/etc/resolv.conf")
		}
		return []byte("# nobody to ask\n")
	}),
}

var etcRoot = dirNode(etcNodes)

// diskNode is fileNode for a file that is as if on a disk.
func diskNode(content func(*Thread) []byte) *vnode {
	n := fileNode(content)
	n.disk = true
	return n
}

// hostText is what a text file of the host has, to the end of its last line; nothing if it cannot be read.
func hostText(name string) []byte {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	if n := len(text); n > 0 && text[n-1] != '\n' {
		text = append(text, '\n')
	}
	return text
}
