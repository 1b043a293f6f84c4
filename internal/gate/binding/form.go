package binding

import (
	"net/url"
	"strings"

	"callgate/tool"
)

// hostForm is the form of a placeholder that takes the host of a URL.
const hostForm = "host"

// inForm returns the part of each text that a placeholder's form asks for. A text
// that has no such part names nothing.
func inForm(form string, texts []string) ([]string, error) {
	switch form {
	case "":
		return texts, nil
	case hostForm:
		var hosts []string
		for _, text := range texts {
			if host := hostOf(text); host != "" {
				hosts = append(hosts, host)
			}
		}
		return hosts, nil
	default:
		return nil, tool.Errorf(op, tool.Internal, "the effect template has a placeholder of the form %q; only %q is known",
			tool.Truncate(form), hostForm)
	}
}

// hostOf returns the one name of a URL's host, and "" for none: without its port,
// since what answers at two ports of a host may be one program, without the dot of
// a full name, and without capitals.
func hostOf(text string) string {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return ""
	}
	return strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
}
