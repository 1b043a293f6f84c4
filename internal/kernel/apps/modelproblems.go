package apps

import (
	"fmt"
	"slices"

	"callgate/internal/app"
	"callgate/internal/app/inforce"
	"callgate/internal/app/node"
	"callgate/internal/kernel/consent"
	"callgate/internal/provider"
)

// modelProblems says what is wrong with the models of an app, and with the limits of their providers.
func (l *Loader) modelProblems(a *app.App, files inforce.Files) (all []string) {
	known := provider.Names()
	for _, agent := range a.Agents {
		for _, m := range consent.Models(a, agent) {
			known = append(known, provider.CanonicalName(m.Provider))
			for _, text := range l.opt.Models.Problems(m) {
				all = append(all, fileOf(files, agent)+": "+text)
			}
		}
	}
	for _, name := range a.Providers.Names() {
		if !slices.Contains(known, provider.CanonicalName(name)) {
			all = append(all, fmt.Sprintf("providers: no model is of a provider called %q, so its limits limit nothing; %s",
				name, node.DidYouMean(name, known, "the providers are")))
		}
	}
	return all
}
