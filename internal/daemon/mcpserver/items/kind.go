package items

import (
	"net/url"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/kernel/servers"
	"callgate/tool"
)

// Scheme begins the addresses of the kernel's own resources.
const Scheme = "callgate://"

// serverPrefix begins the full address of a server's resource.
const serverPrefix = Scheme + "mcp/"

// separator stands between a server's name and the name of its prompt.
const separator = "__"

// Kind is a kind of items.
type Kind int

// The kinds.
const (
	Resources Kind = iota
	Prompts
	kinds
)

// Action is the kind's name in the rules of an app, and the name of the tool that
// reads its items.
func (k Kind) Action() string {
	if k == Prompts {
		return "prompts"
	}
	return "resources"
}

// NotFound is the error for a name that means no item.
func (k Kind) NotFound(name string) error {
	if k == Resources {
		return sdk.ResourceNotFoundError(name)
	}
	return tool.Errorf("mcpserver.prompt", tool.NotFound, "there is no prompt %q", tool.Truncate(name)).
		WithHint("list the prompts to see which there are")
}

// FullName is the name of an item with its server's, which always means it.
func (k Kind) FullName(server, name string) string {
	if k == Prompts {
		return server + separator + name
	}
	return serverPrefix + url.PathEscape(server) + "/" + name
}

// offeredBy reports whether a server is known to offer items of the kind.
func (k Kind) offeredBy(s servers.Server) bool {
	return s.Resources && k == Resources || s.Prompts && k == Prompts
}

// parseFullName splits the full name of an item of one of some servers.
func (k Kind) parseFullName(known []servers.Server, name string) (server, own string, ok bool) {
	for _, one := range known {
		if own, ok := strings.CutPrefix(name, k.FullName(one.Name, "")); ok && own != "" {
			return one.Name, own, true
		}
	}
	return "", "", false
}

// looksFull reports whether a server's own name could be taken for a full name.
func (k Kind) looksFull(servers []string, name string) bool {
	if k == Resources {
		return strings.HasPrefix(name, Scheme)
	}
	return slices.ContainsFunc(servers, func(server string) bool { return strings.HasPrefix(name, server+separator) })
}
