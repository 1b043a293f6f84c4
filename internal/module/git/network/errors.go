package network

import (
	"strings"

	"callgate/internal/module/git/repo"
	"callgate/tool"
)

// failure explains why Git could not reach a remote, or was refused there.
func (r *remote) failure(op string, out *repo.Output, err error) error {
	if refused := r.proxy.Refused(r.url); refused != nil {
		return refused
	}
	if out == nil {
		return err
	}
	said := out.Log + out.Text
	for _, f := range failures {
		if strings.Contains(said, f.says) {
			message := strings.NewReplacer("{host}", r.url.Host, "{rejection}", rejection(said)).Replace(f.message)
			return &tool.Error{Op: op, Kind: f.kind, Message: message, Hint: f.hint}
		}
	}
	return repo.Failure(op, out)
}

const (
	hintSecret  = "the user can change the secret that tools.modules.git.credential names"
	hintAddress = "check the address of the remote; some hosts answer like this when the credential is missing"
)

// failures map what Git says of a remote to an error. {host} stands for the
// remote's host, {rejection} for its own words. The first entry that matches is
// used.
var failures = []struct {
	says, message string
	kind          tool.Kind
	hint          string
}{
	{"could not read Username", "{host} requires a login", tool.Denied,
		"the user can name a secret with a token in the app file: tools.modules.git.credential"},
	{"Authentication failed", "{host} does not accept the credential", tool.Denied, hintSecret},
	{"returned error: 401", "{host} does not accept the credential", tool.Denied, hintSecret},
	{"returned error: 403", "{host} does not permit this", tool.Denied, "the credential may lack the right to do this"},
	{"returned error: 404", "there is no such repository on {host}", tool.NotFound, hintAddress},
	{"not found in upstream", "the remote has no such branch", tool.NotFound, "clone without branch"},
	{"' not found", "there is no such repository on {host}", tool.NotFound, hintAddress},
	{"returned error: 30", "{host} says that the repository has moved", tool.Failed,
		"ask the user to give the remote its new address: redirects are not followed"},
	{"returned error: 50", "{host} could not be reached, or failed", tool.Unavailable,
		"check the address of the remote, and try again later"},
	{"couldn't find remote ref", "the remote has no such branch", tool.NotFound,
		"git.fetch without branch brings all of them"},
	{"[rejected]", "the remote has commits that are not here", tool.Conflict,
		"bring them with git.pull, or git.fetch and look, and push again"},
	{"[remote rejected]", "the remote refused the push: {rejection}", tool.Denied, "the branch may be protected there"},
	{"stale info", "the remote branch has moved since it was last fetched", tool.Conflict,
		"fetch and look at what is new before you push with force"},
}

// rejection returns the remote's own words about a push that it refused.
func rejection(said string) string {
	const mark = "[remote rejected]"
	for line := range strings.Lines(said) {
		if _, reason, found := strings.Cut(line, mark); found {
			return tool.Truncate(strings.TrimSpace(reason))
		}
	}
	return ""
}
