package consent

import (
	"slices"
	"strings"

	"callgate/internal/app"
	"callgate/internal/app/apis"
)

// API says which API an app makes tools of, by what document, and what it is sent; empty for one of
// the user's own file. A document that is a file is named by its digest: another one is asked for again.
func API(a *app.App, one apis.API) string {
	if one.FromUser {
		return ""
	}
	document := one.Document
	switch {
	case one.Digest != "":
		document = beside(a, one.Document) + named(one.Digest)
	case !one.IsRemote():
		return "" // there is no document, so there are no tools
	}
	text := "make tools of the API " + one.Name + ", as " + document + " describes it"
	if one.Server != "" {
		text += ", at " + one.Server
	}
	if secrets := one.Secrets(); len(secrets) > 0 {
		text += ", with the secret " + strings.Join(secrets, ", ")
	}
	return shown(a, text+privateText(one.PrivateHosts))
}

func apiLines(a *app.App) (lines []string) {
	for _, one := range a.APIs {
		lines = append(lines, API(a, one))
	}
	return lines
}

// APIs are the APIs of an app that a human accepted.
func (a Accepted) APIs(of *app.App) []apis.API {
	return slices.DeleteFunc(slices.Clone(of.APIs), func(one apis.API) bool { return !a.Has(API(of, one)) })
}
