// Package access decides which databases a call may open, and opens them.
//
// # Law
//
//   - A SQLite file lies in the workspace. The root of the grant resolves its path
//     and creates it, and the file that SQLite opens must be the same one.
//   - The author of the app file may connect to any server. A model may connect to
//     the servers that the app file lists, and the guard checks the address behind
//     a name when it is dialled.
//   - A password comes with the call or from the grant, from nowhere else. No error
//     contains it.
package access

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"callgate/internal/module/database/engine"
	"callgate/tool"
)

// Target names a database, as the arguments of a call do.
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

// Driver returns the canonical name of a driver: sqlite, postgres or mysql.
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
		return "", tool.Errorf("", tool.Invalid, "%q is not a driver", tool.Truncate(name)).
			WithHint("it is sqlite, postgres or mysql")
	}
}

// Normalize splits the DSN into the other fields and sets the canonical name of
// the driver.
func (t *Target) Normalize() error {
	if t.DSN != "" {
		if err := t.splitDSN(); err != nil {
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

func (t *Target) splitDSN() error {
	invalid := func(reason string) error { // without the DSN, which may contain a password
		return tool.Errorf("", tool.Invalid, "the dsn %s", reason).
			WithHint("write postgres://user@host:5432/name, mysql://user@host/name or sqlite:data.db, " +
				"or give driver, host, user and database")
	}
	scheme, rest, ok := strings.Cut(t.DSN, ":")
	driver, err := Driver(scheme)
	if !ok || err != nil {
		return invalid("is not a URL of a known driver")
	}
	t.Driver = driver
	if driver == "sqlite" {
		t.Database = strings.TrimPrefix(rest, "//")
		return nil
	}
	u, err := url.Parse(t.DSN)
	if err != nil || u.Host == "" && u.Path == "" {
		return invalid("cannot be read")
	}
	for key, values := range u.Query() {
		switch key {
		case "sslmode", "tls":
			t.TLS = values[0]
		default:
			return invalid("has the parameter " + tool.Truncate(key) + ", which is not taken; use options")
		}
	}
	if text := u.Port(); text != "" {
		if t.Port, err = strconv.Atoi(text); err != nil {
			return invalid("has a port that is not a number")
		}
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

// scrub removes the password and the DSN from an error.
func (t *Target) scrub(err error) error {
	var e *tool.Error
	if !errors.As(err, &e) {
		if t.Password != "" && !engine.IsContextEnd(err) && strings.Contains(err.Error(), t.Password) {
			return tool.Errorf("", tool.Unavailable, "the connection failed")
		}
		return err
	}
	inURL := strings.TrimPrefix(url.UserPassword("", t.Password).String(), ":")
	for _, secret := range []string{t.DSN, t.Password, inURL, url.QueryEscape(t.Password), url.PathEscape(t.Password)} {
		if secret != "" {
			e.Message = strings.ReplaceAll(e.Message, secret, "•••")
			e.Hint = strings.ReplaceAll(e.Hint, secret, "•••")
		}
	}
	e.Err = nil // the message has its text
	return e
}
