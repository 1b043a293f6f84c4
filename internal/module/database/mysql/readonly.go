package mysql

import (
	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/sqltext"
	"callgate/tool"
)

// checkRead is the second fence of a read, for what is no transaction's business
// to the server. It permits what asks for rows; what changes them is left to
// the server, which refuses it.
func checkRead(text string) error {
	first := sqltext.First(sqltext.MySQL, text)
	switch first {
	case "SELECT", "WITH", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "TABLE", "VALUES", "",
		"INSERT", "UPDATE", "DELETE", "REPLACE":
	default:
		return engine.ReadOnly(first + " does not ask for rows")
	}
	before := ""
	for w := range sqltext.Words(sqltext.MySQL, text) {
		if before == "INTO" && (w == "OUTFILE" || w == "DUMPFILE") {
			return engine.ReadOnly("INTO " + w + " writes a file on the server")
		}
		before = w
	}
	return nil
}

// checkWrite refuses what would end or begin a transaction behind the module's
// back, and within one also what commits it.
func checkWrite(text, within string) error {
	first := sqltext.First(sqltext.MySQL, text)
	switch first {
	case "BEGIN", "START", "COMMIT", "LOCK", "UNLOCK", "XA":
		return engine.Fail(tool.Denied, "%s is not done here: a transaction is not left open between calls", first).
			WithHint("send the statements that belong together to database.transaction")
	case "ROLLBACK", "SAVEPOINT", "RELEASE":
		if within == "" {
			return engine.Fail(tool.Denied, "%s is not done here: a transaction is not left open between calls", first).
				WithHint("send the statements that belong together to database.transaction")
		}
	case "CREATE", "ALTER", "DROP", "RENAME", "TRUNCATE", "GRANT", "REVOKE", "ANALYZE", "OPTIMIZE", "REPAIR", "FLUSH", "SET", "CALL", "LOAD":
		if within != "" {
			return engine.Fail(tool.Denied, "%s may commit a transaction in this database, so it is not done %s", first, within).
				WithHint("use database.execute_query for it")
		}
	}
	return nil
}

// keepsSession reports whether a statement leaves its connection as it was.
func keepsSession(text string) bool {
	switch sqltext.First(sqltext.MySQL, text) {
	case "SELECT", "WITH", "INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "ALTER", "DROP", "TRUNCATE", "SHOW", "EXPLAIN", "DESCRIBE", "DESC":
		return true
	default:
		return false
	}
}
