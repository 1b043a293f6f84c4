package resulttext_test

import (
	"testing"

	"callgate/internal/resulttext"
	"callgate/tool"
)

func TestCutLine(t *testing.T) {
	t.Parallel()
	for want, cut := range map[string]*tool.Cut{
		"": nil,
		"[lines 1–2000 of 2500; continue with offset=2001]": {
			Unit: "lines", Last: 2000, Total: 2500, Next: "offset=2001"},
		"[lines 2001–2500 of 9000]": {Unit: "lines", First: 2001, Last: 2500, Total: 9000},
		"[the first 200 matches; there are more: narrow path or glob, or raise limit]": {
			Unit: "matches", Last: 200, Advice: "narrow path or glob, or raise limit"},
		"[the first 100 entries; there are more]": {Unit: "entries", Last: 100},
		"[lines 1001–2000; there are more: continue with offset=2001]": {
			Unit: "lines", First: 1001, Last: 2000, Next: "offset=2001"},
		"[matches 1–200 of 534; continue with offset=201, or narrow path]": {
			Unit: "matches", Last: 200, Total: 534, Next: "offset=201", Advice: "narrow path"},
		"[lines 1–300 and 2201–2500 of 2500; continue with offset=301]": {
			Unit: "lines", Last: 300, Tail: 2201, Total: 2500, Next: "offset=301"},
		"[line 1 of 2; continue with offset=2]": {Unit: "lines", Last: 1, Total: 2, Next: "offset=2"},
		"[entry 3 of 9]":                        {Unit: "entries", First: 3, Last: 3, Total: 9},
		"[match 4 of 9]":                        {Unit: "matches", First: 4, Last: 4, Total: 9},
		"[no lines of 12]":                      {Unit: "lines", First: 13, Last: 12, Total: 12},
	} {
		if got := resulttext.CutLine(cut, nil); got != want {
			t.Errorf("%+v: %s, want %s", cut, got, want)
		}
	}
}
