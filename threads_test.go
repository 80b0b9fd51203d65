//go:build linux && amd64

package cgemu_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu"
	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/cgout"
)

// threadsSource has threads of which each calls step in its own way: step(n) takes 3 n + 5 instructions.
const threadsSource = `#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((naked, noinline)) void step(long n)
{
	__asm__("xor %eax, %eax\n" "nop\n" "nop\n" "1: inc %rax\n" "cmp %rax, %rdi\n" "jne 1b\n" "nop\n" "ret");
}
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; // none ends before all are there
static void wait_for_all(void) { pthread_mutex_lock(&gate); pthread_mutex_unlock(&gate); }
static void *once(void *n) { wait_for_all(); step((long)n); return 0; }
static void *often(void *n) { wait_for_all(); for (int i = 0; i < 10; i++) step((long)n); return 0; }

int main(void)
{
	pthread_t t[4];
	step(100);
	pthread_mutex_lock(&gate);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], 0, i % 2 ? often : once, (void *)(10000L * (i + 1)));
	pthread_mutex_unlock(&gate);
	step(70000);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	if (fork() == 0) {
		pthread_create(&t[0], 0, once, (void *)500);
		pthread_join(t[0], 0);
		execl("/bin/true", "/bin/true", NULL);
	}
	wait(0);
	return 0;
}
`

// buildThreads compiles threadsSource.
func buildThreads(t *testing.T) string {
	t.Helper()
	source := filepath.Join(t.TempDir(), "threads.c")
	require.NoError(t, os.WriteFile(source, []byte(threadsSource), 0o644))
	return compile(t, "gcc", "-O1", "-g", "-static", "-pthread", source, "-o")
}

// costOf is what a profile's function costs itself.
func costOf(p *cgout.Profile, name string) (sum uint64) {
	p.Each(func(_, fn string, _ int, counts []uint64) {
		if fn == name {
			sum += counts[0]
		}
	})
	return sum
}

// TestSeparateThreads counts threads apart: what each calls is known, all add up to what is counted together, and with
// counts by instruction each thread has its own.
func TestSeparateThreads(t *testing.T) {
	step := func(times, n uint64) uint64 { return times * (3*n + 5) }
	program := buildThreads(t)
	for _, engine := range fullEngines {
		cfg := cgemu.Config{
			Args: []string{program}, Engine: engine, CallGraph: true, Inline: true, DumpInstr: true, Caches: &cachesim.Default, Cycles: true, TraceChildren: true,
		}
		together := start(t, cfg)
		require.Nil(t, together.Profile.Threads)
		cfg.SeparateThreads = true
		r := start(t, cfg)
		want := []uint64{step(1, 100) + step(1, 70000), step(1, 10000), step(10, 20000), step(1, 30000), step(10, 40000)}
		require.Len(t, r.Profile.Threads, len(want))
		for i, p := range r.Profile.Threads {
			require.Equal(t, i+1, p.Thread)
			require.Equal(t, want[i], costOf(p, "step"))
			calls, insns := uint64(0), uint64(0)
			for c := range p.Graph.Calls {
				if c.Callee.Name == "step" {
					calls += c.Counts[0]
				}
			}
			for _, in := range p.Insns.List {
				if in.Func == "step" {
					insns += in.Counts[0]
				}
			}
			require.Equal(t, want[i], calls)
			require.Equal(t, want[i], insns)
			require.Contains(t, callgrindText(t, p), fmt.Sprintf("\nthread: %d\n", i+1))
		}
		require.Len(t, r.Children, 1)
		child := r.Children[0].Profile
		require.Len(t, child.Threads, 2)
		require.Equal(t, step(1, 500), costOf(child.Threads[1], "step"))
		require.Equal(t, "/bin/true", child.Threads[1].Cmd)

		for i, pair := range [][2]*cgemu.Result{{together.Result, r.Result}, {together.Children[0], r.Children[0]}} {
			a, b := pair[0].Profile, pair[1].Profile
			a.Insns = nil
			sameResult(t, &cgemu.Result{PID: i, Profile: a}, &cgemu.Result{PID: i, Profile: b})
		}
		again := start(t, cfg)
		for i := range want {
			sameResult(t, &cgemu.Result{Profile: r.Profile.Threads[i]}, &cgemu.Result{Profile: again.Profile.Threads[i]})
		}
	}
}

// TestSeparateThreadsDumps has a thread ask for dumps: each has what every thread counted since the last.
func TestSeparateThreadsDumps(t *testing.T) {
	var dumps []*cgout.Profile
	cfg := cgemu.Config{Args: []string{"testdata/dumps"}, OnDump: func(_ int, p *cgout.Profile) { dumps = append(dumps, p) }}
	start(t, cfg)
	together := dumps
	dumps, cfg.SeparateThreads = nil, true
	start(t, cfg)
	require.NotEmpty(t, dumps)
	require.Len(t, dumps, len(together))
	for i, p := range dumps {
		require.Len(t, p.Threads, 1)
		for _, q := range []*cgout.Profile{p, p.Threads[0]} {
			var a, b bytes.Buffer
			require.NoError(t, together[i].Write(&a))
			require.NoError(t, q.Write(&b))
			require.Equal(t, a.String(), b.String())
		}
	}
}
