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
	"unicode"
	"unicode/utf8"

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
	if t.Driver, err = Driver(t.Driver); err != nil {
		return err
	}
	if t.Driver == "sqlite" && t.Host != "" { // the gate takes it for the name of a database, and not for a file
		return tool.Errorf("", tool.Invalid, "a SQLite database is a file and has no host").
			WithHint("leave host out")
	}
	return nil
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

// without replaces a secret in a text. A short one that is a part of a word is left: what
// stands there is the word, and each gap in the text would tell a letter of the password.
func without(text, secret string) string {
	const short = 6
	if secret == "" {
		return text
	}
	if len(secret) >= short {
		return strings.ReplaceAll(text, secret, "•••")
	}
	var out strings.Builder
	for at := 0; ; {
		i := strings.Index(text[at:], secret)
		if i < 0 {
			out.WriteString(text[at:])
			return out.String()
		}
		from, to := at+i, at+i+len(secret)
		out.WriteString(text[at:from])
		if partOfWord(text, from, to) {
			out.WriteString(secret)
		} else {
			out.WriteString("•••")
		}
		at = to
	}
}

// partOfWord reports whether a letter or a digit stands right before or after a part of a text.
func partOfWord(text string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	after, _ := utf8.DecodeRuneInString(text[to:])
	isWord := func(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
	return isWord(before) || isWord(after)
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
		e.Message, e.Hint = without(e.Message, secret), without(e.Hint, secret)
	}
	e.Err = nil // the message has its text
	return e
}
