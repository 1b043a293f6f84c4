package apps

import (
	"context"
	"fmt"
	"slices"

	"callgate/internal/app/contract"
	"callgate/internal/app/inforce"
	"callgate/internal/kernel/consent"
	"callgate/internal/registry"
)

// Called is an app that agents may call, as far as it can be read.
type Called struct {
	contract.App
	Description string
	Input       string // its schema; "": a text
}

// Calls are the apps that agents may call: those that the app file names and a human accepted.
func (l *Loaded) Calls() (all []contract.App) {
	if l.App == nil {
		return nil
	}
	for _, c := range l.App.Runtime.Contract.Apps {
		if l.Accepted.Has(consent.AppCall(l.App, c)) {
			all = append(all, c)
		}
	}
	return all
}

// addCalled reads what the apps that agents may call say of themselves, and warns of those
// that cannot be read.
func (l *Loader) addCalled(ctx context.Context, loaded *Loaded) error {
	named := loaded.App.Runtime.Contract.Apps
	if len(named) == 0 {
		return nil
	}
	known, err := l.known(ctx, registry.Global)
	if err != nil {
		return err
	}
	for _, c := range named {
		a, err := loadFiles(l, inforce.Files{Project: c.File}, loaded.Workspace, known, true)
		if err != nil {
			loaded.warn(fmt.Sprintf("the app %s cannot be called: %v", c.ID, err))
			continue
		}
		if slices.Contains(loaded.Calls(), c) {
			one := Called{App: c, Description: a.Description, Input: string(a.Runtime.Contract.Input)}
			loaded.Called = append(loaded.Called, one)
		}
	}
	return nil
}
