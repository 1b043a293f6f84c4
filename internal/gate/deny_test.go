package gate_test

import (
	"strings"
	"testing"

	"callgate/internal/gate"
	"callgate/internal/gate/policy"
	"callgate/internal/journal"
	"callgate/tool"
)

// TestDenyKeepsItsReason calls a denied tool by all of its names: each is refused
// with the rule's reason, and on record as the tool that was meant.
func TestDenyKeepsItsReason(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	notes := h.add(t, "notes:wipe_all@1.0.0", anyObject, reads, says("never"))
	notes.Spec.Short, notes.Spec.Aliases = "Wipe", []string{"erase.notes"}
	h.add(t, "hidden:vanish@1.0.0", anyObject, reads, says("never")).Spec.Short = "Vanish"
	rules, err := policy.Compile(&policy.Capabilities{
		DefaultPolicy: "auto",
		HiddenModules: []string{"hidden"},
		Deny:          []policy.Entry{{Module: "notes", Reason: "notes are kept"}},
	}, nil)
	ok(t, err)
	h.rules.Policy = rules
	for _, name := range []string{
		"notes.wipe_all", "notes:wipe_all@1.0.0", "notes__wipe_all", "Wipe", "wipe", "erase.notes", "wipe_all", "WipeAll",
		"notes_wipe_all", "notes-wipe-all",
	} {
		r := h.call(t, name, `{}`)
		if r.Status != tool.Refused || !strings.Contains(r.Summary, "notes.wipe_all is not allowed: deny rule for notes.* in tools.capabilities: notes are kept") {
			t.Errorf("%s: %s %q", name, r.Status, r.Summary)
		}
		ok(t, h.Journal.Flush(t.Context()))
		records, err := h.Journal.Read(t.Context(), journal.Query{Call: r.Call})
		ok(t, err)
		if len(records) != 1 || records[0].Tool != "notes:wipe_all@1.0.0" || records[0].Ask.Verdict != journal.Refuse ||
			!strings.Contains(records[0].Ask.Reason, "notes are kept") {
			t.Errorf("%s: the journal has %+v", name, records)
		}
	}
	for _, name := range []string{"Vanish", "vanish", "hidden_vanish"} {
		if r := h.call(t, name, `{}`); r.Error == nil || r.Error.Kind != tool.NotFound {
			t.Errorf("%s, which is hidden: %s %q", name, r.Status, r.Summary)
		}
	}
}
