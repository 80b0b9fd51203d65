// Package debuginfod gets debug files from servers, by the build-id of the program that they belong to (debuginfod(8),
// "Webapi"; distributions run such servers: debuginfod.archlinux.org, debuginfod.debian.net and others). What was
// fetched stays in a directory, with the layout that elfutils' client has: ID/debuginfo.
//
// A server is asked for files that hold what it likes: dwarfmap compares their build-ids. A file has 2 GiB at most. A
// server that cannot be reached, or breaks off, is not asked again.
package debuginfod

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cgemu/cgemu/internal/outfile"
)

const (
	// maxSize is how large a file may be, in bytes.
	maxSize = 2 << 30
	// answerTime is how long a server may take to connect and to begin its answer, fileTime how long a whole file may
	// take.
	answerTime = 30 * time.Second
	fileTime   = 10 * time.Minute
)

// A Client fetches debug files, one at a time.
type Client struct {
	mu      sync.Mutex
	servers []string
	dir     string
	tell    func(text string)
	http    http.Client
	absent  map[string]bool // build-ids that no server knows
}

// ParseServers reads a list of servers as the variable DEBUGINFOD_URLS has it: addresses with spaces between.
func ParseServers(text string) ([]string, error) {
	list := strings.Fields(text)
	for _, s := range list {
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, fmt.Errorf("%q is no address of a server, as https://debuginfod.elfutils.org is one", s)
		}
	}
	return list, nil
}

// DefaultDir is the directory where files stay, "" if there is no place for one.
func DefaultDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "cgemu", "debuginfod")
}

// New returns a client of servers, which are asked in this order. tell gets a line for each file that is fetched, and
// for what fails.
func New(servers []string, dir string, tell func(text string)) *Client {
	return &Client{
		servers: servers, dir: dir, tell: tell, absent: map[string]bool{},
		http: http.Client{Timeout: fileTime, Transport: &http.Transport{
			Proxy:       http.ProxyFromEnvironment,
			DialContext: (&net.Dialer{Timeout: answerTime}).DialContext, TLSHandshakeTimeout: answerTime, ResponseHeaderTimeout: answerTime,
		}},
	}
}

// Find returns the debug file for a build-id in hexadecimal, which it fetches if need be; "" if there is none. It gives
// up when done is closed.
func (c *Client) Find(buildID string, done <-chan struct{}) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b, err := hex.DecodeString(buildID); err != nil || len(b) < 8 || len(b) > 64 || c.dir == "" || c.absent[buildID] {
		return ""
	}
	path := filepath.Join(c.dir, buildID, "debuginfo")
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return path
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-done:
			cancel()
		case <-ctx.Done():
		}
	}()
	for i := 0; i < len(c.servers); i++ {
		switch err := c.fetch(ctx, c.servers[i], buildID, path); {
		case err == nil:
			return path
		case ctx.Err() != nil:
			return ""
		case !errors.Is(err, fs.ErrNotExist):
			c.tell(fmt.Sprintf("debuginfod: %v; it is not asked again", err))
			c.servers = append(c.servers[:i:i], c.servers[i+1:]...)
			i--
		}
	}
	c.absent[buildID] = true
	return ""
}

// fetch gets a file from a server: fs.ErrNotExist if that has none.
func (c *Client) fetch(ctx context.Context, server, buildID, path string) error {
	from := strings.TrimSuffix(server, "/") + "/buildid/" + buildID + "/debuginfo"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", "cgemu")
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return fs.ErrNotExist
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %d %s", from, resp.StatusCode, http.StatusText(resp.StatusCode)) // not in the server's words
	case resp.ContentLength > maxSize:
		return fmt.Errorf("%s: more than %d bytes", from, int64(maxSize))
	}
	c.tell("debuginfod: fetching " + from)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	err = outfile.Write(ctx, path, 0o600, func(w io.Writer) error {
		n, err := io.Copy(w, io.LimitReader(resp.Body, maxSize+1))
		if err == nil && n > maxSize {
			err = fmt.Errorf("more than %d bytes", int64(maxSize))
		}
		return err
	})
	if err != nil {
		os.Remove(filepath.Dir(path)) // if nothing is in it
		return fmt.Errorf("%s: %w", from, err)
	}
	return nil
}
