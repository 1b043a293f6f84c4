package sqltext

import "slices"

// harmlessDrops is what can be dropped without a table: what else DROP names may hold
// tables, or take them with it.
var harmlessDrops = []string{
	"INDEX", "VIEW", "MATERIALIZED", "TRIGGER", "SEQUENCE", "FUNCTION", "PROCEDURE", "ROUTINE", "AGGREGATE", "POLICY",
	"RULE", "STATISTICS", "PUBLICATION", "SUBSCRIPTION", "USER", "ROLE", "EVENT", "PREPARE", "COLLATION",
}

// MayDropTable says why a statement drops a table, or may; "" if it does not. It is for an
// app that forbids that, so what runs text or code that is not read here counts as well:
// the body of a routine, a prepared statement. What functions do that the database has
// already, is not seen.
func MayDropTable(d Dialect, text string) string {
	var words []string // the first
	last := ""
	for w := range Words(d, text) {
		if last == "DROP" && w == "TABLE" {
			return "this is DROP TABLE"
		}
		if last = w; len(words) < 12 {
			words = append(words, w)
		}
	}
	words = append(words, "", "") // a statement may have one word, or none
	const code = "it cannot be told what the code does that this statement runs or makes"
	switch words[0] {
	case "DROP":
		if !slices.Contains(harmlessDrops, words[1]) {
			return "this is DROP " + words[1]
		}
	case "CREATE", "ALTER":
		object := slices.IndexFunc(words, func(w string) bool { return hasBody(w) || slices.Contains(objects, w) })
		if d != SQLite && object > 0 && hasBody(words[object]) {
			return code
		}
		if object > 0 && words[object] == "TABLE" && slices.Contains(words[:object], "REPLACE") {
			return "CREATE OR REPLACE TABLE drops the table that is there"
		}
	case "DO", "CALL", "EXECUTE", "PREPARE":
		return code
	case "PRAGMA":
		if slices.Contains(words, "WRITABLE_SCHEMA") {
			return "with this pragma tables are dropped as rows"
		}
	}
	return ""
}

// objects are what is made and altered without code.
var objects = []string{"TABLE", "INDEX", "VIEW", "SCHEMA", "DATABASE", "SEQUENCE", "TYPE", "USER", "ROLE", "COLUMN"}
