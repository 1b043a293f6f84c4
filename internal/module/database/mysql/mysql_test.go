package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"callgate/internal/module/database/engine"
	"callgate/tool"
)

func TestCheckRead(t *testing.T) {
	for sql, allowed := range map[string]bool{
		"SELECT 1": true, " /* x */ with a AS (SELECT 1) SELECT * FROM a": true, "SHOW TABLES": true, "EXPLAIN SELECT 1": true,
		"(SELECT 1)": true, "VALUES (1)": true, "DELETE FROM t": false, "SELECT LOAD_FILE('/x')": false,
		"SET GLOBAL x = 1": false, "KILL 1": false, "FLUSH TABLES": false, "CALL p()": false, "LOCK TABLES t WRITE": false,
		"/*!50000 SET x = 1 */": false, "HANDLER t OPEN": false, "DO SLEEP(1)": false,
		"SELECT 1 INTO OUTFILE '/x'": false, "SELECT 1 INTO/**/dumpfile '/x'": false,
		"SELECT 'INTO OUTFILE'": true, "SELECT 1 INTO @a": true,
	} {
		if err := checkRead(sql); (err == nil) != allowed {
			t.Errorf("%s: %v", sql, err)
		} else if err != nil && tool.KindOf(err) != tool.Denied {
			t.Errorf("%s: the kind is %s", sql, tool.KindOf(err))
		}
	}
}

func TestCheckWrite(t *testing.T) {
	for sql, allowed := range map[string]struct{ alone, inTransaction bool }{
		"INSERT INTO t VALUES (1)":     {true, true},
		"CREATE TABLE t (a INTEGER)":   {true, false},
		"truncate t":                   {true, false},
		"SET autocommit = 0":           {true, false},
		"CALL p()":                     {true, false},
		"BEGIN":                        {false, false},
		"START TRANSACTION":            {false, false},
		"/* */ COMMIT":                 {false, false},
		"XA START 'x'":                 {false, false},
		"LOCK TABLES t WRITE":          {false, false},
		"SAVEPOINT a":                  {false, true},
		"ROLLBACK TO a":                {false, true},
		"RELEASE SAVEPOINT a":          {false, true},
		"/*!50000 CREATE TABLE u(a)*/": {true, false},
	} {
		if err := checkWrite(sql, false); (err == nil) != allowed.alone {
			t.Errorf("%s alone: %v", sql, err)
		}
		if err := checkWrite(sql, true); (err == nil) != allowed.inTransaction {
			t.Errorf("%s in a transaction: %v", sql, err)
		}
	}
}

func TestKeepsSession(t *testing.T) {
	for sql, want := range map[string]bool{
		"SELECT 1": true, "insert into t values (1)": true, "SET x = 1": false, "USE other": false, "PREPARE a FROM 'x'": false, "": false,
	} {
		if got := keepsSession(sql); got != want {
			t.Errorf("%s: %v", sql, got)
		}
	}
}

func TestServerError(t *testing.T) {
	for number, kind := range map[uint16]tool.Kind{
		1792: tool.Denied, 1290: tool.Denied, 1045: tool.Denied, 1227: tool.Denied, 1062: tool.Conflict, 1452: tool.Conflict,
		1205: tool.Busy, 1213: tool.Conflict, 1040: tool.Unavailable, 1064: tool.Invalid, 1054: tool.Invalid,
	} {
		err := serverError(&mysql.MySQLError{Number: number, Message: "no"})
		if tool.KindOf(err) != kind || !strings.Contains(err.Error(), "no") {
			t.Errorf("%d: %v", number, err)
		}
	}
	for message, want := range map[string]string{
		"Table 'shop.clients' doesn't exist": "clients", "Unknown table 'clients'": "clients", "no quotes": "",
	} {
		var missing engine.NoTableError
		err := serverError(&mysql.MySQLError{Number: 1146, Message: message})
		if !errors.As(err, &missing) || missing.Name != want {
			t.Errorf("%s: %v", message, err)
		}
	}
}

func TestConvertError(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	killed := &mysql.MySQLError{Number: 1317, Message: "Query execution was interrupted"}
	c := &conn{}
	if err := c.convertError(t.Context(), false, killed); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stopped by the server's clock: %v", err)
	}
	if err := c.convertError(ended, false, killed); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped by the caller: %v", err)
	}
	if err := c.convertError(t.Context(), true, driver.ErrBadConn); tool.KindOf(err) != tool.InDoubt {
		t.Errorf("lost during a write: %v", err)
	}
	if err := c.convertError(t.Context(), false, driver.ErrBadConn); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("lost during a read: %v", err)
	}
	if err := c.convertError(ended, false, driver.ErrBadConn); !errors.Is(err, context.Canceled) {
		t.Errorf("lost after the end of the context: %v", err)
	}
	own := engine.Fail(tool.Denied, "refused here")
	if err := c.convertError(t.Context(), true, own); !errors.Is(err, own) {
		t.Errorf("an error of the engine: %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	for number, kind := range map[uint16]tool.Kind{
		1045: tool.Denied, 1698: tool.Denied, 1049: tool.NotFound, 1040: tool.Unavailable,
	} {
		if err := unreachable(t.Context(), &mysql.MySQLError{Number: number}); tool.KindOf(err) != kind {
			t.Errorf("%d: %v", number, err)
		}
	}
}
