package sqltext

import (
	"slices"
	"strings"
)

// harmlessStatements are the first words of the statements that drop no table, or the
// first two. CREATE, ALTER, DROP, SET, BEGIN and PRAGMA are judged by themselves.
var harmlessStatements = map[Dialect][]string{
	SQLite: {"END", "REINDEX", "VACUUM"},
	Postgres: {
		"SHOW", "START TRANSACTION", "END", "ABORT", "COMMENT", "GRANT", "REVOKE", "VACUUM", "REINDEX", "CLUSTER", "REFRESH",
		"LISTEN", "UNLISTEN", "NOTIFY", "RESET", "LOCK", "DECLARE", "FETCH", "MOVE", "CLOSE", "DEALLOCATE", "CHECKPOINT",
	},
	MySQL: {
		"SHOW", "START TRANSACTION", "GRANT", "REVOKE", "LOCK", "UNLOCK", "USE", "CHECK", "CHECKSUM", "OPTIMIZE", "REPAIR",
		"FLUSH", "KILL", "HELP", "RENAME TABLE", "RENAME TABLES", "RENAME USER", "LOAD DATA", "LOAD XML",
	},
}

// harmlessEverywhere is harmlessStatements of every dialect.
var harmlessEverywhere = []string{
	"SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE", "WITH", "VALUES", "TABLE", "EXPLAIN", "DESCRIBE", "DESC",
	"ANALYZE", "TRUNCATE", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE",
}

// harmlessDrops is what can be dropped without a table: what else DROP names may hold
// tables, or take them with it.
var harmlessDrops = []string{
	"INDEX", "VIEW", "MATERIALIZED", "TRIGGER", "SEQUENCE", "FUNCTION", "PROCEDURE", "ROUTINE", "AGGREGATE", "POLICY",
	"RULE", "STATISTICS", "PUBLICATION", "SUBSCRIPTION", "USER", "ROLE", "EVENT", "PREPARE", "COLLATION",
}

// objects are what is made and altered without code, replaceable those that are no tables
// and hold none, and objectModifiers what stands before them.
var (
	objects = []string{
		"TABLE", "INDEX", "VIEW", "SCHEMA", "DATABASE", "SEQUENCE", "TYPE", "DOMAIN", "USER", "ROLE", "GROUP", "COLLATION",
		"STATISTICS", "POLICY", "PUBLICATION",
	}
	replaceable     = []string{"VIEW", "INDEX", "USER", "ROLE"}
	objectModifiers = []string{
		"TEMP", "TEMPORARY", "GLOBAL", "LOCAL", "UNLOGGED", "UNIQUE", "FULLTEXT", "SPATIAL", "RECURSIVE", "MATERIALIZED",
		"ONLINE", "OFFLINE", "IGNORE",
	}
)

// catalogs are the tables of Postgres that say which tables there are: a superuser may
// change their rows.
var catalogs = []string{"PG_CLASS", "PG_NAMESPACE", "PG_TYPE", "PG_ATTRIBUTE", "PG_DATABASE"}

const runsCode = "it cannot be told what the code does that this statement runs or makes"

// MayDropTable says why a statement drops a table, or may; "" if it does not. It is for an
// app that forbids that, so only statements are let through that are known to drop none:
// what runs or hides another statement is refused, whatever that is. What functions,
// triggers and views do that the database has already, is not seen.
func MayDropTable(d Dialect, text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	words, why := statementWords(d, text)
	if why != "" {
		return why
	}
	second := ""
	if len(words) > 1 {
		second = words[1]
	}
	switch first := words[0]; first {
	case "DROP":
		return mayDropBeside(second, words)
	case "CREATE", "ALTER":
		return mayDropByObject(d, words)
	case "SET":
		return mayDropBySet(d, words)
	case "BEGIN": // the database's own transaction, or a block of code
		if d == MySQL && len(words) > 1 && (second != "WORK" || len(words) > 2) {
			return runsCode
		}
	case "PRAGMA":
		if d != SQLite {
			return unknown(first)
		}
		if strings.Contains(strings.ToUpper(text), "WRITABLE_SCHEMA") { // also in quotes
			return "with this pragma tables are dropped as rows"
		}
	case "IF", "CASE", "LOOP", "WHILE", "REPEAT", "FOR", "DO", "CALL", "EXECUTE", "PREPARE":
		return runsCode
	default:
		known := func(s string) bool {
			return slices.Contains(harmlessEverywhere, s) || slices.Contains(harmlessStatements[d], s)
		}
		if !known(first) && !known(first+" "+second) {
			return unknown(first)
		}
	}
	return ""
}

func unknown(first string) string {
	return first + " is none of the statements that are known to drop no table"
}

// statementWords returns the words of a single statement in upper case, at least one, or
// why it may drop a table wherever it stands.
func statementWords(d Dialect, text string) (words []string, why string) {
	var names []string // of Postgres, in quotes
	var last kind      // of the tokens before, without white space
	ended, spelled := false, false
	for text != "" {
		k, n := d.next(text)
		token := text[:n]
		text = text[n:]
		switch {
		case k == space:
			continue
		case k == end:
			ended = true
			continue
		case ended && (d != SQLite || !slices.Contains(words, "TRIGGER")):
			return nil, "these are several statements"
		case last == 0 && k != word && token != "(":
			return nil, "this begins with no statement"
		case d == MySQL && strings.HasPrefix(token, "/*"):
			return nil, "it depends on the server whether it runs what is in /*! … */"
		case len(words) == 1 && last == word && token[0] == ':' && words[0] != "SELECT":
			return nil, runsCode // the word is a label
		case k == quoted && d == Postgres && token[0] == '"':
			names = append(names, strings.ToUpper(strings.Trim(token, `"`)))
			if spelled {
				names = append(names, catalogs[0]) // U&"…" may spell any name
			}
		case k == word:
			w := upperASCII(token)
			if w == "TABLE" && len(words) > 0 {
				switch words[len(words)-1] {
				case "DROP":
					return nil, "this is DROP TABLE"
				case "CONVERT":
					return nil, "CONVERT TABLE makes a table a part of another one"
				}
			}
			words, spelled = append(words, w), spelled || w == "U"
		}
		last = k
	}
	if len(words) == 0 {
		return nil, "this begins with no statement"
	}
	if d == Postgres && changesCatalog(words, names) {
		return nil, "this may change the rows that say which tables there are"
	}
	return words, ""
}

// upperASCII returns a keyword in upper case. Letters that only become letters of a
// keyword in upper case, such as ſ, do not make one.
func upperASCII(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 }) {
		return s
	}
	return strings.ToUpper(s)
}

func changesCatalog(words, names []string) bool {
	named := func(s string) bool { return slices.Contains(catalogs, s) }
	if !slices.ContainsFunc(words, named) && !slices.ContainsFunc(names, named) {
		return false
	}
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains([]string{"INSERT", "UPDATE", "DELETE", "MERGE", "VIEW"}, w)
	})
}

func mayDropBeside(object string, words []string) string {
	if !slices.Contains(harmlessDrops, object) {
		return "this is DROP " + object
	}
	if slices.Contains(words, "CASCADE") {
		return "CASCADE may drop tables"
	}
	return ""
}

// mayDropByObject judges CREATE and ALTER by what they make and alter.
func mayDropByObject(d Dialect, words []string) string {
	replaces := false
	for _, w := range words[1:] {
		switch {
		case w == "OR":
		case w == "REPLACE":
			replaces = true
		case slices.Contains(objectModifiers, w), d == SQLite && w == "VIRTUAL":
		case d == SQLite && w == "TRIGGER": // it holds only SELECT, INSERT, UPDATE and DELETE
			return ""
		case !slices.Contains(objects, w):
			return unknown(words[0] + " " + w)
		case replaces && !slices.Contains(replaceable, w):
			return "CREATE OR REPLACE " + w + " drops what is there"
		default:
			return ""
		}
	}
	return unknown(words[0])
}

// mayDropBySet judges SET: SET STATEMENT … FOR runs another statement, and a global
// variable can hold statements that the server runs.
func mayDropBySet(d Dialect, words []string) string {
	if d == SQLite || len(words) > 1 && words[1] == "STATEMENT" {
		return runsCode
	}
	if d == MySQL && slices.ContainsFunc(words, func(w string) bool {
		return w == "GLOBAL" || w == "PERSIST" || w == "PERSIST_ONLY"
	}) {
		return "a global variable can hold statements that the server runs"
	}
	return ""
}
