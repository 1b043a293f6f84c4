package database_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
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

// Pages after a key give each row once, though rows before it come and go.
func TestExtractAfter(t *testing.T) {
	each(t, func(t *testing.T, f *fixture, k kind) {
		f.run("CREATE TABLE p (shelf VARCHAR(20), place BIGINT, body VARCHAR(20), PRIMARY KEY (shelf, place))")
		for i, shelf := range []string{"a/1", "a/1", "b", "b", "ç"} {
			f.run("INSERT INTO p VALUES (?, ?, ?)", shelf, int64(9007199254740993)+int64(i), "x")
		}
		f.run("CREATE VIEW seen AS SELECT place, body FROM p")
		bytes := "VARBINARY(16)"
		if k.Name == "postgres" {
			bytes = "BYTEA"
		}
		f.run("CREATE TABLE b (id " + bytes + " PRIMARY KEY, body VARCHAR(20))")
		for i := range 3 {
			f.run("INSERT INTO b VALUES (?, ?)", args{"base64": base64.StdEncoding.EncodeToString([]byte{0xff, byte(i)})}, "y")
		}
		for table, want := range map[string]string{
			"p":    "[[a/1 9007199254740993] [a/1 9007199254740994] [b 9007199254740995] [b 9007199254740996] [ç 9007199254740997]]",
			"seen": "[[9007199254740993] [9007199254740994] [9007199254740995] [9007199254740996] [9007199254740997]]",
			"b":    "[[/wA=] [/wE=] [/wI=]]",
		} {
			var keys [][]string
			in := args{"table": table, "limit": 1}
			if table == "seen" {
				in["key"] = []any{"place"}
			}
			for range 10 {
				page := decode[struct {
					Items []struct {
						Key  []string
						Text string
					}
					After []any `json:"next_after"`
				}](t, f.ok("extract_for_index", in).Data)
				for _, item := range page.Items {
					keys = append(keys, item.Key)
					if strings.Contains(item.Text, "base64") {
						t.Errorf("%q", item.Text)
					}
				}
				if page.After == nil {
					break
				}
				in["after"] = page.After
			}
			if got := fmt.Sprint(keys); got != want {
				t.Errorf("%s: %s", table, got)
			}
		}
		f.fails("extract_for_index", args{"table": "p", "after": []any{1}}, tool.Invalid, "2 columns")
		f.fails("extract_for_index", args{"table": "p", "key": []any{"no"}}, tool.NotFound, "no column")
	})
}
