package page

import (
	"strings"
	"testing"
)

func TestNotes(t *testing.T) {
	var all notes
	all.add(Note{Kind: Dialog, Tab: "t_1", Text: strings.Repeat("long ", 1000)})
	all.add(Note{Kind: Popup, Tab: "t_2"})
	if mine := all.take("t_1"); len(mine) != 1 || mine[0].Kind != Dialog || len(mine[0].Text) > 1000 {
		t.Errorf("the notes of a tab are %+v", mine)
	}
	if mine := all.take("t_1"); len(mine) != 0 {
		t.Errorf("%+v is noted twice", mine)
	}
	for range 10 * maxNotes {
		all.add(Note{Kind: Chooser, Tab: "t_1"})
	}
	if every := all.take(""); len(every) != maxNotes || every[0].Tab != "t_2" {
		t.Errorf("%d notes are kept, the first of %s", len(every), every[0].Tab)
	}
}
