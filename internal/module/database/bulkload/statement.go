package bulkload

import (
	"slices"
	"strconv"
	"strings"

	"callgate/internal/module/database/catalog"
	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/sqltext"
	"callgate/tool"
)

// insertion returns INSERT INTO t (a, b) VALUES (?, ?), (?, ?), followed by the
// clause for conflicts.
func insertion(d sqltext.Dialect, t *catalog.Table, columns []string, rows [][]any, conflict string) engine.Statement {
	var b strings.Builder
	b.WriteString("INSERT INTO " + t.Quoted(d) + " (" + quoteAll(d, columns) + ") VALUES ")
	args := make([]any, 0, len(rows)*len(columns))
	for i, row := range rows {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteByte('(')
		for j, v := range row {
			if j > 0 {
				b.WriteString(", ")
			}
			args = append(args, v)
			if d == sqltext.Postgres {
				b.WriteString("$" + strconv.Itoa(len(args)))
			} else {
				b.WriteByte('?')
			}
		}
		b.WriteByte(')')
	}
	b.WriteString(conflict)
	return engine.Statement{SQL: b.String(), Args: args}
}

func quoteAll(d sqltext.Dialect, names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = d.Quote(n)
	}
	return strings.Join(quoted, ", ")
}

// conflictClause returns a function for the clause that follows the values, given
// the columns that a statement sets.
func (in *Insert) conflictClause(d sqltext.Dialect, t *catalog.Table) (func(columns []string) string, error) {
	key := in.Key
	if len(key) == 0 {
		key = t.PrimaryKey
	}
	for _, name := range key {
		if _, err := t.Column(name); err != nil {
			return nil, err
		}
	}
	switch {
	case in.OnConflict != ignore && in.OnConflict != update:
		return func([]string) string { return "" }, nil
	case d == sqltext.MySQL:
		return func(columns []string) string { return in.mysqlConflict(columns, key) }, nil
	case in.OnConflict == ignore:
		return func([]string) string { return " ON CONFLICT DO NOTHING" }, nil
	case len(key) == 0:
		return nil, tool.Errorf("", tool.Invalid,
			"the table %s has no primary key, so it is not known which rows are the same", t.Ref()).
			WithHint("name the columns of a unique index in key")
	}
	return func(columns []string) string {
		target := " ON CONFLICT (" + quoteAll(d, key) + ")"
		sets := assignments(d, columns, key, func(quoted string) string { return "excluded." + quoted })
		if sets == "" {
			return target + " DO NOTHING"
		}
		return target + " DO UPDATE SET " + sets
	}, nil
}

// mysqlConflict returns the clause of MySQL. To ignore a row, it assigns a column
// to itself: INSERT IGNORE would ignore other errors too.
func (in *Insert) mysqlConflict(columns, key []string) string {
	d := sqltext.MySQL
	sets := ""
	if in.OnConflict == update {
		sets = assignments(d, columns, key, func(quoted string) string { return "VALUES(" + quoted + ")" })
	}
	if sets == "" {
		sets = d.Quote(columns[0]) + " = " + d.Quote(columns[0])
	}
	return " ON DUPLICATE KEY UPDATE " + sets
}

// assignments returns a = x(a), b = x(b) for the columns that are not in the key.
func assignments(d sqltext.Dialect, columns, key []string, inserted func(quoted string) string) string {
	var sets []string
	for _, name := range columns {
		if !slices.Contains(key, name) {
			sets = append(sets, d.Quote(name)+" = "+inserted(d.Quote(name)))
		}
	}
	return strings.Join(sets, ", ")
}
