// Package serve shows a report in a browser of this host, as `cgemu view` and `cgemu --view` do: the page of annotate
// --html, whose sources are sent when they are looked at, and whose counts are renewed while a program runs.
//
// It listens on loopback only. Other pages in the same browser must learn nothing from it and change nothing: a request
// has to name the server by a loopback name (or a page elsewhere could have its own name lead here), and one that ends
// the run has to come from the page. A request names files by their numbers in the report, so no path comes from
// outside.
//
// The package is cgemu's own: what it promises may change.
package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/cgemu/cgemu/annotate"
)

// A Content is what is shown: a report, and whether newer ones may come.
type Content struct {
	Report  *annotate.Report
	Version int // another one for each report
	Running bool
}

// A Server shows a report.
type Server struct {
	// Content returns what is to be shown now. It is called for every request for the page or its counts, one at a
	// time.
	Content func() (Content, error)
	// Stop, if set, ends the run that is shown.
	Stop func()

	mu      sync.Mutex
	version int
	live    *annotate.Live
}

// DefaultAddress is a free port of loopback.
const DefaultAddress = "127.0.0.1:0"

// CheckAddress returns what is wrong with an address HOST:PORT, which has to be loopback's.
func CheckAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%w: HOST:PORT is expected, as in %s", err, DefaultAddress)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%s is not loopback: the page is for this host only; 127.0.0.1:PORT with ssh -L shows it elsewhere", address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%s: %q is no port (0 to 65535)", address, port)
	}
	return nil
}

// Listen returns a listener on an address that CheckAddress lets pass.
func Listen(address string) (net.Listener, error) {
	if err := CheckAddress(address); err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	if a, ok := ln.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		ln.Close()
		return nil, fmt.Errorf("%s is not loopback", address)
	}
	return ln, nil
}

// URL is where a browser finds what is served on ln.
func URL(ln net.Listener) string { return "http://" + ln.Addr().String() + "/" }

// Serve answers requests until ctx is done.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	h := &http.Server{
		Handler: s.guard(s.handler(), ln.Addr().(*net.TCPAddr).Port), ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: log.New(io.Discard, "", 0),
	}
	done := make(chan error, 1)
	go func() { done <- h.Serve(ln) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	h.Close()
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// guard refuses requests that a page elsewhere may have made.
func (s *Server) guard(next http.Handler, port int) http.Handler {
	own := map[string]bool{}
	for _, host := range []string{"127.0.0.1", "[::1]", "localhost"} {
		own[fmt.Sprintf("%s:%d", host, port)] = true
		if port == 80 {
			own[host] = true
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		site := r.Header.Get("Sec-Fetch-Site")
		switch {
		case !own[r.Host]:
			http.Error(w, "this server is called 127.0.0.1 or localhost", http.StatusMisdirectedRequest)
			return
		case origin != "" && origin != "http://"+r.Host, site == "cross-site" && r.URL.Path != "/", site == "same-site" && r.URL.Path != "/":
			http.Error(w, "only the page itself may ask", http.StatusForbidden)
			return
		}
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		live, _, err := s.current()
		answer(w, "text/html; charset=utf-8", err, func(b io.Writer) error { return live.WritePage(b) })
	})
	mux.HandleFunc("GET /data", func(w http.ResponseWriter, r *http.Request) {
		live, version, err := s.current()
		if err == nil && r.FormValue("v") == strconv.Itoa(version) {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		answer(w, "application/json", err, func(b io.Writer) error { return live.WriteData(b) })
	})
	mux.HandleFunc("GET /source/{file}", s.source)
	mux.HandleFunc("GET /rest", func(w http.ResponseWriter, r *http.Request) {
		s.ofVersion(w, r, func(live *annotate.Live) { answer(w, "application/json", nil, live.WriteRest) })
	})
	mux.HandleFunc("POST /stop", func(w http.ResponseWriter, r *http.Request) {
		if s.Stop == nil || r.Header.Get("Origin") == "" {
			http.Error(w, "there is nothing to stop", http.StatusForbidden)
			return
		}
		s.Stop()
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}

// source answers with the lines of a file, of the version that the page has.
func (s *Server) source(w http.ResponseWriter, r *http.Request) {
	s.ofVersion(w, r, func(live *annotate.Live) {
		file, err := strconv.ParseUint(r.PathValue("file"), 10, 31)
		if err != nil || int(file) >= live.Sources() {
			http.NotFound(w, r)
			return
		}
		answer(w, "application/json", nil, func(b io.Writer) error { return live.WriteSource(b, int(file)) })
	})
}

// ofVersion calls f with what is shown if that is what the page has.
func (s *Server) ofVersion(w http.ResponseWriter, r *http.Request, f func(live *annotate.Live)) {
	s.mu.Lock()
	live, version := s.live, s.version
	s.mu.Unlock()
	if live == nil || r.FormValue("v") != strconv.Itoa(version) {
		http.Error(w, "the counts are newer", http.StatusConflict)
		return
	}
	f(live)
}

// current returns what is to be shown now.
func (s *Server) current() (*annotate.Live, int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.Content()
	if err != nil {
		return nil, 0, err
	}
	if s.live == nil || c.Version != s.version {
		live, err := c.Report.Live(c.Version, c.Running, c.Running && s.Stop != nil)
		if err != nil {
			return nil, 0, err
		}
		s.live, s.version = live, c.Version
	}
	return s.live, s.version, nil
}

// answer writes a page, or the error.
func answer(w http.ResponseWriter, kind string, err error, write func(io.Writer) error) {
	var b bytes.Buffer
	if err == nil {
		err = write(&b)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	w.Write(b.Bytes())
}
