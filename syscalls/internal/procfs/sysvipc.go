package procfs

import (
	"fmt"

	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/ipc"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// sysvNode is /proc/sysvipc.
func sysvNode() *files.VNode {
	return files.DirNode(map[string]*files.VNode{
		"shm": files.FileNode(func(t *task.Thread) []byte {
			b := []byte("       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid" +
				"      atime      dtime      ctime                   rss                  swap\n")
			for _, s := range ipc.NamespaceOf(t.Kernel).Shm.List {
				b = fmt.Appendf(b, "%10d %10d  %4o %21d %5d %5d  %5d %5[8]d %5[9]d %5[8]d %5[9]d %10d %10d %10d %21d %21d\n", int32(s.Key), s.ID,
					s.Mode, s.Size, s.Creator, s.Last, s.Attached(t.Kernel), t.Kernel.UID, t.Kernel.GID, s.Atime, s.Dtime, s.Ctime, s.Size, 0)
			}
			return b
		}),
		"sem": files.FileNode(func(t *task.Thread) []byte {
			b := []byte("       key      semid perms      nsems   uid   gid  cuid  cgid      otime      ctime\n")
			for _, s := range ipc.NamespaceOf(t.Kernel).Sem.List {
				b = fmt.Appendf(b, "%10d %10d  %4o %10d %5[5]d %5[6]d %5[5]d %5[6]d %10[7]d %10d\n", int32(s.Key), s.ID, s.Mode, len(s.Values),
					t.Kernel.UID, t.Kernel.GID, s.Otime, s.Ctime)
			}
			return b
		}),
		"msg": files.FileNode(func(t *task.Thread) []byte {
			b := []byte("       key      msqid perms      cbytes       qnum lspid lrpid   uid   gid  cuid  cgid      stime      rtime      ctime\n")
			for _, q := range ipc.NamespaceOf(t.Kernel).Msg.List {
				b = fmt.Appendf(b, "%10d %10d  %4o  %10d %10d %5d %5d %5[8]d %5[9]d %5[8]d %5[9]d %10[10]d %10d %10d\n", int32(q.Key), q.ID, q.Mode, q.Bytes,
					len(q.Messages), q.Sender, q.Reader, t.Kernel.UID, t.Kernel.GID, q.Stime, q.Rtime, q.Ctime)
			}
			return b
		}),
	})
}
