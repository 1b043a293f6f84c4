package access

import (
	"context"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/mysql"
	"callgate/internal/module/database/postgres"
	"callgate/internal/netguard"
	"callgate/tool"
)

// Opener is who wants a database, and what it may reach.
type Opener struct {
	Grant    tool.Grant
	Author   bool     // it speaks for whoever wrote the app file
	Hosts    []string // servers that a model may connect to
	Hidden   []string // files of the kernel's own, which nobody may open
	ReadOnly bool     // no file is made
}

// CheckHosts reports what is wrong with a list of servers.
func CheckHosts(hosts []string) error {
	_, err := netguard.ParseHosts(withoutSockets(hosts))
	return err
}

// Open opens a database that is complete, once it is known that this asker may.
func (a *Opener) Open(ctx context.Context, t Target) (engine.Engine, error) {
	if t.Driver == "sqlite" {
		return a.openFile(ctx, t)
	}
	if t.Password == "" {
		t.Password = a.Grant.Credential
	}
	e, err := a.openServer(ctx, t)
	if err != nil {
		return nil, t.scrub(err)
	}
	return e, nil
}

func (a *Opener) openServer(ctx context.Context, t Target) (engine.Engine, error) {
	dial, err := a.dialer(&t)
	if err != nil {
		return nil, err
	}
	if err := t.checkOptions(); err != nil {
		return nil, err
	}
	if t.Driver == "mysql" {
		return opened(mysql.Open(ctx, mysql.Config{
			Host: t.Host, Port: t.Port, User: t.User, Password: t.Password, Database: t.Database,
			TLS: t.TLS, TimeZone: t.Options["timezone"], Dial: dial,
		}))
	}
	return opened(postgres.Open(ctx, postgres.Config{
		Host: t.Host, Port: t.Port, User: t.User, Password: t.Password, Database: t.Database,
		TLS: t.TLS, Params: t.Options, Dial: dial,
	}))
}

// opened keeps a nil pointer from becoming an engine.
func opened[E engine.Engine](e E, err error) (engine.Engine, error) {
	if err != nil {
		return nil, err
	}
	return e, nil
}

// zone is how a time zone is written.
var zone = regexp.MustCompile(`^[A-Za-z0-9_+:/-]{1,64}$`)

func (t *Target) checkOptions() error {
	known := []string{"timezone"}
	if t.Driver == "postgres" {
		known = []string{"timezone", "search_path", "role", "application_name"}
	}
	for key, value := range t.Options {
		if !slices.Contains(known, key) {
			return tool.Errorf("", tool.Invalid, "the option %q is not known", tool.Truncate(key)).WithHint("%s takes %s", t.Driver, strings.Join(known, ", "))
		}
		if key == "timezone" && !zone.MatchString(value) {
			return tool.Errorf("", tool.Invalid, "%q is not a time zone", tool.Truncate(value)).WithHint("for example UTC, Europe/Paris or +02:00")
		}
	}
	return nil
}

// dialer judges the server and returns the way to it. A setup step was written
// by the app's author, and goes where it says; a model goes where the app file
// allows.
func (a *Opener) dialer(t *Target) (dialFunc, error) {
	if t.Host == "" {
		return nil, tool.Errorf("", tool.Invalid, "host is missing").WithHint("name the server, or the path of its unix socket")
	}
	if strings.HasPrefix(t.Host, "/") {
		t.Host = filepath.Clean(t.Host)
		if !a.Author && !slices.ContainsFunc(sockets(a.Hosts), func(s string) bool { return filepath.Clean(s) == t.Host }) {
			return nil, a.notAllowed(t.Host)
		}
		return (&net.Dialer{}).DialContext, nil
	}
	if t.Port == 0 {
		t.Port = map[string]int{"postgres": 5432, "mysql": 3306}[t.Driver]
	}
	address := net.JoinHostPort(strings.Trim(t.Host, "[]"), strconv.Itoa(t.Port))
	list := withoutSockets(a.Hosts)
	if a.Author {
		list = []string{address}
	}
	hosts, err := netguard.ParseHosts(list)
	if err != nil {
		return nil, err
	}
	if !hosts.Has(&url.URL{Scheme: "tcp", Host: address}) {
		return nil, a.notAllowed(t.Host)
	}
	guard, err := netguard.New(netguard.Rules{AllowedHosts: list, Private: list, Setting: "tools.modules.database.constraints"})
	if err != nil {
		return nil, err
	}
	return (&guardedDialer{guard: guard}).dial, nil
}

func (a *Opener) notAllowed(host string) error {
	return tool.Errorf("", tool.Denied, "this app does not let you connect to %q", tool.Truncate(host)).
		WithHint("its author can list the host under tools.modules.database.constraints.allowed_hosts, or connect by a setup step; files of the workspace need neither (driver sqlite)")
}

func isSocket(host string) bool { return strings.HasPrefix(host, "/") }

func sockets(hosts []string) []string {
	return slices.DeleteFunc(slices.Clone(hosts), func(h string) bool { return !isSocket(h) })
}

func withoutSockets(hosts []string) []string {
	return slices.DeleteFunc(slices.Clone(hosts), isSocket)
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// guardedDialer dials through a guard. An address that was reached by a name that the
// guard let through is reached again directly: to cancel a statement, drivers
// dial the address of the connection it runs on.
type guardedDialer struct {
	guard *netguard.Guard
	mu    sync.Mutex
	known []string
}

func (j *guardedDialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	j.mu.Lock()
	again := slices.Contains(j.known, address)
	j.mu.Unlock()
	if again {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	conn, err := j.guard.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if to := conn.RemoteAddr().String(); !slices.Contains(j.known, to) {
		j.known = append(j.known, to)
	}
	return conn, nil
}
