package politeness

import (
	"bytes"
	"context"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/temoto/robotstxt"

	"callgate/tool"
)

const (
	// MaxRobots is how much of a robots.txt counts.
	MaxRobots = 500 << 10

	keepRobots = time.Hour
	maxRobots  = 256              // hosts that are remembered
	maxCrawl   = 10 * time.Second // the longest delay that a host is granted
)

// Robots remembers what hosts ask of robots. The zero value is ready.
type Robots struct {
	mu    sync.Mutex
	hosts map[string]known
}

type known struct {
	data  *robotstxt.RobotsData
	until time.Time
}

// FetchFunc is how a robots.txt is fetched. A status of 400 to 499 means that there
// is none.
type FetchFunc func(ctx context.Context, at *url.URL) (status int, body []byte, err error)

// Allowed reports whether an agent may read a URL, as an error if not, and how much
// time the host wants between requests. A host whose robots.txt cannot be read,
// because it fails itself, is left alone, as the standard has it.
func (r *Robots) Allowed(ctx context.Context, u *url.URL, agent string, ask FetchFunc) (delay time.Duration, err error) {
	at := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/robots.txt"}
	origin := strings.ToLower(at.Scheme + "://" + at.Host)
	data := r.known(origin)
	if data == nil {
		status, body, err := ask(ctx, at)
		if err != nil {
			return 0, err
		}
		if status >= 500 {
			return 0, tool.Errorf("web", tool.Failed, "%s does not say what robots may read: its robots.txt failed with %d", u.Host, status).
				WithHint("try again later; the app file may turn this off: tools.modules.web.config.robots")
		}
		if status >= 300 && status < 400 {
			status = 404 // redirects in a circle: there is none
		}
		if data, err = robotstxt.FromStatusAndBytes(status, plain(body)); err != nil {
			data, _ = robotstxt.FromStatusAndBytes(404, nil) // nobody could keep to it
		}
		r.remember(origin, data)
	}
	group := data.FindGroup(agent)
	if !group.Test(pathOf(u)) {
		return 0, tool.Errorf("web", tool.Denied, "%s asks robots to stay away from %s", u.Host, tool.Truncate(u.Path)).
			WithHint("read it elsewhere; a person may open it, and the app file may turn this off: tools.modules.web.config.robots")
	}
	return min(group.CrawlDelay, maxCrawl), nil
}

// plain keeps the lines that say what robots may do. One line that makes no
// sense must not void the others.
func plain(body []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.SplitSeq(bytes.TrimPrefix(body, []byte("\ufeff")), []byte("\n")) {
		line, _, _ = bytes.Cut(line, []byte("#"))
		key, value, ok := strings.Cut(strings.ToValidUTF8(string(line), ""), ":")
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		switch key {
		case "user-agent", "allow", "disallow":
			ok = ok && !strings.ContainsAny(value, "\r\t\f\v") && len(value) <= 2000
		case "crawl-delay":
			n, err := strconv.ParseFloat(value, 64)
			ok = ok && err == nil && n >= 0 && n < 1e6
		default:
			ok = false
		}
		if ok {
			out.WriteString(key + ": " + value + "\n")
		}
	}
	return out.Bytes()
}

// pathOf is what robots.txt speaks of: the path and the query.
func pathOf(u *url.URL) string {
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return path
}

func (r *Robots) known(origin string) *robotstxt.RobotsData {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k, ok := r.hosts[origin]; ok && time.Now().Before(k.until) {
		return k.data
	}
	return nil
}

func (r *Robots) remember(origin string, data *robotstxt.RobotsData) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hosts == nil || len(r.hosts) >= maxRobots {
		r.hosts = map[string]known{}
	}
	r.hosts[origin] = known{data, time.Now().Add(keepRobots)}
}
