package rowset_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module/database/rowset"
)

func TestCells(t *testing.T) {
	for name, c := range map[string]struct {
		write      func(*rowset.Writer)
		json, text string
	}{
		"null":              {func(w *rowset.Writer) { w.Null() }, `null`, `NULL`},
		"int":               {func(w *rowset.Writer) { w.Int(math.MaxInt64) }, `9223372036854775807`, `9223372036854775807`},
		"float":             {func(w *rowset.Writer) { w.Float(0.1) }, `0.1`, `0.1`},
		"large float":       {func(w *rowset.Writer) { w.Float(1e300) }, `1e+300`, `1e+300`},
		"not a number":      {func(w *rowset.Writer) { w.Float(math.NaN()) }, `"NaN"`, `NaN`},
		"bool":              {func(w *rowset.Writer) { w.Bool(true) }, `true`, `true`},
		"number":            {func(w *rowset.Writer) { w.Number([]byte("18446744073709551615")) }, `18446744073709551615`, `18446744073709551615`},
		"number in words":   {func(w *rowset.Writer) { w.Number([]byte("Infinity")) }, `"Infinity"`, `Infinity`},
		"number with zeros": {func(w *rowset.Writer) { w.Number([]byte("007")) }, `"007"`, `007`},
		"exponent":          {func(w *rowset.Writer) { w.Number([]byte("1.5e-07")) }, `1.5e-07`, `1.5e-07`},
		"no number":         {func(w *rowset.Writer) { w.Number(nil) }, `""`, ``},
		"text":              {func(w *rowset.Writer) { w.Text("héllo \"w\"\n\t|\x01") }, `"héllo \"w\"\n\t|\u0001"`, `héllo "w"\n\t\|\x01`},
		"broken text":       {func(w *rowset.Writer) { w.Bytes([]byte("a\xffb")) }, `"a` + "\ufffd" + `b"`, "a\ufffdb"},
		"long text":         {func(w *rowset.Writer) { w.Text(strings.Repeat("é", 20)) }, `"` + strings.Repeat("é", 15) + `… (40 bytes in all)"`, strings.Repeat("é", 15) + `… (40 bytes in all)`},
		"time":              {func(w *rowset.Writer) { w.Time(time.Date(2024, 5, 1, 10, 0, 0, 5e8, time.UTC)) }, `"2024-05-01T10:00:00.5Z"`, `2024-05-01T10:00:00.5Z`},
		"stamp":             {func(w *rowset.Writer) { w.Stamp([]byte("2024-05-01 10:11:12.5+02")) }, `"2024-05-01T10:11:12.5+02:00"`, `2024-05-01T10:11:12.5+02:00`},
		"stamp, half hours": {func(w *rowset.Writer) { w.Stamp([]byte("2024-05-01 10:11:12+05:30")) }, `"2024-05-01T10:11:12+05:30"`, `2024-05-01T10:11:12+05:30`},
		"no stamp":          {func(w *rowset.Writer) { w.Stamp([]byte("infinity")) }, `"infinity"`, `infinity`},
		"json":              {func(w *rowset.Writer) { w.JSON([]byte(`{"a":[1]}`)) }, `{"a":[1]}`, `{"a":[1]}`},
		"no json":           {func(w *rowset.Writer) { w.JSON([]byte(`{`)) }, `"{"`, `{`},
		"blob":              {func(w *rowset.Writer) { w.Blob([]byte{1, 2}) }, `{"base64":"AQI=","bytes":2}`, `<2 bytes>`},
		"long blob":         {func(w *rowset.Writer) { w.Blob(make([]byte, 9)) }, `{"base64":"AAAAAA==","bytes":9,"clipped":true}`, `<9 bytes>`},
	} {
		w := rowset.New(rowset.Limits{Text: 31, Blob: 4})
		w.Columns([]rowset.Column{{Name: "x"}})
		if w.Next() != rowset.KeepRow {
			t.Fatal("no room for one row")
		}
		c.write(w)
		w.End()
		var got struct{ Rows [][]json.RawMessage }
		if err := json.Unmarshal(append(w.AppendJSON([]byte("{")), '}'), &got); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if g := string(got.Rows[0][0]); g != c.json || w.Table() != "x\n"+c.text {
			t.Errorf("%s: %s and %q, want %s and %q", name, g, w.Table(), c.json, "x\n"+c.text)
		}
	}
}

func fill(w *rowset.Writer, rows int) {
	w.Columns([]rowset.Column{{Name: "n", Type: "int"}, {Name: "s", Type: "text"}})
	for i := range rows {
		switch w.Next() {
		case rowset.Stop:
			return
		case rowset.KeepRow:
			w.Int(int64(i))
			w.Text("abc")
			w.End()
		}
	}
}

func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		limits    rowset.Limits
		rows      int
		want      string
		truncated bool
	}{
		"all":           {rowset.Limits{}, 2, `[[0,"abc"],[1,"abc"]]`, false},
		"none":          {rowset.Limits{}, 0, `[]`, false},
		"just":          {rowset.Limits{Rows: 2}, 2, `[[0,"abc"],[1,"abc"]]`, false},
		"rows":          {rowset.Limits{Rows: 2}, 3, `[[0,"abc"],[1,"abc"]]`, true},
		"offset":        {rowset.Limits{Rows: 1, Offset: 1}, 3, `[[1,"abc"]]`, true},
		"offset beyond": {rowset.Limits{Offset: 9}, 3, `[]`, false},
		"bytes":         {rowset.Limits{Bytes: 20}, 5, `[[0,"abc"],[1,"abc"]]`, true},
		"one too large": {rowset.Limits{Bytes: 1}, 2, `[[0,"abc"]]`, true},
	} {
		w := rowset.New(c.limits)
		fill(w, c.rows)
		var got struct {
			Rows      json.RawMessage
			Truncated bool
			Count     int `json:"row_count"`
		}
		if err := json.Unmarshal(append(w.AppendJSON([]byte("{")), '}'), &got); err != nil {
			t.Fatal(err)
		}
		if string(got.Rows) != c.want || got.Truncated != c.truncated || got.Count != w.Rows() || strings.Count(w.Table(), "\n") != w.Rows() {
			t.Errorf("%s: %+v %s", name, got, got.Rows)
		}
	}
}

func TestScan(t *testing.T) {
	w := rowset.New(rowset.Limits{})
	fill(w, 2)
	var got [][]any
	if err := w.Scan(func(cells []any) error { got = append(got, cells); return nil }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]any{{json.Number("0"), "abc"}, {json.Number("1"), "abc"}}, got); diff != "" {
		t.Error(diff)
	}
}

// Whatever a database holds, the JSON is JSON and says the same, and a row of
// the table is one line.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a|b", "\x00\n", "\xff", "é\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		w := rowset.New(rowset.Limits{})
		w.Columns([]rowset.Column{{Name: s}})
		w.Next()
		w.Text(s)
		w.End()
		w.Next()
		w.Number([]byte(s))
		w.End()
		w.Next()
		w.JSON([]byte(s))
		w.End()
		var got struct{ Rows [][]any }
		if err := json.Unmarshal(append(w.AppendJSON([]byte("{")), '}'), &got); err != nil {
			t.Fatal(err)
		}
		if want := strings.ToValidUTF8(s, "\ufffd"); utf8.ValidString(s) && len(s) < 1000 && got.Rows[0][0] != want {
			t.Fatalf("%q became %q", s, got.Rows[0][0])
		}
		if strings.Count(w.Table(), "\n") != 3 || !utf8.ValidString(w.Table()) {
			t.Fatalf("a table of four lines is %q", w.Table())
		}
	})
}

// A writer that is used again does not change what it gave away before.
func TestReset(t *testing.T) {
	w := rowset.New(rowset.Limits{Rows: 1})
	fill(w, 3)
	table, data := w.Table(), string(w.AppendJSON(nil))
	w.Reset(rowset.Limits{})
	if w.Rows() != 0 || w.Cut() || w.HasColumns() || w.Table() != "" {
		t.Errorf("it kept something: %q", w.Table())
	}
	fresh := rowset.New(rowset.Limits{})
	fill(w, 2)
	fill(fresh, 2)
	if w.Table() != fresh.Table() || string(w.AppendJSON(nil)) != string(fresh.AppendJSON(nil)) {
		t.Errorf("%q, want %q", w.Table(), fresh.Table())
	}
	if table != "n | s\n0 | abc" || !strings.Contains(data, `[[0,"abc"]]`) {
		t.Errorf("%q %s", table, data)
	}
}
