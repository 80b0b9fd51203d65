package cli

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/annotate/serve"
	"github.com/cgemu/cgemu/internal/testhost"
)

// TestView: the address is printed, the page is there with what annotate's options say, and it is over when it is to
// end.
func TestView(t *testing.T) {
	testhost.RequireLoopback(t)
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"testdata/page/old.out"}, []string{`"graph":true`, `"n":"table_add"`, `"asm":{"`, `"rows":null`}},
		{[]string{"--focus=table_*", "--editor=vscode", "testdata/page/new.out"}, []string{`"n":"table_add"`, `vscode://file/{file}:{line}`, `"asm":{}`}},
		{[]string{"--diff", "testdata/page/old.out", "testdata/page/new.out"}, []string{`"diff":true`}},
	} {
		o := newOptions("cgemu view", tt.args, io.Discard)
		v := view{o, "127.0.0.1:0", false}
		p := parser{options: v.viewOptions(), operands: []operand{{"cachegrind-out-file", true}}}
		values, _, err := p.parse(tt.args)
		require.NoError(t, err)
		o.files = values[0]
		r, err := v.read()
		require.NoError(t, err)
		ctx, end := context.WithCancel(context.Background())
		in, out := io.Pipe()
		done := make(chan error)
		go func() { done <- v.serve(ctx, r, bufio.NewWriter(out)) }()
		line, err := bufio.NewReader(in).ReadString('\n')
		require.NoError(t, err)
		require.Regexp(t, `^http://127\.0\.0\.1:\d+/\n$`, line)
		res, err := http.Get(strings.TrimSpace(line))
		require.NoError(t, err)
		page, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		for _, want := range tt.want {
			require.Contains(t, string(page), want, tt.args)
		}
		http.DefaultClient.CloseIdleConnections()
		end()
		require.NoError(t, <-done)
	}
}

// TestViewErrors: what is wrong is said, and nothing is served.
func TestViewErrors(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.out")
	require.NoError(t, os.WriteFile(bad, []byte("cmd: x\nevents: Ir\nwhat\n"), 0o644))
	taken, err := net.Listen("tcp", serve.DefaultAddress)
	require.NoError(t, err)
	defer taken.Close()
	for _, tt := range []struct {
		want   string
		status int
		args   []string
	}{
		{"bad.out:3: malformed line: what", 1, []string{bad}},
		{"No such file", 1, []string{"none.out"}},
		{"argument --listen: 0.0.0.0:0 is not loopback", 2, []string{"--listen=0.0.0.0:0", "testdata/page/old.out"}},
		{"argument --listen: localhost:x: \"x\" is no port", 2, []string{"--listen=localhost:x", "none.out"}},
		{"--listen: listen tcp", 1, []string{"--listen=" + taken.Addr().String(), "testdata/page/old.out"}},
		{"argument --diff: needs two profiles", 2, []string{"--diff", "testdata/page/old.out"}},
		{"required", 2, nil},
		{"argument --match: needs --diff", 2, []string{"--match=exact", "testdata/page/old.out"}},
		{"argument --editor: invalid editor value: 'javascript:{file}'", 2, []string{"--editor=javascript:{file}", "testdata/page/old.out"}},
		{"unrecognized arguments: --html", 2, []string{"--html", "testdata/page/old.out"}},
	} {
		var stdout, stderr strings.Builder
		require.Equal(t, tt.status, View("cgemu view", tt.args, &stdout, &stderr), tt.args)
		require.Contains(t, stderr.String(), tt.want)
		require.Empty(t, stdout.String())
	}
	var stdout, stderr strings.Builder
	require.Zero(t, View("cgemu view", []string{"--help"}, &stdout, &stderr))
	require.Contains(t, stdout.String(), "--listen")
}
