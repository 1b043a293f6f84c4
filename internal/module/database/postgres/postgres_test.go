package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"callgate/internal/module/database/engine"
	"callgate/tool"
)

func TestServerError(t *testing.T) {
	for name, c := range map[string]struct {
		err  pgconn.PgError
		kind tool.Kind
		hint string
	}{
		"read only":         {pgconn.PgError{Code: "25006"}, tool.Denied, "execute_query"},
		"not allowed":       {pgconn.PgError{Code: "42501"}, tool.Denied, ""},
		"unique":            {pgconn.PgError{Code: "23505"}, tool.Conflict, "on_conflict"},
		"check":             {pgconn.PgError{Code: "23514"}, tool.Conflict, "describe"},
		"serialization":     {pgconn.PgError{Code: "40001"}, tool.Conflict, "try again"},
		"lock not had":      {pgconn.PgError{Code: "55P03"}, tool.Busy, "try again"},
		"shutting down":     {pgconn.PgError{Code: "57P01"}, tool.Unavailable, "try again"},
		"too many":          {pgconn.PgError{Code: "53300"}, tool.Unavailable, "try again"},
		"hint of a server":  {pgconn.PgError{Code: "42703", Hint: "Perhaps you meant a."}, tool.Invalid, "Perhaps you meant a."},
		"several commands":  {pgconn.PgError{Code: "42601", Message: "cannot insert multiple commands"}, tool.Invalid, "one statement"},
		"type unknown":      {pgconn.PgError{Code: "42P18"}, tool.Invalid, "$1::int"},
		"with its position": {pgconn.PgError{Code: "42601", Position: 8}, tool.Invalid, "at character 8"},
		"anything else":     {pgconn.PgError{Code: "22P02"}, tool.Invalid, "describe"},
	} {
		t.Run(name, func(t *testing.T) {
			var e *tool.Error
			if !errors.As(serverError(&c.err), &e) || e.Kind != c.kind || !strings.Contains(e.Hint, c.hint) {
				t.Errorf("%v, hint %q", e, e.Hint)
			}
		})
	}
	var missing engine.NoTableError
	err := serverError(&pgconn.PgError{Code: "42P01", Message: `relation "shop.x" does not exist`})
	if !errors.As(err, &missing) || missing.Name != "shop.x" || tool.KindOf(err) != tool.NotFound {
		t.Errorf("%v", err)
	}
	err = serverError(&pgconn.PgError{Code: "23505", Message: "duplicate key", Detail: "Key (a)=(1) exists."})
	if !strings.Contains(err.Error(), "Key (a)=(1) exists.") {
		t.Errorf("the detail is missing: %v", err)
	}
}

// A statement that the server cancelled by its own clock is a timeout.
func TestCancelledByTheServer(t *testing.T) {
	cancelled := &pgconn.PgError{Code: "57014"}
	if err := new(conn).convertError(t.Context(), false, cancelled); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := new(conn).convertError(ended, true, cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestLostConnections(t *testing.T) {
	broken := errors.New("unexpected EOF")
	for writing, kind := range map[bool]tool.Kind{true: tool.InDoubt, false: tool.Unavailable} {
		if err := new(conn).convertError(t.Context(), writing, broken); tool.KindOf(err) != kind {
			t.Errorf("writing %v: %v", writing, err)
		}
	}
}

func TestArrayText(t *testing.T) {
	for in, want := range map[string]string{
		`[]`:                         `{}`,
		`[1, -2.5]`:                  `{"1","-2.5"}`,
		`["a b", "q\"\\", null]`:     `{"a b","q\"\\",NULL}`,
		`[[1, 2], [3, null]]`:        `{{"1","2"},{"3",NULL}}`,
		`[true, {"k": "v"}, "NULL"]`: `{"true","{\"k\": \"v\"}","NULL"}`,
	} {
		got, err := arrayText(json.RawMessage(in))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
		}
	}
	if got, err := arrayText(json.RawMessage(`[1`)); err == nil {
		t.Errorf("%s", got)
	}
}

// For any list, an array has balanced braces outside its quotes.
func FuzzArrayText(f *testing.F) {
	for _, s := range []string{`[]`, `[[1], ["}{"]]`, `["\\", "\""]`, `[null, {"a": [1]}]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := arrayText(data)
		if err != nil {
			return
		}
		depth, quoted := 0, false
		for i := 0; i < len(got); i++ {
			switch c := got[i]; {
			case quoted && c == '\\':
				i++
			case c == '"':
				quoted = !quoted
			case !quoted && c == '{':
				depth++
			case !quoted && c == '}':
				depth--
			}
			if depth == 0 && i < len(got)-1 {
				t.Fatalf("%s became %s, which ends early", data, got)
			}
		}
		if depth != 0 || quoted {
			t.Fatalf("%s became %s", data, got)
		}
	})
}

func TestCopyRow(t *testing.T) {
	var b bytes.Buffer
	copyRow(&b, []any{json.Number("1"), nil, "a\tb\n\r\\N", []byte{0, 255}, "", true, json.RawMessage(`{"a":"\n"}`)})
	if want := "1\t\\N\ta\\tb\\n\\r\\\\N\t\\\\x00ff\t\ttrue\t{\"a\":\"\\\\n\"}\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

// The configuration takes nothing from the environment or from files.
func TestConfigIsComplete(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(home+"/.pgpass", []byte("*:*:*:*:from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"HOME": home, "PGPASSWORD": "from-the-environment", "PGHOST": "192.0.2.1", "PGUSER": "eve", "PGDATABASE": "hers",
		"PGPORT": "1", "PGSSLMODE": "require", "PGOPTIONS": "-c search_path=outside", "PGAPPNAME": "outside",
	} {
		t.Setenv(key, value)
	}
	got, err := Config{Host: "db", User: "ada", Params: map[string]string{"timezone": "UTC"}}.pgconn(true)
	if err != nil {
		t.Fatal(err)
	}
	if got.Host != "db" || got.Port != 5432 || got.User != "ada" || got.Database != "ada" || got.Password != "" {
		t.Errorf("%s %d %s %s %q", got.Host, got.Port, got.User, got.Database, got.Password)
	}
	for key, want := range map[string]string{
		"default_transaction_read_only": "on", "timezone": "UTC", "application_name": "callgate", "options": "", "search_path": "",
	} {
		if got.RuntimeParams[key] != want {
			t.Errorf("%s is %q, want %q", key, got.RuntimeParams[key], want)
		}
	}
	writer, err := Config{Host: "db", User: "a'b\\c", Password: "p' dbname='x"}.pgconn(false)
	if err != nil || writer.User != "a'b\\c" || writer.Password != "p' dbname='x" || writer.Database != "a'b\\c" {
		t.Errorf("%+v, %v", writer, err)
	}
	if writer.RuntimeParams["default_transaction_read_only"] != "" {
		t.Error("the writing connection only reads")
	}
}

func TestUnreachable(t *testing.T) {
	for code, kind := range map[string]tool.Kind{
		"28P01": tool.Denied, "28000": tool.Denied, "3D000": tool.NotFound, "53300": tool.Unavailable,
	} {
		err := new(conn).unreachable(t.Context(), &pgconn.PgError{Code: code, Message: "no"})
		if tool.KindOf(err) != kind {
			t.Errorf("%s: %v", code, err)
		}
	}
}
