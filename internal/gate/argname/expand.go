package argname

import (
	"encoding/json"

	"callgate/internal/gate/schema"
	"callgate/tool"
)

// Expander is the handler of a tool whose arguments may name something that a session keeps and can change. Rules and
// humans judge what is behind the name, and the handler is given that: it never looks a name up itself.
type Expander interface {
	// Expand returns the arguments of a call with what they name written out, and a note that says so; an empty note:
	// they name nothing. Arguments that it returned name nothing.
	Expand(call tool.Call, args json.RawMessage) (expanded json.RawMessage, note string)
}

// Expand returns the arguments of a call as they are judged, shown and run, and how they were read. After a human was
// asked nothing is expanded: they approved what they saw, also where they wrote it themselves. Neither is it in the
// kernel's own calls, which nobody is asked about.
func Expand(t *tool.Tool, call tool.Call, checked schema.Checked, asked bool) (json.RawMessage, []string) {
	e, ok := t.Handler.(Expander)
	if !ok || asked || call.Principal.Daemon {
		return checked.Args, checked.Coercions
	}
	args, note := e.Expand(call, checked.Args)
	if note == "" {
		return checked.Args, checked.Coercions
	}
	return args, append(checked.Coercions, note)
}
