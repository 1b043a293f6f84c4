package enginetest

import (
	"errors"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/rowset"
	"callgate/tool"
)

// insert returns a function for Transact that inserts values into t and then
// returns an error.
func (f *fixture) insert(end error, values ...string) func(engine.ExecFunc) error {
	return func(exec engine.ExecFunc) error {
		for _, v := range values {
			done, err := exec(engine.Statement{SQL: "INSERT INTO t VALUES (" + v + ")"}, rowset.New(rowset.Limits{}))
			if err != nil {
				return err
			}
			if done.Affected != 1 {
				f.Errorf("inserting %s affected %d rows", v, done.Affected)
			}
		}
		return end
	}
}

func commits(f *fixture) {
	f.write("CREATE TABLE t (a INTEGER PRIMARY KEY)")
	err := f.engine.Transact(f.Context(), "", func(exec engine.ExecFunc) error {
		if err := f.insert(nil, "1", "2")(exec); err != nil {
			return err
		}
		out := rowset.New(rowset.Limits{})
		if _, err := exec(engine.Statement{SQL: "SELECT a FROM t ORDER BY a"}, out); err != nil {
			return err
		}
		if len(scan(f, out)) != 2 {
			f.Error("a statement does not see the ones before it")
		}
		return nil
	})
	if got := f.count("t"); err != nil || got != "2" {
		f.Errorf("%s rows, %v", got, err)
	}
}

func rollsBack(f *fixture) {
	f.write("CREATE TABLE t (a INTEGER PRIMARY KEY)")
	f.write("INSERT INTO t VALUES (1)")
	stop := errors.New("the caller wants no more")
	if err := f.engine.Transact(f.Context(), "", f.insert(stop, "2", "3")); !errors.Is(err, stop) {
		f.Errorf("an error of the caller: %v", err)
	}
	err := f.engine.Transact(f.Context(), "", f.insert(nil, "4", "1"))
	f.fails("a conflict in a transaction", err, tool.Conflict)
	err = f.engine.Transact(f.Context(), "", f.insert(nil, "5", "(SELECT nosuch)"))
	f.fails("an invalid statement in a transaction", err, tool.Invalid)
	if got := f.count("t"); got != "1" {
		f.Errorf("%s rows after three rollbacks", got)
	}
	f.works()
}

func allowsSavepoints(f *fixture) {
	f.write("CREATE TABLE t (a INTEGER)")
	err := f.engine.Transact(f.Context(), "", func(exec engine.ExecFunc) error {
		for _, sql := range []string{
			"INSERT INTO t VALUES (1)", "SAVEPOINT here", "INSERT INTO t VALUES (2)", "ROLLBACK TO here", "INSERT INTO t VALUES (3)",
		} {
			if _, err := exec(engine.Statement{SQL: sql}, rowset.New(rowset.Limits{})); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	if got := f.rows("SELECT sum(a), count(*) FROM t"); len(got) != 1 || got[0][1] != f.rows("SELECT 2")[0][0] {
		f.Errorf("%v", got)
	}
}

func acceptsIsolations(f *fixture) {
	f.write("CREATE TABLE t (a INTEGER)")
	for _, isolation := range []string{"", "read committed", "repeatable read", "serializable"} {
		if err := f.engine.Transact(f.Context(), isolation, f.insert(nil, "1")); err != nil {
			f.Errorf("%q: %v", isolation, err)
		}
	}
	if got := f.count("t"); got != "4" {
		f.Errorf("%s rows", got)
	}
}

// leavesNoTransaction tries to leave a transaction open between calls.
func leavesNoTransaction(f *fixture) {
	f.write("CREATE TABLE t (s VARCHAR(50))")
	f.write("INSERT INTO t VALUES ('before')")
	for _, sql := range []string{"BEGIN", "SAVEPOINT a", "COMMIT", "ROLLBACK", "START TRANSACTION"} {
		_ = f.tryWrite(f.Context(), sql) // refused, or without an effect
		f.write("UPDATE t SET s = ?", "after "+sql)
		if diff := cmp.Diff([][]any{{"after " + sql}}, f.rows("SELECT s FROM t")); diff != "" {
			f.Errorf("after %s another connection does not see a write: %s", sql, diff)
		}
	}
}
