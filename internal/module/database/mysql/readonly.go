package mysql

import (
	"strings"

	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/sqltext"
	"callgate/tool"
)

// checkRead refuses statements that a read-only transaction does not stop: those that do
// not ask for rows, and those that read or write a file of the server.
func checkRead(text string) error {
	if sqltext.HasVersionComment(text) {
		return engine.ReadOnly("it depends on the server's version what a statement with /*! … */ does")
	}
	if why := sqltext.Reads(sqltext.MySQL, text); why != "" {
		return engine.ReadOnly(why)
	}
	if strings.Contains(strings.ToLower(text), "load_file") {
		return engine.Fail(tool.Denied, "LOAD_FILE reads a file of the server, which is not done here").
			WithHint("ask for data of tables; a file of the workspace is read with filesystem.read")
	}
	previous := ""
	for w := range sqltext.Words(sqltext.MySQL, text) {
		if previous == "INTO" && (w == "OUTFILE" || w == "DUMPFILE") {
			return engine.ReadOnly("INTO " + w + " writes a file on the server")
		}
		previous = w
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
