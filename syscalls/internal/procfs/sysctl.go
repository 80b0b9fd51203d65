package procfs

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/net"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// procSys makes /proc/sys: the settings of the virtual machine, which cannot be changed.
func procSys() *files.VNode {
	return settingsNode(settings(), map[string]*files.VNode{
		"kernel/random/uuid": files.FileNode(func(t *task.Thread) []byte { return []byte(uuid(t.Kernel) + "\n") }),
	})
}

// lateNode is the directory that make makes when it is looked into first.
func lateNode(make func() *files.VNode) *files.VNode {
	dir := sync.OnceValue(make)
	return &files.VNode{
		Mode:  linux.S_IFDIR | 0o555,
		Names: func(t *task.Thread) []string { return dir().Names(t) },
		Child: func(t *task.Thread, name string) *files.VNode { return dir().Child(t, name) },
	}
}

// settings are the lines of the files of procSys, by their paths.
func settings() map[string]string {
	return map[string]string{
		"kernel/osrelease": task.UnameRelease, "kernel/ostype": "Linux", "kernel/version": task.UnameVersion,
		"kernel/hostname": task.HostName, "kernel/domainname": "(none)", "kernel/pid_max": "32768",
		"kernel/ngroups_max": "65536", "kernel/cap_last_cap": fmt.Sprint(task.LastCap), "kernel/threads-max": "62000",
		"kernel/randomize_va_space": "0", "kernel/perf_event_paranoid": "4", "kernel/core_pattern": "core",
		"kernel/sched_rt_period_us": "1000000", "kernel/sched_rt_runtime_us": "950000", "kernel/seccomp/actions_avail": "",
		"kernel/tainted": "0", "kernel/overflowuid": "65534", "kernel/overflowgid": "65534", "kernel/random/boot_id": strings.TrimSuffix(bootID, "\n"),
		"kernel/random/entropy_avail": "256", "kernel/random/poolsize": "256",
		"kernel/shmmax": "18446744073692774399", "kernel/shmall": "18446744073692774399", "kernel/shmmni": "4096",
		"kernel/sem": "32000\t1024000000\t500\t32000", "kernel/msgmax": "8192", "kernel/msgmnb": "16384", "kernel/msgmni": "32000",
		"kernel/arch": "x86_64", "kernel/core_uses_pid": "0", "kernel/core_pipe_limit": "0", "kernel/numa_balancing": "0", "kernel/nmi_watchdog": "0", "kernel/watchdog": "0",
		"kernel/perf_event_max_sample_rate": "100000", "kernel/perf_event_mlock_kb": "516", "kernel/perf_event_max_stack": "127", "kernel/perf_cpu_time_max_percent": "25",
		"kernel/unprivileged_bpf_disabled": "2", "kernel/io_uring_disabled": "2", "kernel/sched_rr_timeslice_ms": "100", "kernel/sched_autogroup_enabled": "0",
		"kernel/pty/max": "4096", "kernel/pty/nr": "0", "kernel/pty/reserve": "1024", "kernel/printk": "4\t4\t1\t7", "kernel/shm_rmid_forced": "0",
		"kernel/keys/maxkeys": "200", "kernel/dmesg_restrict": "1", "kernel/kptr_restrict": "1", "kernel/panic": "0",

		"vm/overcommit_memory": "0", "vm/overcommit_ratio": "50", "vm/overcommit_kbytes": "0", "vm/max_map_count": "65530",
		"vm/mmap_min_addr": "65536", "vm/swappiness": "60", "vm/dirty_ratio": "20", "vm/dirty_background_ratio": "10", "vm/nr_hugepages": "0",
		"vm/nr_overcommit_hugepages": "0", "vm/zone_reclaim_mode": "0", "vm/min_free_kbytes": "11465", "vm/vfs_cache_pressure": "100", "vm/page-cluster": "3", "vm/laptop_mode": "0",
		"vm/dirty_bytes": "0", "vm/dirty_background_bytes": "0", "vm/dirty_expire_centisecs": "3000", "vm/dirty_writeback_centisecs": "500", "vm/oom_kill_allocating_task": "0",
		"vm/panic_on_oom": "0", "vm/legacy_va_layout": "0", "vm/unprivileged_userfaultfd": "0", "vm/user_reserve_kbytes": "131072", "vm/admin_reserve_kbytes": "8192",

		"fs/file-max": "9223372036854775807", "fs/nr_open": "1048576", "fs/pipe-max-size": "1048576", "fs/file-nr": "1024\t0\t9223372036854775807",
		"fs/pipe-user-pages-soft": "16384", "fs/pipe-user-pages-hard": "0", "fs/aio-max-nr": "65536", "fs/aio-nr": "0",
		"fs/inotify/max_user_watches": "65536", "fs/inotify/max_queued_events": "16384", "fs/inotify/max_user_instances": "128",
		"fs/lease-break-time": "45", "fs/leases-enable": "1", "fs/suid_dumpable": "0", "fs/protected_fifos": "1", "fs/protected_regular": "1", "fs/overflowuid": "65534",
		"fs/overflowgid": "65534", "fs/mount-max": "100000", "fs/dentry-state": "0\t0\t45\t0\t0\t0", "fs/inode-nr": "0\t0", "fs/inode-state": "0\t0\t0\t0\t0\t0\t0",
		"fs/epoll/max_user_watches": "1000000", "fs/protected_hardlinks": "1", "fs/protected_symlinks": "1",
		"fs/mqueue/msg_max": "10", "fs/mqueue/msgsize_max": "8192", "fs/mqueue/queues_max": "256", "fs/mqueue/msg_default": "10", "fs/mqueue/msgsize_default": "8192",

		"net/core/somaxconn": strconv.Itoa(linux.SOMAXCONN), "net/core/rmem_default": strconv.Itoa(net.SockBuf), "net/core/wmem_default": strconv.Itoa(net.SockBuf),
		"net/core/rmem_max": strconv.Itoa(net.SockBuf), "net/core/wmem_max": strconv.Itoa(net.SockBuf), "net/core/netdev_max_backlog": "1000", "net/core/optmem_max": "131072",
		"net/ipv4/ip_local_port_range":        fmt.Sprintf("%d\t%d", net.FirstPort, net.LastPort),
		"net/ipv4/ip_unprivileged_port_start": strconv.Itoa(net.PrivilegedPort), "net/ipv4/ip_forward": "0", "net/ipv4/ip_default_ttl": "64", "net/ipv4/ip_nonlocal_bind": "0",
		"net/ipv4/tcp_rmem": "4096\t131072\t6291456", "net/ipv4/tcp_wmem": "4096\t16384\t4194304", "net/ipv4/tcp_syncookies": "1", "net/ipv4/tcp_fin_timeout": "60",
		"net/ipv4/tcp_keepalive_time": "7200", "net/ipv4/tcp_keepalive_intvl": "75", "net/ipv4/tcp_keepalive_probes": "9", "net/ipv4/tcp_max_syn_backlog": "512",
		"net/ipv4/tcp_tw_reuse": "2", "net/ipv4/tcp_timestamps": "1", "net/ipv4/tcp_sack": "1", "net/ipv4/tcp_window_scaling": "1", "net/ipv4/tcp_fastopen": "1",
		"net/ipv4/tcp_congestion_control": "cubic", "net/ipv4/tcp_available_congestion_control": "cubic", "net/ipv4/ping_group_range": "1\t0",
		"net/ipv6/bindv6only": "0", "net/unix/max_dgram_qlen": "10",
		"net/ipv6/conf/all/disable_ipv6": "0", "net/ipv6/conf/default/disable_ipv6": "0", "net/ipv6/conf/lo/disable_ipv6": "0", "net/ipv4/tcp_mem": "94326\t125769\t188652",
		"net/core/default_qdisc": "pfifo_fast", "net/core/busy_poll": "0", "net/core/busy_read": "0",

		"user/max_user_namespaces": "0", "user/max_pid_namespaces": "0", "user/max_net_namespaces": "0", "user/max_mnt_namespaces": "0", "user/max_ipc_namespaces": "0",
		"user/max_uts_namespaces": "0", "user/max_cgroup_namespaces": "0", "user/max_time_namespaces": "0", "user/max_inotify_instances": "128", "user/max_inotify_watches": "65536",
	}
}

// settingsNode is a tree of files by their paths: those of lines have one line each, others are nodes.
func settingsNode(lines map[string]string, others map[string]*files.VNode) *files.VNode {
	dirs := map[string]map[string]*files.VNode{"": {}}
	var dir func(path string) map[string]*files.VNode
	dir = func(path string) map[string]*files.VNode {
		if nodes := dirs[path]; nodes != nil {
			return nodes
		}
		nodes := map[string]*files.VNode{}
		dirs[path] = nodes
		up, name := "", path
		if i := strings.LastIndexByte(path, '/'); i >= 0 {
			up, name = path[:i], path[i+1:]
		}
		dir(up)[name] = files.DirNode(nodes)
		return nodes
	}
	put := func(path string, n *files.VNode) {
		i := strings.LastIndexByte(path, '/')
		dir(path[:max(i, 0)])[path[i+1:]] = n
	}
	for path, text := range lines {
		put(path, files.TextNode(text+"\n"))
	}
	for path, n := range others {
		put(path, n)
	}
	return files.DirNode(dirs[""])
}

// countersNode is a file with counters of network protocols that are all 0, in the form of /proc/net/snmp: a line of
// names and a line of values for each protocol.
func countersNode(protocols ...string) *files.VNode {
	var b strings.Builder
	for _, p := range protocols {
		name, fields, _ := strings.Cut(p, " ")
		fmt.Fprintf(&b, "%s: %s\n%s:%s\n", name, fields, name, strings.Repeat(" 0", len(strings.Fields(fields))))
	}
	return files.TextNode(b.String())
}
