package consent

import (
	"slices"

	"callgate/internal/app"
	"callgate/internal/app/contract"
)

// Feature says what agents may do with a part of the kernel that an app turns on;
// empty where the user's own file does, or where it needs no consent.
func Feature(a *app.App, name string) string {
	project := a.OfProject()
	if project == nil || !slices.Contains(project.Features(), name) {
		return ""
	}
	switch name {
	case app.FeatureScheduler:
		return "let agents have calls made later, also when nobody is there, each judged by the rules of its time"
	case app.FeatureWatchers:
		return "let agents have calls made again and again, also when nobody is there, each judged by the rules of its time"
	case app.FeatureAgents:
		return "let agents start agents of their own, which work in the background with at most their rights, " +
			"and cost what their models do"
	}
	return ""
}

// AppCall says which other app agents may call; empty where the user's own file names it.
func AppCall(a *app.App, c contract.App) string {
	project := a.OfProject()
	if project == nil || !slices.Contains(project.Runtime.Contract.Apps, c) {
		return ""
	}
	return shown(a, "let agents call the app "+c.ID+" ("+beside(project, c.File)+
		"), which works for them with at most their rights, and costs what its models do")
}
