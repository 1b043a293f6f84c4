package calls

import (
	"encoding/json"
	"fmt"
	"slices"

	"callgate/internal/gate/approval"
	"callgate/internal/visible"
	"callgate/tool"
)

// onlyOnce is the choice of a yes that does not last.
const onlyOnce = "once"

// rememberChoices are the ways in which a yes may last, as a form shows them; the
// first is that it does not.
func rememberChoices(r approval.Request) []string {
	list := []string{onlyOnce}
	for _, choice := range r.Choices {
		list = append(list, "from now on: "+visible.Text(choice.Text))
	}
	return list
}

// rememberField is the field of a form that asks whether a yes lasts, with a comma
// behind it; empty when it cannot.
func rememberField(r approval.Request) string {
	if len(r.Choices) == 0 {
		return ""
	}
	choices, _ := json.Marshal(rememberChoices(r))
	return fmt.Sprintf(`%q:{"type":"string","title":"How long the yes counts","enum":%s,"default":%q,`+
		`"description":"To take back what is kept: callgate grants revoke."},`, fieldRemember, choices, onlyOnce)
}

// remembered is the choice that a human made in the form; nil for once.
func (a *approver) remembered(field any) (*approval.Remember, error) {
	text, _ := field.(string)
	if text == "" || text == onlyOnce {
		return nil, nil
	}
	r, err := a.calls.Kernel.Approvals.Get(a.ctx, a.asked.Approval)
	if err != nil {
		return nil, err
	}
	number := slices.Index(rememberChoices(r), text)
	if number < 1 {
		return nil, tool.Errorf("mcpserver.approve", tool.Invalid, "%q is not one of the choices", tool.Truncate(text))
	}
	return &approval.Remember{Choice: number}, nil
}
