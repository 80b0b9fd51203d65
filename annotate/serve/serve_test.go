package serve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/annotate"
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/internal/testhost"
)

// report is of one file, whose source is read, and of one that is not there.
func report(t *testing.T, ir uint64) *annotate.Report {
	name := filepath.Join(t.TempDir(), "a.c")
	require.NoError(t, os.WriteFile(name, []byte("int f;\nint g; // secret\n"), 0o644))
	p := cgout.New("Ir")
	p.Add(name, "f", 2, ir)
	p.Add("/gone.c", "g", 1, 1)
	o := annotate.Defaults()
	o.Threshold = 0
	r, err := annotate.New(o, annotate.Memory("p", p))
	require.NoError(t, err)
	return r
}

// serve starts a server and returns its URL without the slash at the end.
func serve(t *testing.T, s *Server) string {
	ln, err := Listen(DefaultAddress)
	require.NoError(t, err)
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, ln) }()
	t.Cleanup(func() {
		end()
		require.NoError(t, <-done)
	})
	return strings.TrimSuffix(URL(ln), "/")
}

// ask makes a request; headers are pairs.
func ask(t *testing.T, method, url string, headers ...string) (status int, text string) {
	req, err := http.NewRequest(method, url, nil)
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(body)
}

// TestServe: the page has no sources until they are asked for, by number, in the version that the page has.
func TestServe(t *testing.T) {
	testhost.RequireLoopback(t)
	c := Content{report(t, 70), 1, true}
	stopped := 0
	url := serve(t, &Server{Content: func() (Content, error) { return c, nil }, Stop: func() { stopped++ }})
	get := func(path string, headers ...string) (int, string) { return ask(t, "GET", url+path, headers...) }

	status, page := get("/")
	require.Equal(t, 200, status)
	require.True(t, strings.HasPrefix(page, "<!DOCTYPE html>"))
	require.Contains(t, page, "connect-src &#39;self&#39;")
	require.NotContains(t, page, "secret")
	require.Contains(t, page, `"live":{"version":1,"running":true,"stop":true}`)

	status, _ = get("/data?v=1")
	require.Equal(t, 204, status)
	status, data := get("/data?v=0")
	require.Equal(t, 200, status)
	require.Contains(t, data, `"total":[71]`)

	status, rows := get("/source/0?v=1")
	require.Equal(t, 200, status)
	require.Contains(t, rows, "secret")
	status, rows = get("/source/1?v=1")
	require.Equal(t, 200, status)
	require.Equal(t, `[[1,null,"",[1]]]`, rows)
	status, rest := get("/rest?v=1")
	require.Equal(t, 200, status)
	require.JSONEq(t, `{"names":[],"funcs":[]}`, rest)
	for path, want := range map[string]int{
		"/rest?v=2": 409, "/rest": 409, "/source/2?v=1": 404, "/source/-1?v=1": 404, "/source/x?v=1": 404, "/source/99999999999?v=1": 404, "/source/..%2f..%2fetc%2fpasswd?v=1": 404,
		"/source/0?v=2": 409, "/source/0": 409, "/etc/passwd": 404, "/stop": 405, "/data/": 404,
	} {
		status, _ := get(path)
		require.Equal(t, want, status, path)
	}

	// A newer version: the page asks for it, and sources are of that.
	c = Content{report(t, 100), 2, false}
	status, data = get("/data?v=1")
	require.Equal(t, 200, status)
	require.Contains(t, data, `"total":[101]`)
	status, _ = get("/source/0?v=1")
	require.Equal(t, 409, status)
	status, _ = get("/source/0?v=2")
	require.Equal(t, 200, status)

	// Only the page itself can stop the run.
	for _, headers := range [][]string{nil, {"Origin", "http://evil.example"}, {"Origin", "null"}, {"Origin", url, "Sec-Fetch-Site", "cross-site"}} {
		status, _ = ask(t, "POST", url+"/stop", headers...)
		require.Equal(t, 403, status, headers)
	}
	require.Zero(t, stopped)
	status, _ = ask(t, "POST", url+"/stop", "Origin", url)
	require.Equal(t, 204, status)
	require.Equal(t, 1, stopped)
}

// TestGuard: the server has loopback's names only, and answers no other pages.
func TestGuard(t *testing.T) {
	testhost.RequireLoopback(t)
	c := Content{report(t, 70), 1, false}
	url := serve(t, &Server{Content: func() (Content, error) { return c, nil }})
	port := url[strings.LastIndex(url, ":"):]
	for host, want := range map[string]int{
		"localhost" + port: 200, "127.0.0.1" + port: 200, "[::1]" + port: 200,
		"evil.example" + port: 421, "evil.example": 421, "localhost": 421, "127.0.0.1:1": 421, "127.0.0.1.evil.example" + port: 421,
	} {
		status, text := ask(t, "GET", url+"/", "Host", host)
		require.Equal(t, want, status, host)
		require.Equal(t, want == 200, strings.Contains(text, "<html"), host)
	}
	status, _ := ask(t, "GET", url+"/data", "Origin", "http://evil.example")
	require.Equal(t, 403, status)
	status, _ = ask(t, "GET", url+"/data", "Sec-Fetch-Site", "cross-site")
	require.Equal(t, 403, status)
	status, _ = ask(t, "GET", url+"/", "Sec-Fetch-Site", "cross-site") // a link to it
	require.Equal(t, 200, status)
	status, _ = ask(t, "POST", url+"/stop", "Origin", url)
	require.Equal(t, 403, status)
}

// TestListen: nowhere but on loopback.
func TestListen(t *testing.T) {
	for address, want := range map[string]string{
		"0.0.0.0:0": "is not loopback", ":0": "is not loopback", "[::]:0": "is not loopback", "192.0.2.1:0": "is not loopback",
		"example.com:0": "is not loopback", "127.0.0.1": "HOST:PORT is expected", "": "HOST:PORT is expected",
		"127.0.0.1:x": `"x" is no port`, "127.0.0.1:99999": `"99999" is no port`, "127.0.0.1:": `"" is no port`,
	} {
		_, err := Listen(address)
		require.ErrorContains(t, err, want, address)
	}
	ln, err := Listen("localhost:0")
	require.NoError(t, err)
	ln.Close()
}

// TestError: a report that cannot be made is an error on the page, and the server goes on.
func TestError(t *testing.T) {
	testhost.RequireLoopback(t)
	url := serve(t, &Server{Content: func() (Content, error) { return Content{}, errors.New("no profile") }})
	for range 2 {
		status, text := ask(t, "GET", url+"/")
		require.Equal(t, 500, status)
		require.Equal(t, "no profile\n", text)
	}
	status, _ := ask(t, "GET", url+"/source/0?v=0")
	require.Equal(t, 409, status)
}
