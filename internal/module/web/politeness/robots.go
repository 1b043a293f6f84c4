package politeness

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/temoto/robotstxt"

	"callgate/tool"
)

const (
	// MaxRobots bounds what is read of a robots.txt.
	MaxRobots = 500 << 10

	keepRobots    = time.Hour
	maxKept       = 256 // hosts
	maxCrawlDelay = 10 * time.Second
)

// Robots keeps the robots.txt of hosts for a while. The zero value is ready.
type Robots struct {
	mu    sync.Mutex
	hosts map[string]keptRobots
}

type keptRobots struct {
	data  *robotstxt.RobotsData
	until time.Time
}

// FetchFunc fetches a robots.txt. A status of 400 to 499 means that the host has
// no robots.txt.
type FetchFunc func(ctx context.Context, at *url.URL) (status int, body []byte, err error)

// Allowed returns an error if an agent may not read a URL, and else the time
// that the host wants between requests. If the host fails to deliver its
// robots.txt, nothing may be read, as the standard says.
func (r *Robots) Allowed(ctx context.Context, u *url.URL, agent string, fetch FetchFunc) (
	delay time.Duration, err error,
) {
	origin := strings.ToLower(u.Scheme + "://" + u.Host)
	data := r.kept(origin)
	if data == nil {
		if data, err = load(ctx, u, fetch); err != nil {
			return 0, err
		}
		r.keep(origin, data)
	}
	group := data.FindGroup(agent)
	if !group.Test(pathOf(u)) {
		return 0, tool.Errorf("web", tool.Denied, "%s asks robots to stay away from %s", u.Host, tool.Truncate(u.Path)).
			WithHint("read it elsewhere; a person may open it, and the app file may turn this off: %s", setting)
	}
	return min(group.CrawlDelay, maxCrawlDelay), nil
}

// setting is where an app file turns robots.txt off.
const setting = "tools.modules.web.config.robots"

// load fetches the robots.txt of a URL's host.
func load(ctx context.Context, u *url.URL, fetch FetchFunc) (*robotstxt.RobotsData, error) {
	status, body, err := fetch(ctx, &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/robots.txt"})
	if err != nil {
		return nil, err
	}
	if status >= 500 {
		return nil, tool.Errorf("web", tool.Failed,
			"%s does not say what robots may read: its robots.txt failed with %d", u.Host, status).
			WithHint("try again later; the app file may turn this off: %s", setting)
	}
	none := http.StatusNotFound
	if status >= 300 && status < 400 {
		status = none // a redirect that leads nowhere
	}
	data, err := robotstxt.FromStatusAndBytes(status, ruleLines(body))
	if err != nil {
		return robotstxt.FromStatusAndBytes(none, nil) // rules that nobody can read
	}
	return data, nil
}

// ruleLines keeps the lines that are rules. A line that makes no sense must not
// void the others.
func ruleLines(body []byte) []byte {
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

// pathOf returns what the rules of robots.txt match: the path and the query.
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

func (r *Robots) kept(origin string) *robotstxt.RobotsData {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k, ok := r.hosts[origin]; ok && time.Now().Before(k.until) {
		return k.data
	}
	return nil
}

func (r *Robots) keep(origin string, data *robotstxt.RobotsData) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hosts == nil || len(r.hosts) >= maxKept {
		r.hosts = map[string]keptRobots{}
	}
	r.hosts[origin] = keptRobots{data, time.Now().Add(keepRobots)}
}
