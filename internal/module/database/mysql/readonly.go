package mysql

import (
	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/sqltext"
	"callgate/tool"
)

// checkRead refuses statements that a read-only transaction does not stop. It
// allows statements that ask for rows; it also passes those that change rows,
// since the server refuses them with a better error.
func checkRead(text string) error {
	first := sqltext.First(sqltext.MySQL, text)
	switch first {
	case "SELECT", "WITH", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "TABLE", "VALUES", "",
		"INSERT", "UPDATE", "DELETE", "REPLACE":
	default:
		return engine.ReadOnly(first + " does not ask for rows")
	}
	previous := ""
	for w := range sqltext.Words(sqltext.MySQL, text) {
		if previous == "INTO" && (w == "OUTFILE" || w == "DUMPFILE") {
			return engine.ReadOnly("INTO " + w + " writes a file on the server")
		}
		previous = w
	}
	if sqltext.HasVersionComment(text) {
		return engine.ReadOnly("it depends on the server's version what a statement with /*! … */ does")
	}
	return nil
}

// checkWrite refuses a statement that begins or ends a transaction itself, and
// within a transaction also one that commits it.
func checkWrite(text string, inTransaction bool) error {
	if inTransaction && sqltext.HasVersionComment(text) {
		return engine.Fail(tool.Denied, "a statement with /*! … */ may commit a transaction, depending on the server's "+
			"version, so it is not done in a transaction").WithHint("write it without /*! and */")
	}
	first := sqltext.First(sqltext.MySQL, text)
	switch first {
	case "BEGIN", "START", "COMMIT", "LOCK", "UNLOCK", "XA":
		return noOpenTransaction(first)
	case "ROLLBACK", "SAVEPOINT", "RELEASE":
		if !inTransaction {
			return noOpenTransaction(first)
		}
	case "CREATE", "ALTER", "DROP", "RENAME", "TRUNCATE", "GRANT", "REVOKE",
		"ANALYZE", "OPTIMIZE", "REPAIR", "FLUSH", "SET", "CALL", "LOAD":
		if inTransaction {
			return engine.Fail(tool.Denied,
				"%s may commit a transaction in this database, so it is not done in a transaction", first).
				WithHint("use database.execute_query for it")
		}
	}
	return nil
}

func noOpenTransaction(keyword string) error {
	return engine.Fail(tool.Denied, "%s is not done here: a transaction is not left open between calls", keyword).
		WithHint("send the statements that belong together to database.transaction")
}

// keepsSession reports whether a statement leaves the state of its connection unchanged.
func keepsSession(text string) bool {
	switch sqltext.First(sqltext.MySQL, text) {
	case "SELECT", "WITH", "INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "ALTER", "DROP", "TRUNCATE",
		"SHOW", "EXPLAIN", "DESCRIBE", "DESC":
		return true
	default:
		return false
	}
}
