package database

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"callgate/internal/module"
	"callgate/internal/module/database/catalog"
	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/rowset"
	"callgate/internal/module/database/sqltext"
	"callgate/tool"
)

//go:embed search_data.md
var searchDataDoc string

const searchDataInput = `{
  "type": "object",
  "properties": {
    "text": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "What to look for, anywhere in a value; upper and lower case are the same."},
    "tables": {"type": "array", "items": {"type": "string"}, "maxItems": 200, "description": "Only these tables. Default: all, views not."},
    "columns": {"type": "array", "items": {"type": "string"}, "maxItems": 200, "description": "Only columns with these names. Default: all that hold text."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 500, "default": 20, "description": "The most matches."},
    ` + connectionArg + `,
    ` + timeoutArg + `
  },
  "required": ["text"],
  "additionalProperties": false
}`

const searchDataOutput = `{
  "type": "object",
  "properties": {
    "matches": {"type": "array", "items": {
      "type": "object",
      "properties": {
        "table": {"type": "string"}, "column": {"type": "string"},
        "key": {"type": "object", "description": "The row's primary key."},
        "excerpt": {"type": "string", "description": "The value around what was found."}
      }
    }},
    "tables_searched": {"type": "integer"},
    "truncated": {"type": "boolean", "description": "Whether there may be more."}
  },
  "required": ["matches", "tables_searched", "truncated"]
}`

func (r *connPool) searchDataTool() definition {
	return definition{
		Name: "search_data", Doc: searchDataDoc, Input: searchDataInput, Output: searchDataOutput,
		Examples: []tool.Example{
			module.Example("anywhere", `{"text": "ada@example.com"}`),
			module.Example("in two tables", `{"text": "refund", "tables": ["orders", "tickets"], "limit": 50}`),
		},
		Aliases: []string{
			"search_database", "find_in_database", "grep_database", "find a value in all tables", "which table contains a text", "full text search in tables",
			"chercher dans la base de données", "trouver une valeur", "rechercher un texte dans les tables",
		},
		Tags:    []string{"database", "sql", "search", "find", "text", "rows", "recherche", "base de données"},
		Runtime: reads(),
		Handler: handler(r, "search_data", searchData),
	}
}

type searchArgs struct {
	connectionArgs
	Text    string   `json:"text"`
	Tables  []string `json:"tables"`
	Columns []string `json:"columns"`
	Limit   int      `json:"limit"`
}

type match struct {
	Table   string         `json:"table"`
	Column  string         `json:"column"`
	Key     map[string]any `json:"key,omitempty"`
	Excerpt string         `json:"excerpt"`
}

func searchData(ctx context.Context, c *call, in searchArgs) (*tool.Result, error) {
	ctx, done, l, err := c.withConnection(ctx, in.connectionArgs)
	if err != nil {
		return nil, err
	}
	defer done()
	if in.Limit == 0 {
		in.Limit = 20
	}
	where, err := in.places(ctx, l.engine)
	if err != nil {
		return nil, stopped(ctx, err)
	}
	found := struct {
		Matches   []match `json:"matches"`
		Searched  int     `json:"tables_searched"`
		Truncated bool    `json:"truncated"`
	}{Matches: []match{}}
	for _, p := range where {
		more, err := in.search(ctx, l.engine, p, in.Limit+1-len(found.Matches))
		if err != nil {
			if ctx.Err() != nil && found.Searched > 0 { // what was found until then is worth having
				found.Truncated = true
				break
			}
			return nil, stopped(ctx, err)
		}
		found.Searched++
		if found.Matches = append(found.Matches, more...); len(found.Matches) > in.Limit {
			found.Matches, found.Truncated = found.Matches[:in.Limit], true
			break
		}
	}
	summary := fmt.Sprintf("%s%d of %s searched; %s", l.name(), found.Searched, count(len(where), "table"), plural(len(found.Matches), "match", "matches"))
	r, err := tool.OK(summary, found)
	if err == nil && len(found.Matches) > 0 {
		r.Content = []tool.Content{tool.Text(showMatches(found.Matches))}
	}
	if err == nil && found.Truncated && found.Searched < len(where) {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s were not searched; name fewer tables, or give a larger limit or timeout_seconds", count(len(where)-found.Searched, "table")))
	}
	return r, err
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// searchTable is a table with the columns of it that are searched.
type searchTable struct {
	table   *catalog.Table
	columns []string
}

// places chooses where to look.
func (in *searchArgs) places(ctx context.Context, e engine.Engine) ([]searchTable, error) {
	var tables []*catalog.Table
	for _, name := range in.Tables {
		t, err := details(ctx, e, name)
		if err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	if len(in.Tables) == 0 {
		all, err := catalog.Load(ctx, e, "", "")
		if err != nil {
			return nil, err
		}
		tables = slices.DeleteFunc(all, func(t *catalog.Table) bool { return strings.Contains(t.Kind, "view") })
	}
	var where []searchTable
	for _, t := range tables {
		h := searchTable{table: t}
		for _, c := range t.Columns {
			if len(in.Columns) == 0 && isText(c.Type) || slices.ContainsFunc(in.Columns, func(n string) bool { return strings.EqualFold(n, c.Name) }) {
				h.columns = append(h.columns, c.Name)
			}
		}
		if len(h.columns) > 0 {
			where = append(where, h)
		}
	}
	if len(where) == 0 {
		return nil, tool.Errorf("", tool.NotFound, "there is no such column, or none that holds text").WithHint("database.schema shows the tables and their columns")
	}
	return where, nil
}

// isText reports whether a type holds text. A column of SQLite's may have none,
// and hold anything.
func isText(kind string) bool {
	kind = strings.ToLower(kind)
	return kind == "" || slices.ContainsFunc([]string{"char", "text", "clob", "json", "enum", "uuid", "name", "xml"}, func(s string) bool { return strings.Contains(kind, s) })
}

// search looks in one table, for at most n matches.
func (in *searchArgs) search(ctx context.Context, e engine.Engine, h searchTable, n int) ([]match, error) {
	d := e.Info().Dialect
	var list, tests []string
	for _, k := range h.table.PrimaryKey {
		list = append(list, d.Quote(k))
	}
	var args []any
	for _, c := range h.columns {
		column, like := d.Quote(c), " LIKE ? ESCAPE '!'"
		switch d {
		case sqltext.Postgres:
			column, like = column+"::text", " ILIKE $1 ESCAPE '!'"
		case sqltext.MySQL:
			column = "CONVERT(" + column + " USING utf8mb4)"
		}
		list, tests = append(list, column), append(tests, column+like)
		if d != sqltext.Postgres || len(args) == 0 {
			args = append(args, "%"+strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(in.Text)+"%")
		}
	}
	text := fmt.Sprintf("SELECT %s FROM %s WHERE %s LIMIT %d", strings.Join(list, ", "), h.table.Quoted(d), strings.Join(tests, " OR "), n)
	out := rowset.New(rowset.Limits{Rows: n, Bytes: 16 << 20, Text: 1 << 20})
	if err := e.Read(ctx, engine.Statement{SQL: text, Args: args}, out); err != nil {
		return nil, err
	}
	var found []match
	err := out.Scan(func(cells []any) error {
		m := match{Table: h.table.Ref()}
		for i, k := range h.table.PrimaryKey {
			if m.Key == nil {
				m.Key = map[string]any{}
			}
			m.Key[k] = cells[i]
		}
		m.Column, m.Excerpt = in.pick(h.columns, cells[len(h.table.PrimaryKey):])
		found = append(found, m)
		return nil
	})
	return found, err
}

// pick finds the column that matched and cuts an excerpt out of it.
func (in *searchArgs) pick(columns []string, cells []any) (string, string) {
	first, firstText := "", ""
	want := strings.ToLower(in.Text)
	for i, cell := range cells {
		text, ok := cell.(string)
		if !ok && cell != nil {
			text = fmt.Sprint(cell)
		}
		if at := strings.Index(strings.ToLower(text), want); at >= 0 {
			return columns[i], excerpt(text, at, len(want))
		}
		if first == "" && text != "" { // the database compares more loosely than we do
			first, firstText = columns[i], text
		}
	}
	return first, excerpt(firstText, 0, 0)
}

// excerpt is the text around a place in it.
func excerpt(text string, at, size int) string {
	const around = 60
	from, to := max(0, min(at, len(text))-around), min(len(text), at+size+around)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	s := strings.Join(strings.Fields(text[from:to]), " ")
	if from > 0 {
		s = "…" + s
	}
	if to < len(text) {
		s += "…"
	}
	return s
}

func showMatches(all []match) string {
	var b strings.Builder
	for _, m := range all {
		b.WriteString(m.Table + "." + m.Column)
		for _, k := range slices.Sorted(maps.Keys(m.Key)) {
			fmt.Fprintf(&b, " %s=%v", k, m.Key[k])
		}
		b.WriteString(": " + m.Excerpt + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
