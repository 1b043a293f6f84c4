package doctext_test

import (
	"io"
	"strings"
	"testing"

	"callgate/internal/doctext"
)

// workbook is a workbook of one sheet.
func workbook(t testing.TB, shared, sheet io.Reader) []byte {
	t.Helper()
	return zipped(t, map[string]io.Reader{
		"xl/workbook.xml":            text(`<workbook><sheet name="a" id="r1"/></workbook>`),
		"xl/_rels/workbook.xml.rels": text(`<R><Relationship Id="r1" Target="s.xml"/></R>`),
		"xl/sharedStrings.xml":       shared,
		"xl/s.xml":                   sheet,
	})
}

// A shared text that many cells name is not written out for all of them.
func TestSharedTextManyTimes(t *testing.T) {
	t.Parallel()
	row := "<row>" + strings.Repeat(`<c t="s"><v>0</v></c>`, 60) + "</row>"
	for name, c := range map[string]struct {
		letters string
		rows    int // that come out; 0: none
	}{
		"words":    {"quay ", 2},
		"dividers": {"| ", 0},
		"unseen":   {"\u200b", 0},
	} {
		content := workbook(t,
			io.MultiReader(text("<sst><si><t>"), many(c.letters, 1<<20/6*6), text("</t></si></sst>")), text("<s>"+row+row+"</s>"))
		d, err := doctext.Read(t.Context(), "a.xlsx", content, doctext.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for _, s := range d.Sections {
			for _, b := range s.Blocks {
				if rows++; len(b.Text) > 64<<10 {
					t.Errorf("%s: a row of %d bytes", name, len(b.Text))
				}
			}
		}
		if rows != c.rows {
			t.Errorf("%s: %d rows, want %d; %q", name, rows, c.rows, d.Warnings)
		}
	}
}

// Rows that come to nothing cost their part of what is read.
func TestRowsOfDividers(t *testing.T) {
	t.Parallel()
	rows := strings.Repeat(`<row><c t="s"><v>0</v></c></row>`, 100)
	content := workbook(t, io.MultiReader(text("<sst><si><t>"), many("| ", 8<<10), text("</t></si></sst>")),
		text("<s>"+rows+`<row><c><v>7</v></c></row></s>`))
	d, err := doctext.Read(t.Context(), "a.xlsx", content, doctext.Limits{Text: 64 << 10})
	if err != nil || len(d.Sections) > 0 || len(d.Warnings) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
}

// A row of a table has its bound, too.
func TestLongRow(t *testing.T) {
	t.Parallel()
	d, err := doctext.Read(t.Context(), "a.csv", []byte(strings.Repeat("deck,", 100_000)), doctext.Limits{})
	if err != nil || len(d.Sections) != 1 || len(d.Sections[0].Blocks[0].Text) > 64<<10 {
		t.Error("the row is too long", err)
	}
}
