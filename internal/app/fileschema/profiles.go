package fileschema

import (
	"maps"
	"slices"

	"callgate/internal/app"
)

func profilesBlock(known app.KnownModules) node {
	var actions []string
	for name := range known {
		for _, action := range known[name].Actions {
			actions = append(actions, name+"."+action)
		}
	}
	slices.Sort(actions)
	profile := block("profiles.<profile>",
		key{"modules", list(suggestions(slices.Sorted(maps.Keys(known))...)),
			"The modules that it gives, each whole unless actions names some of it."},
		key{"servers", list(text()), "The MCP servers that it gives, each whole unless actions names some of its tools."},
		key{"actions", list(suggestions(slices.Compact(actions)...)),
			"The actions that it gives, such as filesystem.read or mcp_github.get_issue."},
		key{"surface", enum("auto", "auto", "direct", "compact_direct", "discovery"),
			"How its tools are shown. Left out: as the app says."},
	)
	return named(profile.with("type", "object").with("minProperties", 1)).
		with("propertyNames", node{"pattern": "^[a-z0-9][a-z0-9_-]{0,39}$"})
}
