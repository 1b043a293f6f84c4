package consent

import (
	"fmt"
	"slices"
	"strings"

	"callgate/internal/app"
	"callgate/internal/app/apis"
	"callgate/internal/secret/scope"
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
	text += atText(one)
	secrets := one.Secrets()
	for i, ref := range secrets {
		secrets[i] = scope.InWords(ref, true)
	}
	if len(secrets) > 0 {
		text += ", with the secret " + strings.Join(secrets, ", ")
	}
	return shown(a, text+privateText(one.PrivateHosts))
}

// atText says where the operations of an API are sent: as the app file says, or as the document does. One of the
// network is not asked for before a human accepted it, so nobody knows yet which hosts it names.
func atText(one apis.API) string {
	const most = 10
	switch n := len(one.Hosts); {
	case one.Server != "":
		return ", at " + one.Server
	case one.IsRemote():
		return ", at whatever servers it names"
	case n > most:
		return fmt.Sprintf(", at the servers that it names: %s and %d more", strings.Join(one.Hosts[:most], ", "), n-most)
	case n > 0:
		return ", at the servers that it names: " + strings.Join(one.Hosts, ", ")
	}
	return "" // it cannot be read, so there are no tools
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
