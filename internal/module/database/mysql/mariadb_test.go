package mysql_test

import (
	"strings"
	"testing"

	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/enginetest"
	"callgate/internal/module/database/mysql"
	"callgate/internal/module/database/rowset"
	"callgate/tool"
)

// The server refuses writes in a read-only transaction by itself, without the
// engine's check of the first keyword.
func TestServerRefusesAlone(t *testing.T) {
	s := servers.MariaDB(t)
	name := s.NewDatabase(t)
	ctx := t.Context()
	c, err := s.Admin.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	must := func(q string) {
		t.Helper()
		if _, err := c.ExecContext(ctx, q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	must("USE " + name)
	must("CREATE TABLE t (a INTEGER)")
	must("SET SESSION TRANSACTION READ ONLY")
	defer must("SET SESSION TRANSACTION READ WRITE")
	for _, q := range []string{
		"INSERT INTO t VALUES (1)", "CREATE TABLE u (a INTEGER)", "DROP TABLE t", "ALTER TABLE t ADD b INTEGER", "TRUNCATE t",
	} {
		must("START TRANSACTION READ ONLY")
		if _, err := c.ExecContext(ctx, q); err == nil || !strings.Contains(err.Error(), "1792") {
			t.Errorf("%s: %v", q, err)
		}
		must("ROLLBACK")
	}
}

// The server refuses to write a file for a user without the FILE privilege.
func TestFilePrivilege(t *testing.T) {
	s := servers.MariaDB(t)
	name := s.NewDatabase(t)
	for _, q := range []string{
		"CREATE USER IF NOT EXISTS 'plain'@'%' IDENTIFIED BY 'plain'",
		"GRANT ALL PRIVILEGES ON " + name + ".* TO 'plain'@'%'",
	} {
		if _, err := s.Admin.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	db, err := mysql.Open(t.Context(), mysql.Config{
		Host: "127.0.0.1", Port: s.Port, User: "plain", Password: "plain", Database: name,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	write := engine.Statement{SQL: "SELECT 1 INTO OUTFILE '/tmp/callgate-never'"}
	_, err = db.Write(t.Context(), write, rowset.New(rowset.Limits{}))
	if tool.KindOf(err) != tool.Denied || !strings.Contains(err.Error(), "1227") {
		t.Errorf("%v", err)
	}
}

// A statement that may change the session gets a connection of its own.
func TestSessionStateDoesNotLeak(t *testing.T) {
	e := enginetest.MariaDB(&servers).Open(t)
	out := rowset.New(rowset.Limits{})
	if _, err := e.Write(t.Context(), engine.Statement{SQL: "SET @leak = 7"}, out); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Write(t.Context(), engine.Statement{SQL: "SELECT @leak IS NULL"}, out); err != nil {
		t.Fatal(err)
	}
	if got := out.Table(); !strings.HasSuffix(got, "\n1") {
		t.Errorf("the next statement sees it: %q", got)
	}
}

// A transaction that a statement commits by itself is in doubt, not a success.
func TestTransactionThatCommitsItself(t *testing.T) {
	e := enginetest.MariaDB(&servers).Open(t)
	create := engine.Statement{SQL: "CREATE TABLE t (a INTEGER)"}
	if _, err := e.Write(t.Context(), create, rowset.New(rowset.Limits{})); err != nil {
		t.Fatal(err)
	}
	err := e.Transact(t.Context(), "", func(exec engine.ExecFunc) error {
		for _, q := range []string{
			"INSERT INTO t VALUES (1)", "EXECUTE IMMEDIATE 'CREATE TABLE u (a INTEGER)'", "INSERT INTO t VALUES (2)",
		} {
			if _, err := exec(engine.Statement{SQL: q}, rowset.New(rowset.Limits{})); err != nil {
				return err
			}
		}
		return nil
	})
	if tool.KindOf(err) != tool.InDoubt {
		t.Errorf("%v", err)
	}
}
