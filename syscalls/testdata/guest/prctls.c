// What prctl(2) checks, and settings that other processes see.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void show(const char *what, long r) { printf("%-34s %ld %s\n", what, r, r < 0 ? strerror(errno) : ""); }
#define TRY(...) show(#__VA_ARGS__, prctl(__VA_ARGS__))

int main(void) {
	int x = 9;
	setvbuf(stdout, 0, _IOLBF, 0);
	TRY(PR_SET_NO_NEW_PRIVS, 0L, 0L, 0L, 0L);
	TRY(PR_SET_NO_NEW_PRIVS, 1L, 1L, 0L, 0L);
	TRY(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 1L);
	TRY(PR_GET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L);
	TRY(PR_GET_NO_NEW_PRIVS, 0L, 0L, 0L, 0L);
	TRY(PR_SET_THP_DISABLE, 1L, 1L, 0L, 0L);
	TRY(PR_GET_THP_DISABLE, 1L, 0L, 0L, 0L);
	TRY(PR_GET_THP_DISABLE, 0L, 0L, 0L, 0L);
	TRY(PR_CAPBSET_READ, 41L, 0L, 0L, 0L);
	TRY(PR_CAPBSET_READ, 1000L, 0L, 0L, 0L);
	TRY(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, 0L, 0L, 0L);
	TRY(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, 99L, 0L, 0L);
	TRY(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, 0L, 1L, 0L);
	TRY(PR_CAP_AMBIENT, 99L, 0L, 0L, 0L);
	TRY(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0L, 0L, 0L);
	TRY(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 1L, 0L, 0L);
	TRY(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 0L, 0L, 0L);
	TRY(PR_MCE_KILL_GET, 0L, 0L, 0L, 0L);
	for (long policy = 0; policy < 4; policy++) {
		TRY(PR_MCE_KILL, 1L, policy, 0L, 0L);
		TRY(PR_MCE_KILL_GET, 0L, 0L, 0L, 0L);
	}
	TRY(PR_MCE_KILL, 1L, 1L, 0L, 0L);
	if (!fork()) {
		TRY(PR_MCE_KILL_GET, 0L, 0L, 0L, 0L);
		_exit(0);
	}
	wait(0);
	TRY(PR_MCE_KILL, 0L, 0L, 0L, 0L);
	TRY(PR_MCE_KILL_GET, 0L, 0L, 0L, 0L);
	static char map[104];
	TRY(PR_SET_MM, PR_SET_MM_MAP_SIZE, &x, 0L, 0L);
	printf("%d\n", x);
	TRY(PR_SET_MM, PR_SET_MM_MAP_SIZE, 8L, 5L, 0L);
	TRY(PR_SET_MM, PR_SET_MM_MAP_SIZE, &x, 0L, 1L);
	TRY(PR_SET_MM, PR_SET_MM_MAP, map, 103L, 0L);
	TRY(PR_SET_MM, PR_SET_MM_MAP, map, (1L << 32) + 104, 0L);
	TRY(PR_SET_MM, PR_SET_MM_MAP, 8L, 104L, 0L);
	TRY(PR_SET_MM, PR_SET_MM_MAP, map, 104L, 0L);
	TRY(PR_SET_CHILD_SUBREAPER, 5L, 0L, 0L, 0L);
	TRY(PR_GET_CHILD_SUBREAPER, &x, 0L, 0L, 0L);
	printf("%d\n", x);
	TRY(PR_SET_CHILD_SUBREAPER, 0L, 0L, 0L, 0L);
	TRY(PR_SET_PDEATHSIG, 65L, 0L, 0L, 0L);
	TRY(PR_SET_PDEATHSIG, 10L, 0L, 0L, 0L);
	TRY(PR_GET_PDEATHSIG, &x, 0L, 0L, 0L);
	printf("%d\n", x);
	TRY(PR_SET_DUMPABLE, 2L, 0L, 0L, 0L);
	TRY(PR_SET_DUMPABLE, 0L, 0L, 0L, 0L);
	TRY(PR_GET_DUMPABLE, 0L, 0L, 0L, 0L);
	TRY(PR_SET_TIMING, 0L, 0L, 0L, 0L);
	TRY(PR_SET_TIMING, 1L, 0L, 0L, 0L);
	TRY(PR_GET_TIMING, 0L, 0L, 0L, 0L);
	TRY(PR_SET_TSC, PR_TSC_ENABLE, 0L, 0L, 0L);
	TRY(PR_SET_TSC, 9L, 0L, 0L, 0L);
	TRY(PR_GET_TSC, &x, 0L, 0L, 0L);
	printf("%d\n", x);
	TRY(PR_GET_TSC, 0L, 0L, 0L, 0L);
	TRY(PR_SET_FPEMU, 1L, 0L, 0L, 0L);
	TRY(PR_SET_ENDIAN, 0L, 0L, 0L, 0L);
	TRY(PR_SET_UNALIGN, 1L, 0L, 0L, 0L);
	TRY(PR_SET_TIMERSLACK, -70000L, 0L, 0L, 0L); // it has no sign
	TRY(PR_GET_TIMERSLACK, 0L, 0L, 0L, 0L);
	TRY(PR_SET_TIMERSLACK, 70000L, 0L, 0L, 0L);
	TRY(PR_GET_TIMERSLACK, 0L, 0L, 0L, 0L);
	if (fork() == 0) {
		TRY(PR_GET_TIMERSLACK, 0L, 0L, 0L, 0L);
		TRY(PR_SET_TIMERSLACK, 0L, 0L, 0L, 0L);
		TRY(PR_GET_TIMERSLACK, 0L, 0L, 0L, 0L);
		TRY(PR_GET_PDEATHSIG, &x, 0L, 0L, 0L);
		printf("%d\n", x);
		_exit(0);
	}
	wait(0);
	TRY(PR_MCE_KILL, PR_MCE_KILL_CLEAR, 1L, 0L, 0L);
	TRY(PR_MCE_KILL, PR_MCE_KILL_CLEAR, 0L, 0L, 0L);
	TRY(PR_MCE_KILL_GET, 1L, 0L, 0L, 0L);
	TRY(PR_MCE_KILL_GET, 0L, 0L, 0L, 0L);
	TRY(PR_SET_NAME, 1L, 0L, 0L, 0L);
	TRY(PR_SET_KEEPCAPS, 2L, 0L, 0L, 0L);
	TRY(PR_GET_KEEPCAPS, 0L, 0L, 0L, 0L);
	TRY(9999, 0L, 0L, 0L, 0L);
	TRY(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L);
	TRY(PR_GET_NO_NEW_PRIVS, 0L, 0L, 0L, 0L);
	if (fork() == 0) {
		TRY(PR_GET_NO_NEW_PRIVS, 0L, 0L, 0L, 0L);
		_exit(0);
	}
	wait(0);
	return 0;
}
