//go:build linux && amd64

package syscalls_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
)

// overlayWork is done by programs that most files of a distribution belong to, in a directory that has the file "there"
// already.
const overlayWork = `
set -e
umask 022
echo more >>there; cat there
mkdir -p a/b/c; echo 1 >a/b/c/one; printf '%s\n' z y x | sort >a/sorted; cp -r a copy; mv copy moved
ln -s ../there a/link; ln there hard; cat a/link; stat -c '%F %a %h %s %N' there hard a/link; stat -c '%F %a %h %N' a/b
chmod 640 there; touch -d 2001-02-03T04:05:06Z a/sorted; stat -c '%a %n' there; stat -c '%a %Y %n' a/sorted
find . | sort; ls -R moved; rm -r moved/b; rmdir moved 2>&1 || ls moved
mkfifo fifo; (echo through >fifo &); cat fifo; dd if=/dev/zero of=sparse bs=1 count=1 seek=100000 2>/dev/null; wc -c sparse; truncate -s 3 sparse; wc -c <sparse
exec 3<>open; rm open; echo gone >&3; cat </proc/self/fd/3; head -c 20 /proc/self/fd/3; exec 3>&-
tar cf t.tar a; mkdir x; tar xf t.tar -C x; diff -r a x/a && echo same; cp /bin/true mine; ./mine && echo ran
exec 4<. 5<. 6<a; flock -n 4; flock -n 5 || echo locked; flock -n 6; flock -u 4; flock -n 5 && echo free; exec 4<&- 5<&- 6<&-
( cd a/b; basename $(pwd); mv ../b ../d; cd ..; ls )
perl -e 'open F, ">p" or die; print F "perl $_\n" for 1..3; close F; rename "p", "q"; opendir D, "." or die; print join(" ", sort readdir D), "\n"; print -s "q", "\n"'
perl -pi -e 's/perl/Perl/' q; cat q; perl -e 'unlink "q"; print -e "q" ? "there" : "gone", "\n"; mkdir "m"; chmod 0700, "m"; printf "%o\n", (stat "m")[2]'
git init -q repo; cd repo; git config user.name N; git config user.email e@example.org
echo one >f; git add f; git commit -qm first; git checkout -qb side; echo two >>f; git commit -qam second
git checkout -q -; echo g >g; git add g; git commit -qm third; git merge -q side -m merged; git log --format='%s %T' --graph; git status --short; git fsck; git gc -q; git count-objects -v | grep -v size
git clone -q . ../clone; cd ../clone; cat f g; git log --oneline | wc -l
`

// TestOverlayPrograms has bash, coreutils, perl and git work in an overlay of the host's files, and compares what they
// print with what they print natively. The files stay what they were.
func TestOverlayPrograms(t *testing.T) {
	for _, tool := range []string{"bash", "perl", "git", "tar"} {
		if _, err := exec.LookPath(tool); err != nil {
			require.False(t, oracles, err)
			t.Skip(err)
		}
	}
	env := []string{
		"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC", "HOME=/nowhere", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_DATE=2020-01-01T00:00:00Z",
		"GIT_COMMITTER_DATE=2020-01-01T00:00:00Z",
	}
	scratch := func() string {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "there"), []byte("before\n"), 0o644))
		return dir
	}
	args := func(dir string) []string {
		return []string{"/bin/bash", "-c", "cd '" + dir + "' || exit\n" + overlayWork}
	}
	want, status := nativeRun(t, args(scratch()), env)
	require.Zero(t, status, want)
	dir := scratch()
	got, gotStatus := guestRun(t, args(dir), env, func(c *cgemu.Config) { c.Overlay = true })
	require.Equal(t, want, got)
	require.Equal(t, status, gotStatus)
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(dir, "there")}, names)
	text, err := os.ReadFile(names[0])
	require.NoError(t, err)
	require.Equal(t, "before\n", string(text))
}

// TestRealTimes checks that a file whose times were set gets the time of the next write, by the host's clock.
func TestRealTimes(t *testing.T) {
	for _, overlay := range []bool{false, true} {
		script := "cd '" + t.TempDir() + "' || exit; touch -d @5 f; stat -c %Y f; echo >>f; [ f -nt /proc/self/exe ] && echo newer"
		got, _ := guestRun(t, []string{"/bin/bash", "-c", script}, nil, func(c *cgemu.Config) { c.Overlay, c.RealTime = overlay, true })
		require.Equal(t, "5\nnewer\n", got)
	}
}
