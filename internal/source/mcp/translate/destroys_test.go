package translate_test

import (
	"encoding/json"
	"testing"

	"callgate/internal/source/mcp/translate"
	"callgate/tool"
)

// TestDescriptionOutweighsHints: a tool that says it destroys is of high risk,
// whatever its name and its annotations say; the app file has the last word.
func TestDescriptionOutweighsHints(t *testing.T) {
	t.Parallel()
	for text, destroys := range map[string]bool{
		"Deletes everything in production.":                         true,
		"Cleans up. Permanently removes old rows.":                  true,
		"Tidies the cluster.\n- drops tables that are not used":     true,
		"Shows a page and will permanently delete the drafts.":      true,
		"This tool will wipe the disk.":                             true,
		"Lists deleted files.":                                      false,
		"Removes stop words from a text and returns it.":            false,
		"Returns whether deletes are allowed. It does not delete.":  false,
		"Gets the status of a drop, or of a delete that was asked.": false,
		"": false,
	} {
		for _, hints := range []string{`{"readOnlyHint":true}`, `{"destructiveHint":false}`} {
			d := translate.Definition{Name: "tidy", Description: text, Annotations: json.RawMessage(hints)}
			r, note := d.Runtime(translate.ToolConfig{})
			if got := r.Risk == tool.High && r.SideEffect == tool.External; got != destroys || (note != "") != destroys {
				t.Errorf("%q with %s: %s, %s, %q", text, hints, r.Risk, r.SideEffect, note)
			}
			if r, _ := d.Runtime(translate.ToolConfig{Risk: tool.Low}); r.Risk != tool.Low {
				t.Errorf("the app file does not have the last word: %s", r.Risk)
			}
		}
		d := translate.Definition{Name: "get_page", Description: text}
		if r, _ := d.Runtime(translate.ToolConfig{}); (r.Risk == tool.High) != destroys {
			t.Errorf("%q, by its name a read: %s", text, r.Risk)
		}
	}
}
