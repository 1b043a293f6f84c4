package plainrows

import (
	"strconv"
	"strings"

	"callgate/internal/storage/tables"
)

// layout is how a table is read.
type layout struct {
	from     string   // what is read, and where
	columns  []string // of a row
	position []string // the columns that order the rows
	types    []string // theirs
}

func layoutOf(t *tables.Table) layout {
	const notDropped = " AND t.seq > coalesce((SELECT max(last_seq) FROM drops WHERE node = $1), 0)"
	l := layout{from: t.Name + " AS t WHERE t.node = $1"}
	for i, c := range t.Columns {
		l.columns = append(l.columns, "t."+c.Name)
		if i < t.Key {
			l.types = append(l.types, columnType(c.Type))
		}
	}
	l.position = append(l.position, l.columns[:t.Key]...)
	switch t {
	case tables.Records, tables.Doubts:
		l.from += notDropped
	case tables.Documents:
		l.from = "documents AS t WHERE t.node IN ($1, '')"
	case tables.Approvals, tables.Tasks:
		l.position, l.types = []string{"t.num"}, []string{"bigint"}
	case tables.TaskLogs:
		l.from = "task_logs AS t JOIN tasks AS whole ON whole.num = t.task WHERE whole.node = $1"
		l.columns[0] = "whole.id"
		l.position, l.types = []string{"whole.num", "t.seq"}, []string{"bigint", "bigint"}
	case tables.Events:
		l.from = "events AS t JOIN conversations AS whole ON whole.num = t.conversation WHERE whole.node = $1"
		l.columns[0], l.position[0] = "whole.id", "whole.id"
	}
	return l
}

func columnType(t tables.Type) string {
	switch t {
	case tables.Number, tables.MaybeNumber:
		return "bigint"
	case tables.Word:
		return "text"
	default:
		return "bytea"
	}
}

// pageStatement selects the rows of one page. Their sizes are added up at the server, so that it sends no more than a
// page however large its rows are.
func pageStatement(t *tables.Table, after bool) string {
	l := layoutOf(t)
	var inner, outer, sizes, order []string
	for i, column := range l.columns {
		name := "c" + strconv.Itoa(i)
		inner, outer = append(inner, column+" AS "+name), append(outer, name)
		if t.Columns[i].Type > tables.Word {
			sizes = append(sizes, "coalesce(octet_length("+column+"), 0)")
		}
	}
	for i, column := range l.position {
		name := "p" + strconv.Itoa(i)
		inner, outer, order = append(inner, column+" AS "+name), append(outer, name), append(order, name)
	}
	ordered := strings.Join(order, ", ")
	return "SELECT " + strings.Join(outer, ", ") + " FROM (SELECT *, sum(size) OVER (ORDER BY " + ordered +
		" ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - size AS before FROM (SELECT " +
		strings.Join(inner, ", ") + ", " + strings.Join(append(sizes, "8"), " + ") + " AS size FROM " + l.from +
		l.behind(after) + " ORDER BY " + strings.Join(l.position, ", ") + " LIMIT " + strconv.Itoa(tables.PageRows) +
		") AS found) AS summed WHERE before < " + strconv.Itoa(tables.PageBytes) + " ORDER BY " + ordered
}

// behind is the condition that a row comes after a position. It says of the first column once more what it says of all:
// where they are of two tables, that is what an index is used for.
func (l layout) behind(after bool) string {
	if !after {
		return ""
	}
	places := make([]string, len(l.position))
	for i, kind := range l.types {
		places[i] = "$" + strconv.Itoa(i+2) + "::" + kind
	}
	return " AND " + l.position[0] + " >= " + places[0] +
		" AND (" + strings.Join(l.position, ", ") + ") > (" + strings.Join(places, ", ") + ")"
}

// addStatement inserts rows, whose owners and columns are its arguments, in their order.
func addStatement(t *tables.Table) string {
	names, arrays := []string{"node"}, []string{"$1::text[]"}
	for i, c := range t.Columns {
		names = append(names, c.Name)
		arrays = append(arrays, "$"+strconv.Itoa(i+2)+"::"+columnType(c.Type)+"[]")
	}
	for i, name := range codeColumns(t) {
		names = append(names, name)
		arrays = append(arrays, "$"+strconv.Itoa(len(t.Columns)+i+2)+"::bytea[]")
	}
	into, values, from := names, "a."+strings.Join(names, ", a."), ""
	switch t {
	case tables.TaskLogs:
		into, values = names[1:], "whole.num, a.at, a.text, a.data"
		from = " JOIN tasks AS whole ON whole.node = a.node AND whole.id = a.task"
	case tables.Events:
		into, values = names[1:], "whole.num, a.seq, a.body"
		from = " JOIN conversations AS whole ON whole.node = a.node AND whole.id = a.conversation"
	}
	return "INSERT INTO " + t.Name + " (" + strings.Join(into, ", ") + ") SELECT " + values +
		" FROM unnest(" + strings.Join(arrays, ", ") + ") WITH ORDINALITY AS a (" + strings.Join(names, ", ") +
		", place)" + from + " ORDER BY a.place"
}
