package database_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/tool"
)

// A table is looked at page by page, in an order; names are those of the table alone.
func TestBrowse(t *testing.T) {
	each(t, func(t *testing.T, f *fixture, k kind) {
		f.run("CREATE TABLE b (id " + k.Serial + ", name VARCHAR(20))")
		for _, name := range []string{"c", "a", "b"} {
			f.run("INSERT INTO b (name) VALUES (?)", name)
		}
		for name, c := range map[string]struct {
			in   args
			want []any
		}{
			"by the key":   {args{"table": "b", "columns": []any{"name"}}, []any{"c", "a", "b"}},
			"by a column":  {args{"table": "b", "columns": []any{"name"}, "order_by": "name"}, []any{"a", "b", "c"}},
			"downwards":    {args{"table": "b", "columns": []any{"name"}, "order_by": "name", "descending": true}, []any{"c", "b", "a"}},
			"a page":       {args{"table": "b", "columns": []any{"name"}, "limit": 1, "offset": 1}, []any{"a"}},
			"past the end": {args{"table": "b", "columns": []any{"name"}, "offset": 9}, nil},
		} {
			var got []any
			for _, row := range f.rows("browse", c.in).Rows {
				got = append(got, row[0])
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		if r := f.ok("browse", args{"table": "b", "limit": 2}); r.Cut == nil || r.Cut.Next != "offset=2" {
			t.Errorf("a page of which more follows: %+v", r.Cut)
		}
		f.fails("browse", args{"table": "b; DROP TABLE b"}, tool.NotFound, "")
		f.fails("browse", args{"table": "b", "order_by": "name; DROP TABLE b"}, tool.NotFound, "no column")
	})
}

// Rows become texts with ids that stay.
func TestExtractForIndex(t *testing.T) {
	each(t, func(t *testing.T, f *fixture, k kind) {
		f.run("CREATE TABLE e (id " + k.Serial + ", title VARCHAR(20), body VARCHAR(200))")
		f.run("CREATE TABLE keyless (word VARCHAR(20))")
		f.run("INSERT INTO e (title, body) VALUES (?, ?)", "bridge", "of stone: and | more")
		f.run("INSERT INTO e (title, body) VALUES (?, ?)", "river", nil)
		f.run("INSERT INTO keyless (word) VALUES (?)", "x")
		var got struct {
			Table string
			Items []struct{ ID, Text string }
			Next  int `json:"next_offset"`
		}
		read := func(in args) {
			t.Helper()
			got.Items, got.Next = nil, 0
			if err := json.Unmarshal(f.ok("extract_for_index", in).Data, &got); err != nil {
				t.Fatal(err)
			}
		}
		read(args{"table": "e", "limit": 1})
		if len(got.Items) != 1 || got.Items[0].ID != "e/1" || got.Next != 1 ||
			got.Items[0].Text != "id: 1\ntitle: bridge\nbody: of stone: and | more" {
			t.Errorf("the first page is %+v", got)
		}
		read(args{"table": "e", "columns": []any{"title", "body"}, "offset": 1})
		if len(got.Items) != 1 || got.Items[0].ID != "e/2" || got.Next != 0 || got.Items[0].Text != "title: river\nid: 2" {
			t.Errorf("the last page is %+v", got)
		}
		read(args{"table": "keyless"})
		if len(got.Items) != 1 || got.Items[0].ID != "keyless/row 1" {
			t.Errorf("without a key: %+v", got)
		}
		f.fails("extract_for_index", args{"table": "nothing"}, tool.NotFound, "")
		f.fails("extract_for_index", args{"table": "e", "columns": []any{"no"}}, tool.NotFound, "no column")
	})
}
