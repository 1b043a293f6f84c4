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
	type row = rowset.Row
	at := time.Date(2024, 5, 1, 10, 0, 0, 5e8, time.UTC)
	long := strings.Repeat("é", 15) + "… (40 bytes in all)"
	for name, c := range map[string]struct {
		write      func(*row)
		json, text string
	}{
		"null":              {func(r *row) { r.Null() }, `null`, `NULL`},
		"int":               {func(r *row) { r.Int(math.MaxInt64) }, `9223372036854775807`, `9223372036854775807`},
		"uint":              {func(r *row) { r.Uint(math.MaxUint64) }, `18446744073709551615`, `18446744073709551615`},
		"float":             {func(r *row) { r.Float(0.1) }, `0.1`, `0.1`},
		"single precision":  {func(r *row) { r.Float32(0.1) }, `0.1`, `0.1`},
		"large float":       {func(r *row) { r.Float(1e300) }, `1e+300`, `1e+300`},
		"not a number":      {func(r *row) { r.Float(math.NaN()) }, `"NaN"`, `NaN`},
		"bool":              {func(r *row) { r.Bool(true) }, `true`, `true`},
		"number":            {func(r *row) { r.Number([]byte("-18446744073709551615")) }, `-18446744073709551615`, `-18446744073709551615`},
		"number in words":   {func(r *row) { r.Number([]byte("Infinity")) }, `"Infinity"`, `Infinity`},
		"number with zeros": {func(r *row) { r.Number([]byte("007")) }, `"007"`, `007`},
		"exponent":          {func(r *row) { r.Number([]byte("1.5e-07")) }, `1.5e-07`, `1.5e-07`},
		"no number":         {func(r *row) { r.Number(nil) }, `""`, ``},
		"text": {
			func(r *row) { r.Text("héllo \"w\"\n\t|\x01") },
			`"héllo \"w\"\n\t|\u0001"`, `héllo "w"\n\t\|\x01`,
		},
		"broken text": {func(r *row) { r.Bytes([]byte("a\xffb")) }, `"a` + "\ufffd" + `b"`, "a\ufffdb"},
		"long text":   {func(r *row) { r.Text(strings.Repeat("é", 20)) }, `"` + long + `"`, long},
		"time":        {func(r *row) { r.Time(at) }, `"2024-05-01T10:00:00.5Z"`, `2024-05-01T10:00:00.5Z`},
		"stamp": {
			func(r *row) { r.Stamp([]byte("2024-05-01 10:11:12.5+02")) },
			`"2024-05-01T10:11:12.5+02:00"`, `2024-05-01T10:11:12.5+02:00`,
		},
		"stamp, half hours": {
			func(r *row) { r.Stamp([]byte("2024-05-01 10:11:12+05:30")) },
			`"2024-05-01T10:11:12+05:30"`, `2024-05-01T10:11:12+05:30`,
		},
		"no stamp":  {func(r *row) { r.Stamp([]byte("infinity")) }, `"infinity"`, `infinity`},
		"json":      {func(r *row) { r.JSON([]byte(`{"a":[1]}`)) }, `{"a":[1]}`, `{"a":[1]}`},
		"no json":   {func(r *row) { r.JSON([]byte(`{`)) }, `"{"`, `{`},
		"blob":      {func(r *row) { r.Blob([]byte{1, 2}) }, `{"base64":"AQI=","bytes":2}`, `<2 bytes>`},
		"one byte":  {func(r *row) { r.Blob([]byte{1}) }, `{"base64":"AQ==","bytes":1}`, `<1 byte>`},
		"long blob": {func(r *row) { r.Blob(make([]byte, 9)) }, `{"base64":"AAAAAA==","bytes":9,"clipped":true}`, `<9 bytes>`},
	} {
		w := rowset.New(rowset.Limits{Text: 31, Blob: 4})
		w.Columns([]rowset.Column{{Name: "x"}})
		if w.Next() != rowset.KeepRow {
			t.Fatal("the first row is not kept")
		}
		c.write(w.Row())
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
			w.Row().Int(int64(i))
			w.Row().Text("abc")
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
		if string(got.Rows) != c.want || got.Truncated != c.truncated || got.Count != w.Rows() ||
			strings.Count(w.Table(), "\n") != w.Rows() {
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

// For any text the JSON is valid and has the same text, and a row of the table
// is one line.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a|b", "\x00\n", "\xff", "é\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		w := rowset.New(rowset.Limits{})
		w.Columns([]rowset.Column{{Name: s}})
		w.Next()
		w.Row().Text(s)
		w.End()
		w.Next()
		w.Row().Number([]byte(s))
		w.End()
		w.Next()
		w.Row().JSON([]byte(s))
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

// A writer that is reused does not change what it returned before.
func TestReset(t *testing.T) {
	w := rowset.New(rowset.Limits{Rows: 1})
	fill(w, 3)
	table, data := w.Table(), string(w.AppendJSON(nil))
	w.Reset(rowset.Limits{})
	if w.Rows() != 0 || w.Cut() || w.HasColumns() || w.Table() != "" {
		t.Errorf("a reset writer holds %q", w.Table())
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
