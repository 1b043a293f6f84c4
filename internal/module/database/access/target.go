// Package access decides which databases a call may open, and opens them.
//
// # Law
//
//   - A SQLite file lies in the workspace. The root of the grant judges its
//     path and makes it; what SQLite then opened must be that very file.
//   - Whoever wrote the app file may connect to any server. A model may connect
//     to those that the app file lists, and the address behind a name is judged
//     when it is dialled.
//   - A password comes with the call or from the grant, from nowhere else, and
//     is in no error.
package access

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"callgate/internal/module/database/engine"
	"callgate/tool"
)

// Target is a database as a call describes it.
type Target struct {
	Driver   string            `json:"driver"`
	Database string            `json:"database"`
	Host     string            `json:"host"`
	Port     int               `json:"port"`
	User     string            `json:"user"`
	Password string            `json:"password"`
	TLS      string            `json:"tls"`
	DSN      string            `json:"dsn"`
	Options  map[string]string `json:"options"`
}

// Driver gives a driver its one name: sqlite, postgres or mysql.
func Driver(name string) (string, error) {
	switch strings.ToLower(name) {
	case "sqlite", "sqlite3":
		return "sqlite", nil
	case "postgres", "postgresql", "pg":
		return "postgres", nil
	case "mysql", "mariadb":
		return "mysql", nil
	case "":
		return "", tool.Errorf("", tool.Invalid, "driver is missing").WithHint("it is sqlite, postgres or mysql")
	default:
		return "", tool.Errorf("", tool.Invalid, "%q is not a driver", tool.Truncate(name)).WithHint("it is sqlite, postgres or mysql")
	}
}

// Normalize takes a dsn apart, and gives the driver its one name.
func (t *Target) Normalize() error {
	if t.DSN != "" {
		if err := t.spread(); err != nil {
			return err
		}
	}
	switch t.TLS {
	case "", "disable", "prefer", "require", "verify-ca", "verify-full":
	default:
		return tool.Errorf("", tool.Invalid, "%q is not a way to use TLS", tool.Truncate(t.TLS)).
			WithHint("it is disable, prefer, require, verify-ca or verify-full")
	}
	var err error
	t.Driver, err = Driver(t.Driver)
	return err
}

func (t *Target) spread() error {
	bad := func(why string) error { // never the dsn itself: it may hold a password
		return tool.Errorf("", tool.Invalid, "the dsn %s", why).
			WithHint("write postgres://user@host:5432/name, mysql://user@host/name or sqlite:data.db, or give driver, host, user and database")
	}
	scheme, rest, ok := strings.Cut(t.DSN, ":")
	driver, err := Driver(scheme)
	if !ok || err != nil {
		return bad("is not a URL of a known driver")
	}
	t.Driver = driver
	if driver == "sqlite" {
		t.Database = strings.TrimPrefix(rest, "//")
		return nil
	}
	u, err := url.Parse(t.DSN)
	if err != nil || u.Host == "" && u.Path == "" {
		return bad("cannot be read")
	}
	for key, values := range u.Query() {
		switch key {
		case "sslmode", "tls":
			t.TLS = values[0]
		default:
			return bad("has the parameter " + tool.Truncate(key) + ", which is not taken; use options")
		}
	}
	if err := t.port(u.Port()); err != nil {
		return bad("has a port that is not a number")
	}
	t.Host, t.Database = u.Hostname(), strings.TrimPrefix(u.Path, "/")
	if u.User != nil {
		t.User = u.User.Username()
		if p, ok := u.User.Password(); ok {
			t.Password = p
		}
	}
	return nil
}

func (t *Target) port(text string) error {
	if text == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), &t.Port)
}

// scrub takes what is secret out of an error.
func (t *Target) scrub(err error) error {
	var e *tool.Error
	if !errors.As(err, &e) {
		if t.Password != "" && !engine.IsContextEnd(err) && strings.Contains(err.Error(), t.Password) {
			return tool.Errorf("", tool.Unavailable, "the connection failed")
		}
		return err
	}
	for _, secret := range []string{t.DSN, t.Password, url.QueryEscape(t.Password), url.PathEscape(t.Password)} {
		if secret != "" {
			e.Message, e.Hint = strings.ReplaceAll(e.Message, secret, "•••"), strings.ReplaceAll(e.Hint, secret, "•••")
		}
	}
	e.Err = nil // its words are in the message
	return e
}
