package kernel

import (
	"context"
	"encoding/json"
	"fmt"

	"callgate/internal/gate"
)

// setUp makes the calls that an app's modules ask for when a session opens, once
// a human has accepted them. The kernel makes them itself: what is hidden from models or would wait for a
// human is not hidden from it, and what is denied is denied. A step that fails
// is told to the session's user, and the rest goes on.
func (s *Session) setUp(ctx context.Context) {
	if s.App == nil || !s.kernel.consented(s.App) || !s.enter() {
		return
	}
	defer s.leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.kernel.ctx, cancel)()
	door := *s.door
	door.Principal.Daemon, door.OnSuccess = true, nil
	for _, m := range s.App.Modules {
		for _, step := range m.Setup {
			name := m.Name + "." + step.Action
			params, err := s.kernel.withSecrets(step.Params)
			if err == nil {
				err = s.kernel.step(ctx, &door, name, params)
			}
			if err != nil {
				s.Warnings = append(s.Warnings, fmt.Sprintf("the setup step %s failed: %v", name, err))
			}
		}
	}
}

// step makes one call.
func (k *Kernel) step(ctx context.Context, door *gate.Caller, name string, params any) error {
	args, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return k.door.Call(ctx, door, gate.CallRequest{Name: name, Args: args}).Err()
}

// withSecrets puts the values of secrets in the place of their references, in
// every text of a value.
func (k *Kernel) withSecrets(value any) (any, error) {
	var err error
	switch v := value.(type) {
	case string:
		return k.secrets.Expand(v)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			if list[i], err = k.withSecrets(item); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, item := range v {
			if m[key], err = k.withSecrets(item); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	return value, nil
}
