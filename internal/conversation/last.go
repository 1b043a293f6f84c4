package conversation

import (
	"context"

	"callgate/internal/app"
	"callgate/tool"
)

// last returns the ID of the conversation that was last touched of those that a spec
// would begin: in its folder, with its app, and with its agent if it names one. The work
// of a core lane is no conversation of the user's, nor is one in which nothing was said.
func (m *Manager) last(ctx context.Context, spec Spec) (string, error) {
	workspace, appFile, err := m.Apps.Workdir(ctx, spec.Workspace, spec.AppFile, spec.Named)
	if err != nil {
		return "", err
	}
	loaded, err := m.Apps.Load(ctx, workspace, appFile)
	if err != nil {
		return "", err
	}
	list, err := m.Store.List(ctx, 0)
	if err != nil {
		return "", err
	}
	for _, info := range list {
		if info.Workspace == loaded.Workspace && info.AppFile == loaded.AppFile() && info.Turns > 0 &&
			info.Lane != app.CoreLane && info.Parent == "" && (spec.Agent == "" || spec.Agent == info.Agent) {
			return info.ID, nil
		}
	}
	return "", tool.Errorf("conversation.Open", tool.NotFound, "there is no conversation in %s to go on with",
		loaded.Workspace).WithHint("begin one; callgate sessions list shows those of other folders")
}
