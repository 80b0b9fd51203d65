package image

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// A User is who runs a program.
type User struct {
	UID, GID uint32
	Groups   []int // others that he is in
}

// maxAccounts is how much is read of a file of users or groups.
const maxAccounts = 16 << 20

// LookupUser returns the user that a configuration names: by name or number, with a group behind a colon or without. ""
// is the superuser.
func (m *Image) LookupUser(spec string) (User, error) {
	name, group, _ := strings.Cut(spec, ":")
	if name == "" {
		name = "0"
	}
	var u User
	passwd := m.accounts("/etc/passwd")
	account := findAccount(passwd, name)
	id, isNumber := number(name)
	switch {
	case account != nil:
		uid, ok := number(account[2])
		gid, ok2 := number(account[3])
		if !ok || !ok2 {
			return u, fmt.Errorf("user %q: its line in the image's /etc/passwd is no good", name)
		}
		u.UID, u.GID = uid, gid
		name = account[0]
	case isNumber:
		u.UID = id
	default:
		return u, fmt.Errorf("user %q: the image's /etc/passwd has no such name", name)
	}
	groups := m.accounts("/etc/group")
	if group == "" {
		for _, g := range groups {
			if gid, ok := number(g[2]); ok && gid != u.GID && slices.Contains(strings.Split(g[3], ","), name) {
				u.Groups = append(u.Groups, int(gid))
			}
		}
		return u, nil
	}
	id, isNumber = number(group)
	if g := findAccount(groups, group); g != nil {
		id, isNumber = number(g[2])
	}
	if !isNumber {
		return u, fmt.Errorf("group %q: the image's /etc/group has no such name", group)
	}
	u.GID = id
	return u, nil
}

func number(s string) (uint32, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	return uint32(n), err == nil && n < 1<<32-1
}

// findAccount returns the line of a name, or else of a number.
func findAccount(lines [][]string, name string) []string {
	for _, column := range []int{0, 2} {
		for _, f := range lines {
			if f[column] == name {
				return f
			}
		}
	}
	return nil
}

// accounts are the lines of a file of users or groups, as far as it is one.
func (m *Image) accounts(name string) (lines [][]string) {
	f := m.Find(name)
	if f == nil || f.Kind != Regular {
		return nil
	}
	r, err := f.Open()
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(r, maxAccounts))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 5); len(f) >= 4 {
			lines = append(lines, f)
		}
	}
	return lines
}
