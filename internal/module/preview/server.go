package preview

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"callgate/tool"
)

// The bounds of previews: of the kernel, because each takes a port, and of one user, so that one cannot take them all.
const (
	maxPreviews = 256
	maxOfUser   = 16
)

// shelf is the previews of a kernel.
type shelf struct {
	mu      sync.Mutex
	running map[string]*preview // by ID
	closed  bool
}

// preview is one that is open.
type preview struct {
	shown
	id, link     string
	by           tool.Principal
	began, until time.Time

	server *http.Server
	timer  *time.Timer
}

// shown is what a preview shows.
type shown struct {
	words   string
	handler http.Handler
	release func() // is called when it is shown no more
}

// open opens a preview, and answers with its link.
func (s *shelf) open(ctx context.Context, c caller, minutes int, what shown) (*tool.Result, error) {
	p, err := s.begin(ctx, c, minutes, what)
	if err != nil {
		what.release()
		return nil, err
	}
	return p.result()
}

func (s *shelf) begin(ctx context.Context, c caller, minutes int, what shown) (*preview, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, tool.Errorf(c.op, tool.Unavailable, "the kernel is closing")
	case s.countOf(c.by.User) >= maxOfUser:
		return nil, tool.Errorf(c.op, tool.Conflict, "%d previews are open, which is the most there may be", maxOfUser).
			WithHint("end one with preview.detach; preview.list has them")
	case len(s.running) >= maxPreviews:
		return nil, tool.Errorf(c.op, tool.Limited, "the previews of all users are %d, which is the most there may be",
			maxPreviews).WithHint("try again later: each ends by itself")
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, &tool.Error{Op: c.op, Kind: tool.Unavailable, Message: "no port can be listened on", Err: err}
	}
	port, secret := l.Addr().(*net.TCPAddr).Port, rand.Text()
	long := time.Duration(cmp.Or(minutes, c.settings.Minutes)) * time.Minute
	now := time.Now()
	p := &preview{
		shown: what, id: "p" + strings.ToLower(rand.Text()[:8]), by: c.by, began: now, until: now.Add(long),
	}
	// A host of its own: browsers send cookies to all ports of one, and a page here must not
	// have those of the console sent along, nor any other server be sent this one's.
	host := p.id + ".localhost:" + strconv.Itoa(port)
	p.link = "http://" + host + "/?" + entryKey + "=" + secret
	p.server = &http.Server{
		Handler: &door{host, secret, what.handler}, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10,
	}
	s.running[p.id] = p
	p.timer = time.AfterFunc(long, func() { s.end(p) })
	go func() { _ = p.server.Serve(l) }() // it ends with the server
	return p, nil
}

// countOf counts the previews of a user. The lock is held.
func (s *shelf) countOf(user string) (n int) {
	for _, p := range s.running {
		if p.by.User == user {
			n++
		}
	}
	return n
}

// of returns the previews of whoever calls, the oldest first.
func (s *shelf) of(by tool.Principal) []*preview {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*preview
	for _, p := range s.running {
		if p.by.User == by.User && p.by.App == by.App {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b *preview) int { return cmp.Or(a.began.Compare(b.began), cmp.Compare(a.id, b.id)) })
	return all
}

// end ends a preview, if it is open.
func (s *shelf) end(p *preview) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[p.id] != p {
		return
	}
	delete(s.running, p.id)
	p.timer.Stop()
	_ = p.server.Close()
	p.release()
}

// close ends all previews.
func (s *shelf) close() error {
	s.mu.Lock()
	s.closed = true
	var all []*preview
	for _, p := range s.running {
		all = append(all, p)
	}
	s.mu.Unlock()
	for _, p := range all {
		s.end(p)
	}
	return nil
}

// door lets those in who came by the link.
type door struct {
	host   string
	secret string
	show   http.Handler
}

// The secret in a link, and in the cookie that a browser has after it.
const (
	entryKey   = "preview"
	cookieName = "callgate_preview"
)

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	if r.Host != d.host { // a name that was made to mean this machine
		http.Error(w, "open this preview by its link", http.StatusMisdirectedRequest)
		return
	}
	if query := r.URL.Query(); d.is(query.Get(entryKey)) {
		query.Del(entryKey)
		http.SetCookie(w, &http.Cookie{
			Name: cookieName, Value: d.secret, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode,
		})
		to := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, "/"), RawQuery: query.Encode()}
		http.Redirect(w, r, to.String(), http.StatusSeeOther)
		return
	}
	if c, err := r.Cookie(cookieName); err != nil || !d.is(c.Value) {
		http.Error(w, "open this preview by its link", http.StatusForbidden)
		return
	}
	d.show.ServeHTTP(w, r)
}

func (d *door) is(secret string) bool {
	return subtle.ConstantTimeCompare([]byte(secret), []byte(d.secret)) == 1
}

// newForward shows a server of this machine.
func newForward(port int) *httputil.ReverseProxy {
	to := &url.URL{Scheme: "http", Host: "127.0.0.1:" + strconv.Itoa(port)}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = "localhost:" + strconv.Itoa(port)
			cookies := r.In.Cookies()
			r.Out.Header.Del("Cookie")
			for _, c := range cookies {
				if !strings.HasPrefix(c.Name, "callgate") {
					r.Out.AddCookie(c)
				}
			}
		},
		Transport: &http.Transport{ResponseHeaderTimeout: time.Minute, MaxIdleConns: 8},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			message := "the server on port " + strconv.Itoa(port) + " gives no answer"
			if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "dial" {
				message = "no server listens on port " + strconv.Itoa(port)
			}
			http.Error(w, message, http.StatusBadGateway)
		},
	}
}
