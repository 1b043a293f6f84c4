package doctext

import (
	"encoding/csv"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func rowsOf(t *testing.T, from io.Reader) (rows [][]string) {
	t.Helper()
	c := csv.NewReader(from)
	c.FieldsPerRecord, c.LazyQuotes = -1, true
	for {
		cells, err := c.Read()
		if err != nil {
			return rows
		}
		rows = append(rows, cells)
	}
}

// FuzzNarrowed holds that a table is read as it is, up to the cells that no row shows.
func FuzzNarrowed(f *testing.F) {
	for _, text := range []string{
		"a,b\n1,2\n", "\"a,b\",c\r\n\"x\ny\",z", "\"a\"\"b\",c", "\"a\" b,c\nd", "a\"b,\"c", "\"\"\"\",x\n", "\"\r\",a\n",
		strings.Repeat(",", maxCells+5) + "\n1,2", strings.Repeat(",", maxCells) + "\"a\nb\",c\n1,2\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want, got := rowsOf(t, strings.NewReader(text)), rowsOf(t, &narrowed{text: text, comma: ','})
		for i := range want {
			want[i] = want[i][:min(len(want[i]), maxCells)]
		}
		if !reflect.DeepEqual(got, want) && strings.ToValidUTF8(text, "") == text {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
	})
}

// A row of separators takes little more memory than it has text. It runs alone, because it
// counts what the process takes.
func TestWideRowTakesLittle(t *testing.T) {
	text := []byte(strings.Repeat(",", 4<<20))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Read(t.Context(), "a.csv", text, Limits{}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 64<<20 {
		t.Errorf("%d bytes were taken for a row of %d", taken, len(text))
	}
}
