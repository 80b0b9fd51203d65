package sandbox

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// Rights by what they are for (landlock(7)). No rule gives others: to execute, to make devices, to control those below
// a directory, to connect to sockets. A rule for a file can have useRights only.
const (
	readRights  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE
	useRights = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

var accessRights = [...]uint64{Read: readRights, Change: readRights | writeRights, Use: useRights}

// since has which version of Landlock's interface brought what.
var since = []struct {
	abi             int
	fs, net, scoped uint64
	name            string
}{
	{1, 1<<13 - 1, 0, 0, "files"},
	{2, unix.LANDLOCK_ACCESS_FS_REFER, 0, 0, ""},
	{3, unix.LANDLOCK_ACCESS_FS_TRUNCATE, 0, 0, ""},
	{4, 0, unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, 0, "tcp"},
	{5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV, 0, 0, "devices"},
	{6, 0, 0, unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL, "signals, abstract sockets"},
	{9, unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX, 0, 0, ""},
}

// handled is what a host with version abi restricts for p, and what to call it.
func handled(p Policy, abi int) (attr unix.LandlockRulesetAttr, names string) {
	var list []string
	for _, s := range since {
		if s.abi > abi {
			continue
		}
		attr.Handled_access_fs |= s.fs
		attr.Handled_access_net |= s.net
		attr.Scoped |= s.scoped
		if s.name != "" {
			list = append(list, s.name)
		}
	}
	if p.ReadAll {
		attr.Handled_access_fs &^= readRights
	}
	if p.Network {
		attr.Handled_access_net &^= unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	return attr, strings.Join(list, ", ")
}

// landlockABI returns the version of Landlock's interface.
func landlockABI() (int, error) {
	if errThreads != nil {
		return 0, errThreads
	}
	abi, err := createRuleset(nil, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errors.Is(err, unix.ENOSYS):
		return 0, errors.New("the kernel has none, or whoever runs this container forbids it")
	case errors.Is(err, unix.EOPNOTSUPP):
		return 0, errors.New("it was not switched on when the host was started")
	case err != nil:
		return 0, err
	}
	return abi, nil
}

// A ruleset is what Landlock is to allow. The zero value is none.
type ruleset struct {
	fd, abi int
	names   string // of what it restricts
}

// newRuleset makes the ruleset of p.
func newRuleset(p Policy) (r ruleset, err error) {
	if r.abi, err = landlockABI(); err != nil {
		return ruleset{}, err
	}
	attr, names := handled(p, r.abi)
	r.names = names
	if r.fd, err = createRuleset(&attr, 0); err != nil {
		return ruleset{}, fmt.Errorf("making the rules: %w", err)
	}
	for _, rule := range p.Rules {
		if err := addRule(r.fd, rule, attr.Handled_access_fs); err != nil {
			r.close()
			return ruleset{}, fmt.Errorf("%s: %w", rule.Path, err)
		}
	}
	return r, nil
}

func (r ruleset) close() { unix.Close(r.fd) }

// restrict holds all threads to r, once they can get no new privileges: privileged says that they still can.
func (r ruleset) restrict(privileged bool) (stands string, err error) {
	if privileged {
		if err := onAllThreads(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0); err != nil {
			return "", err
		}
	}
	if err := onAllThreads(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); err != nil {
		return "", err
	}
	return fmt.Sprintf("ABI %d: %s", r.abi, r.names), nil
}

// pinned keeps descriptors open for as long as the process lives: procfs forgets what nobody has open, and makes
// another file for the same name, which no rule is for.
var pinned []int

// addRule adds r to a ruleset.
func addRule(ruleset int, r Rule, handled uint64) error {
	fd, err := unix.Open(r.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT || err == unix.ENOTDIR || err == unix.EACCES {
		return nil // what is not there cannot be had
	}
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	rights := accessRights[r.Access]
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= useRights
	}
	var fs unix.Statfs_t
	if unix.Fstatfs(fd, &fs) == nil && fs.Type == unix.PROC_SUPER_MAGIC {
		pinned = append(pinned, fd)
	} else {
		defer unix.Close(fd)
	}
	if rights &= handled; rights == 0 {
		return nil
	}
	err = addPathRule(ruleset, &unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)})
	if err == unix.EBADFD {
		return nil // a pipe or a memfd, which Landlock lets be
	}
	return err
}
