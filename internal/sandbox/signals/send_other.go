//go:build !unix

package signals

import "callgate/tool"

// Send sends a signal to a group of processes. This system has no signals.
func Send(_ int, text string) error {
	if _, err := Parse(text); err != nil {
		return err
	}
	return tool.Errorf("signals.Send", tool.Unavailable, "this system has no signals").
		WithHint("cancel the task instead")
}
