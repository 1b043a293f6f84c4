package modelset

import (
	"context"
	"slices"
	"strings"

	"callgate/internal/app"
	"callgate/internal/module"
	"callgate/llm"
	"callgate/tool"
)

// Lender lends models to modules, for one call each: see module.Models.
type Lender struct {
	Opener *Opener
	// ModelsOf returns the app of a session and the models that it may use, its
	// agent's own first, and what checks that a human accepted where one of them is.
	ModelsOf func(session string) (a *app.App, models []*app.Model, check func(*app.Model) error, err error)
}

var (
	_ module.Models      = (*Lender)(nil)
	_ module.ModelLister = (*Lender)(nil)
)

// For returns a model for one call.
func (l *Lender) For(_ context.Context, call tool.Call, want module.Want) (llm.Model, error) {
	const op = "modelset.For"
	a, models, check, err := l.ModelsOf(call.Principal.Session)
	if err != nil {
		return nil, err
	}
	var reasons []string
	if want.Only {
		models = slices.DeleteFunc(slices.Clone(models), func(m *app.Model) bool {
			return rank(m, want.Prefer) == len(want.Prefer)
		})
	}
	for _, m := range preferred(models, want.Prefer) {
		name := m.Provider + "/" + m.Name
		if m.Provider == app.Offline {
			continue
		}
		if err := check(m); err != nil {
			return nil, err
		}
		model, at, err := l.Opener.dial(l.Opener.UseIn(a, call), m)
		info := l.Opener.infoOf(m, at)
		switch {
		case err != nil:
			reasons = append(reasons, name+": "+err.Error())
		case want.Window > 0 && info.Window > 0 && info.Window < want.Window:
			reasons = append(reasons, name+": its window is too small")
		case want.Images && !info.Images:
			reasons = append(reasons, name+": it is not known to read images")
		default:
			return model, nil
		}
	}
	e := tool.Errorf(op, tool.Unavailable, "no language model can be used for %s", call.Tool.Dotted())
	if len(reasons) == 0 {
		return nil, e.WithHint("give an agent of the app a brain in callgate.yaml")
	}
	return nil, e.WithHint("%s", strings.Join(reasons, "; "))
}

// preferred puts the models that are named first, in the order of the names.
func preferred(models []*app.Model, names []string) []*app.Model {
	sorted := slices.Clone(models)
	slices.SortStableFunc(sorted, func(a, b *app.Model) int { return rank(a, names) - rank(b, names) })
	return sorted
}

// rank is where a model is among names.
func rank(m *app.Model, names []string) int {
	for i, name := range names {
		if name == m.Name || name == m.Provider+"/"+m.Name {
			return i
		}
	}
	return len(names)
}

// List returns the models that may be lent, each once.
func (l *Lender) List(_ context.Context, call tool.Call) ([]module.ModelInfo, error) {
	_, models, check, err := l.ModelsOf(call.Principal.Session)
	if err != nil {
		return nil, err
	}
	list := []module.ModelInfo{}
	for _, m := range models {
		info, err := l.Opener.Describe(m)
		if err != nil || m.Provider == app.Offline {
			continue // it could not be asked either
		}
		one := module.ModelInfo{
			Provider: m.Provider, Name: m.Name, Window: info.Window, Images: info.Images, NativeTools: info.NativeTools,
			Accepted: check(m) == nil,
		}
		if !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	return list, nil
}
