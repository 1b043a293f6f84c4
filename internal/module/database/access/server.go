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

// Opener opens databases for one call, within what the call may reach.
type Opener struct {
	Grant    tool.Grant
	Author   bool     // the call is a setup step, which the author of the app file wrote
	Hosts    []string // servers that a model may connect to
	Hidden   []string // the kernel's own files, which no call may open
	ReadOnly bool     // no file is created, and no account is used that could do more than read
}

// CheckHosts validates a list of servers.
func CheckHosts(hosts []string) error {
	_, err := netguard.ParseHosts(withoutSockets(hosts))
	return err
}

// Open opens a database that was normalized, if the call may reach it.
func (o *Opener) Open(ctx context.Context, t Target) (engine.Engine, error) {
	if t.Driver == "sqlite" {
		return o.openFile(ctx, t)
	}
	if t.Password == "" {
		t.Password = o.Grant.Credential
	}
	e, err := o.openServer(ctx, t)
	if err == nil && o.ReadOnly {
		err = checkPowers(e)
	}
	if err != nil {
		return nil, t.scrub(err)
	}
	return e, nil
}

// checkPowers refuses, for an app that only reads, an account that may run programs on
// the server or reach its files: no read-only transaction stops that.
func checkPowers(e engine.Engine) error {
	p, ok := e.(engine.Powerful)
	if !ok || len(p.Powers().Names) == 0 {
		return nil
	}
	has := p.Powers()
	err := engine.Fail(tool.Denied, "the account %s has %s, with which a read can run programs on the server or reach its files; "+
		"an app with read_only does not connect with it", has.Account, strings.Join(has.Names, ", ")).
		WithHint("connect as an account that may only read, or take the privilege away: %s", has.Drop)
	_ = e.Close()
	return err
}

func (o *Opener) openServer(ctx context.Context, t Target) (engine.Engine, error) {
	dial, err := o.dialer(&t)
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

// opened returns a nil interface with an error, and not one that holds a nil pointer.
func opened[E engine.Engine](e E, err error) (engine.Engine, error) {
	if err != nil {
		return nil, err
	}
	return e, nil
}

// zone matches the name or the offset of a time zone.
var zone = regexp.MustCompile(`^[A-Za-z0-9_+:/-]{1,64}$`)

func (t *Target) checkOptions() error {
	known := []string{"timezone"}
	if t.Driver == "postgres" {
		known = []string{"timezone", "search_path", "role", "application_name"}
	}
	for key, value := range t.Options {
		if !slices.Contains(known, key) {
			return tool.Errorf("", tool.Invalid, "the option %q is not known", tool.Truncate(key)).
				WithHint("%s takes %s", t.Driver, strings.Join(known, ", "))
		}
		if key == "timezone" && !zone.MatchString(value) {
			return tool.Errorf("", tool.Invalid, "%q is not a time zone", tool.Truncate(value)).
				WithHint("for example UTC, Europe/Paris or +02:00")
		}
	}
	return nil
}

// dialer checks the server and returns what dials it. A setup step may connect to
// any server, since the author of the app file wrote it; a model may connect to
// those that the app file lists.
func (o *Opener) dialer(t *Target) (dialFunc, error) {
	if t.Host == "" {
		return nil, tool.Errorf("", tool.Invalid, "host is missing").
			WithHint("name the server, or the path of its unix socket")
	}
	if isSocket(t.Host) {
		t.Host = filepath.Clean(t.Host)
		listed := func(host string) bool { return isSocket(host) && filepath.Clean(host) == t.Host }
		if !o.Author && !slices.ContainsFunc(o.Hosts, listed) {
			return nil, o.notAllowed(t.Host)
		}
		return (&net.Dialer{}).DialContext, nil
	}
	if t.Port == 0 {
		t.Port = map[string]int{"postgres": 5432, "mysql": 3306}[t.Driver]
	}
	address := net.JoinHostPort(strings.Trim(t.Host, "[]"), strconv.Itoa(t.Port))
	list := withoutSockets(o.Hosts)
	if o.Author {
		list = []string{address}
	}
	hosts, err := netguard.ParseHosts(list)
	if err != nil {
		return nil, err
	}
	if !hosts.Has(&url.URL{Scheme: "tcp", Host: address}) {
		return nil, o.notAllowed(t.Host)
	}
	guard, err := netguard.New(netguard.Rules{
		AllowedHosts: list, Private: list, Setting: "tools.modules.database.constraints",
	})
	if err != nil {
		return nil, err
	}
	return (&guardedDialer{guard: guard}).dial, nil
}

func (o *Opener) notAllowed(host string) error {
	return tool.Errorf("", tool.Denied, "this app does not let you connect to %q", tool.Truncate(host)).
		WithHint("its author can list the host under tools.modules.database.constraints.allowed_hosts, " +
			"or connect by a setup step; files of the workspace need neither (driver sqlite)")
}

func isSocket(host string) bool { return strings.HasPrefix(host, "/") }

func withoutSockets(hosts []string) []string {
	return slices.DeleteFunc(slices.Clone(hosts), isSocket)
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// guardedDialer dials through a guard. It dials an address again directly after
// the guard allowed the name behind it: to cancel a statement, a driver dials the
// address of the connection that the statement runs on.
type guardedDialer struct {
	guard *netguard.Guard
	mu    sync.Mutex
	known []string
}

func (d *guardedDialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d.mu.Lock()
	again := slices.Contains(d.known, address)
	d.mu.Unlock()
	if again {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	conn, err := d.guard.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if to := conn.RemoteAddr().String(); !slices.Contains(d.known, to) {
		d.known = append(d.known, to)
	}
	return conn, nil
}
