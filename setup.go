package callgate

import (
	"context"
	"encoding/json"
	"fmt"

	"callgate/internal/arbiter"
	"callgate/tool"
)

// setUp makes the calls that an app's modules ask for when a session opens. The
// kernel makes them itself: what is hidden from models or would wait for a
// human is not hidden from it, and what is denied is denied. A step that fails
// is told to the session's user, and the rest goes on.
func (s *Session) setUp(ctx context.Context) {
	door := *s.door
	door.Principal.Daemon, door.Ran = true, nil
	for _, m := range s.App.Modules {
		for _, step := range m.Setup {
			name := m.Name + "." + step.Action
			args, err := json.Marshal(step.Params)
			if err == nil {
				expanded, fail := s.kernel.secrets.Expand(string(args))
				args, err = json.RawMessage(expanded), fail
			}
			var r *tool.Result
			if err == nil {
				r = s.kernel.door.Call(ctx, &door, arbiter.Ask{Name: name, Args: args})
				err = r.Err()
			}
			if err != nil {
				s.Warnings = append(s.Warnings, fmt.Sprintf("the setup step %s failed: %v", name, err))
			}
		}
	}
}
