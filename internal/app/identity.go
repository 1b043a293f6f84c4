package app

import (
	"maps"
	"regexp"
	"strings"

	"callgate/internal/app/attachments"
	"callgate/internal/app/identity"
	"callgate/internal/app/node"
)

const maxID = 64

// readIdentity reads the block app: its identity, and what users may attach. It fills in the identity as it goes, since
// a later key may use {{app.id}}.
func readIdentity(r *node.Reader, to *Identity, takes *attachments.Rules, e node.Entry) {
	r = r.WithoutEnv() // other places write {{app.name}}
	keys := map[string]node.Read{
		"app_id":      readID(r, &to.ID),
		"name":        r.Label(&to.Name),
		"version":     r.Label(&to.Version),
		"description": r.TextInto(&to.Description),
	}
	maps.Copy(keys, identity.Keys(r, &to.About))
	maps.Copy(keys, attachments.Keys(r, takes))
	r.Mapping(levelApp, e, keys)
}

func readID(r *node.Reader, to *string) node.Read {
	return func(e node.Entry) {
		id, ok := r.Text(e)
		if !ok {
			return
		}
		if len(id) > maxID || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" ||
			id[0] == '-' || id[0] == '_' {
			r.Fail(e.At, "write app_id: "+Slug(id)+" and keep the text as the name",
				"app_id %s must be at most %d lower-case letters, digits, - and _", node.Quote(id), maxID)
			return
		}
		*to = id
	}
}

// Slug makes a name an app's ID: lower-case letters, digits, - and _.
func Slug(name string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(name) {
		switch {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= maxID {
			break
		}
	}
	if s := strings.Trim(b.String(), "-_"); s != "" {
		return s
	}
	return "app"
}

// nameForm is the form of an agent's id and of a skill's command.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
