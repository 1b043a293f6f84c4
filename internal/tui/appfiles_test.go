package tui

import "testing"

// The chat says which app files are in force.
func TestAppFilesAreShown(t *testing.T) {
	t.Parallel()
	runChat(t, func(k *scriptedKernel, _ *Options) {
		k.about.AppFiles = []string{"./callgate.yaml", "~/.config/callgate/callgate.yaml"}
	}, func(h *harness) {
		h.wantShown("app: ./callgate.yaml, ~/.config/callgate/callgate.yaml")
	})
}
