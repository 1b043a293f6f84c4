package database_test

import (
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
