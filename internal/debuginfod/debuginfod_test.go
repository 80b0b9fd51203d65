package debuginfod

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/internal/testhost"
)

const id, other, broken = "0123456789abcdef0123456789abcdef01234567", "aaaa456789abcdef0123456789abcdef01234567", "bbbb456789abcdef0123456789abcdef01234567"

// TestFind asks two servers: what one does not have the other may, what both lack is asked for once, and one that fails
// is not asked again.
func TestFind(t *testing.T) {
	testhost.RequireLoopback(t)
	asked := map[string]int{}
	server := func(name string, answers map[string]func(w http.ResponseWriter)) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked[name+" "+r.URL.Path]++
			if f := answers[strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/buildid/"), "/debuginfo")]; f != nil {
				f(w)
				return
			}
			http.NotFound(w, r)
		}))
		t.Cleanup(s.Close)
		return s
	}
	first := server("first", map[string]func(http.ResponseWriter){
		broken: func(w http.ResponseWriter) { // breaks off
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "too short")
		},
	})
	second := server("second", map[string]func(http.ResponseWriter){
		id:     func(w http.ResponseWriter) { fmt.Fprint(w, "debug information") },
		broken: func(w http.ResponseWriter) { http.Error(w, "no", http.StatusInternalServerError) },
	})
	dir := t.TempDir()
	var told []string
	c := New([]string{first.URL + "/", second.URL}, dir, func(s string) { told = append(told, s) })
	path := c.Find(id, nil)
	require.Equal(t, filepath.Join(dir, id, "debuginfo"), path)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "debug information", string(text))
	require.Equal(t, path, c.Find(id, nil), "it is there now")
	require.Empty(t, c.Find(other, nil))
	require.Empty(t, c.Find(other, nil))
	require.Equal(t, map[string]int{
		"first /buildid/" + id + "/debuginfo": 1, "second /buildid/" + id + "/debuginfo": 1,
		"first /buildid/" + other + "/debuginfo": 1, "second /buildid/" + other + "/debuginfo": 1,
	}, asked)
	require.Len(t, told, 1)
	require.Empty(t, c.Find(broken, nil))
	require.Empty(t, c.servers)
	require.Contains(t, told[2], "unexpected EOF; it is not asked again")
	require.Contains(t, told[3], "500 Internal Server Error; it is not asked again")
	require.NoDirExists(t, filepath.Join(dir, broken), "nothing half is left behind")
}

// TestHostileServer has a server that would like to say something to a terminal.
func TestHostileServer(t *testing.T) {
	testhost.RequireLoopback(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		fmt.Fprint(conn, "HTTP/1.1 500 \x1b]0;title\a\r\nContent-Length: 0\r\n\r\n")
	}))
	defer s.Close()
	var told []string
	c := New([]string{s.URL}, t.TempDir(), func(s string) { told = append(told, s) })
	require.Empty(t, c.Find(id, nil))
	require.Equal(t, []string{"debuginfod: " + s.URL + "/buildid/" + id + "/debuginfo: 500 Internal Server Error; it is not asked again"}, told)
}

// TestFindStopped gives up when done is closed, and leaves what is no build-id alone.
func TestFindStopped(t *testing.T) {
	waits := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-waits }))
	defer s.Close()
	defer close(waits)
	done := make(chan struct{})
	close(done)
	c := New([]string{s.URL}, t.TempDir(), func(string) {})
	require.Empty(t, c.Find(id, done))
	for _, bad := range []string{"", "zz", "../../../../etc/passwd", "0123", strings.Repeat("ab", 65)} {
		require.Empty(t, c.Find(bad, nil))
	}
}

func TestParseServers(t *testing.T) {
	list, err := ParseServers(" https://a.example http://localhost:8002/x ")
	require.NoError(t, err)
	require.Equal(t, []string{"https://a.example", "http://localhost:8002/x"}, list)
	for _, bad := range []string{"debuginfod.elfutils.org", "file:///etc", "https://"} {
		_, err := ParseServers(bad)
		require.ErrorContains(t, err, "is no address of a server")
	}
}
