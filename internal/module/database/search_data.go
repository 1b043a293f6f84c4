package database

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"callgate/internal/amount"
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
    "text": {"type": "string", "minLength": 1, "maxLength": 1000,
      "description": "What to look for, anywhere in a value; upper and lower case are the same."},
    "tables": {"type": "array", "items": {"type": "string"}, "maxItems": 200, "description": "Only these tables. Default: all, views not."},
    "columns": {"type": "array", "items": {"type": "string"}, "maxItems": 200,
      "description": "Only columns with these names. Default: all that hold text."},
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

func (s *service) searchDataTool() definition {
	return definition{
		Name: "search_data", Doc: searchDataDoc, Input: searchDataInput, Output: searchDataOutput,
		Examples: []tool.Example{
			module.Example("anywhere", `{"text": "ada@example.com"}`),
			module.Example("in two tables", `{"text": "refund", "tables": ["orders", "tickets"], "limit": 50}`),
		},
		Aliases: []string{
			"search_database", "find_in_database", "grep_database", "find a value in all tables",
			"which table contains a text", "full text search in tables",
			"chercher dans la base de données", "trouver une valeur", "rechercher un texte dans les tables",
		},
		Tags:    []string{"database", "sql", "search", "find", "text", "rows", "recherche", "base de données"},
		Runtime: reads(),
		Handler: handler(s, "search_data", searchData),
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
	ctx, done, conn, err := c.withConnection(ctx, in.connectionArgs)
	if err != nil {
		return nil, err
	}
	defer done()
	if in.Limit == 0 {
		in.Limit = 20
	}
	tables, err := in.tables(ctx, conn.Engine)
	if err != nil {
		return nil, withCause(ctx, err)
	}
	found := struct {
		Matches   []match `json:"matches"`
		Searched  int     `json:"tables_searched"`
		Truncated bool    `json:"truncated"`
	}{Matches: []match{}}
	for _, t := range tables {
		more, err := in.search(ctx, conn.Engine, t, in.Limit+1-len(found.Matches))
		if err != nil {
			if ctx.Err() != nil && found.Searched > 0 { // the matches so far are worth returning
				found.Truncated = true
				break
			}
			return nil, withCause(ctx, err)
		}
		found.Searched++
		if found.Matches = append(found.Matches, more...); len(found.Matches) > in.Limit {
			found.Matches, found.Truncated = found.Matches[:in.Limit], true
			break
		}
	}
	summary := fmt.Sprintf("%s%d of %s searched; %s", label(conn), found.Searched,
		amount.Of(len(tables), "table"), amount.Of(len(found.Matches), "match"))
	r, err := tool.OK(summary, found)
	if err == nil && len(found.Matches) > 0 {
		r.Content = []tool.Content{tool.Text(showMatches(found.Matches))}
	}
	if err == nil && len(found.Matches) == in.Limit && found.Truncated {
		r.Cut = &tool.Cut{Unit: "matches", Last: in.Limit, Advice: "raise limit, or name fewer tables"}
	}
	if left := len(tables) - found.Searched; err == nil && found.Truncated && left > 0 {
		r.Warnings = append(r.Warnings, amount.As(left, "table was", "tables were")+
			" not searched; name fewer tables, or give a larger limit or timeout_seconds")
	}
	return r, err
}

// searchTable is a table with the columns to search.
type searchTable struct {
	table   *catalog.Table
	columns []string
}

// tables returns the tables and columns to search.
func (in *searchArgs) tables(ctx context.Context, e engine.Engine) ([]searchTable, error) {
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
		tables = slices.DeleteFunc(all, (*catalog.Table).IsView)
	}
	var found []searchTable
	for _, t := range tables {
		s := searchTable{table: t}
		for _, c := range t.Columns {
			if in.wants(c) {
				s.columns = append(s.columns, c.Name)
			}
		}
		if len(s.columns) > 0 {
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		return nil, tool.Errorf("", tool.NotFound, "there is no such column, or none that holds text").
			WithHint("database.schema shows the tables and their columns")
	}
	return found, nil
}

// wants reports whether to search a column: one that the call names, or, where it
// names none, one that holds text. A column of SQLite may have no type and hold
// any value.
func (in *searchArgs) wants(c catalog.Column) bool {
	if len(in.Columns) > 0 {
		return slices.ContainsFunc(in.Columns, func(name string) bool { return strings.EqualFold(name, c.Name) })
	}
	kind := strings.ToLower(c.Type)
	textTypes := []string{"char", "text", "clob", "json", "enum", "uuid", "name", "xml"}
	return kind == "" || slices.ContainsFunc(textTypes, func(part string) bool { return strings.Contains(kind, part) })
}

// search searches one table, for at most n matches.
func (in *searchArgs) search(ctx context.Context, e engine.Engine, s searchTable, n int) ([]match, error) {
	d := e.Info().Dialect
	var list, tests []string
	for _, k := range s.table.PrimaryKey {
		list = append(list, d.Quote(k))
	}
	var args []any
	pattern := "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(in.Text) + "%"
	for _, c := range s.columns {
		column, like := d.Quote(c), " LIKE ? ESCAPE '!'"
		switch d {
		case sqltext.Postgres:
			column, like = column+"::text", " ILIKE $1 ESCAPE '!'"
		case sqltext.MySQL:
			column = "CONVERT(" + column + " USING utf8mb4)"
		}
		list, tests = append(list, column), append(tests, column+like)
		if d != sqltext.Postgres || len(args) == 0 {
			args = append(args, pattern)
		}
	}
	text := fmt.Sprintf("SELECT %s FROM %s WHERE %s LIMIT %d",
		strings.Join(list, ", "), s.table.Quoted(d), strings.Join(tests, " OR "), n)
	out := rowset.New(rowset.Limits{Rows: n, Bytes: 16 << 20, Text: 1 << 20})
	if err := e.Read(ctx, engine.Statement{SQL: text, Args: args}, out); err != nil {
		return nil, err
	}
	var found []match
	err := out.Scan(func(cells []any) error {
		m := match{Table: s.table.Ref()}
		for i, k := range s.table.PrimaryKey {
			if m.Key == nil {
				m.Key = map[string]any{}
			}
			m.Key[k] = cells[i]
		}
		m.Column, m.Excerpt = in.excerpt(s.columns, cells[len(s.table.PrimaryKey):])
		found = append(found, m)
		return nil
	})
	return found, err
}

// excerpt returns the column that matched and an excerpt of its text.
func (in *searchArgs) excerpt(columns []string, cells []any) (column, text string) {
	first, firstText := "", ""
	want := strings.ToLower(in.Text)
	for i, cell := range cells {
		text, ok := cell.(string)
		if !ok && cell != nil {
			text = fmt.Sprint(cell)
		}
		if at := strings.Index(strings.ToLower(text), want); at >= 0 {
			return columns[i], around(text, at, len(want))
		}
		if first == "" && text != "" { // the database may compare more loosely than this function
			first, firstText = columns[i], text
		}
	}
	return first, around(firstText, 0, 0)
}

// around returns the part of a text around size bytes at a position.
func around(text string, at, size int) string {
	const margin = 60
	from, to := max(0, min(at, len(text))-margin), min(len(text), at+size+margin)
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
