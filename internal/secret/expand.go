package secret

import (
	"strings"

	"callgate/internal/secret/scope"
	"callgate/tool"
)

// Expand puts values in the place of a text's references, {{secret.NAME}}. A
// secret that is not known is an error that names it; what was put in is
// scrubbed from then on.
func (v *Vault) Expand(text string) (string, error) {
	const open, shut = "{{secret.", "}}"
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, open)
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		name, after, closed := strings.Cut(rest, shut)
		if !closed {
			return "", tool.Errorf("secret.Expand", tool.Invalid, "a reference to a secret has no closing }}")
		}
		if scope.Parse(name).OfUser() {
			return "", tool.Errorf("secret.Expand", tool.Invalid, "a text cannot hold the secret %s, which each user has of "+
				"their own", tool.Truncate(name)).WithHint("write {{secret.NAME}}, which is everybody's, or name it as a credential")
		}
		values, err := v.Values([]string{name})
		if err != nil {
			return "", err
		}
		b.WriteString(values[name])
		text = after
	}
}
