package llmprovider

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"callgate/internal/gate/argname"
	"callgate/internal/module"
	"callgate/tool"
)

// chatHandler is the handler of chat. It asks models of the app by their own names: a name that configure made is
// expanded before rules and humans see the call.
type chatHandler struct {
	tool.Handler
	providers *providers
}

var _ argname.Expander = chatHandler{}

// Expand puts the model and the defaults of a preset into the arguments that name it. What a call says itself stays.
// No name of a preset has a slash, and every model has one there.
func (c chatHandler) Expand(call tool.Call, args json.RawMessage) (json.RawMessage, string) {
	var given map[string]json.RawMessage
	var name string
	if json.Unmarshal(args, &given) != nil || json.Unmarshal(given["provider"], &name) != nil {
		return args, ""
	}
	one, ok := c.providers.get(call.Principal.Session, name)
	if !ok {
		return args, ""
	}
	one.Name = ""
	all, err := json.Marshal(one)
	defaults := map[string]json.RawMessage{}
	if err != nil || json.Unmarshal(all, &defaults) != nil {
		return args, ""
	}
	given["provider"] = defaults["model"]
	delete(defaults, "name")
	delete(defaults, "model")
	for param, value := range defaults {
		if _, said := given[param]; !said {
			given[param] = value
		}
	}
	expanded, err := json.Marshal(given)
	if err != nil {
		return args, ""
	}
	return expanded, fmt.Sprintf("provider: %s is %s here, with its defaults", name, one.Model)
}

// free refuses a name that the app has for a model or a provider, also one that is not asked here: a name for a model
// must not be read as another model.
func (p *providers) free(ctx context.Context, r request, name string) error {
	lister, ok := p.models.(module.ModelLister)
	if !ok {
		return nil
	}
	all, err := lister.List(ctx, r.call)
	for _, m := range all {
		if strings.EqualFold(name, m.Name) || strings.EqualFold(name, m.Provider) {
			return tool.Errorf(r.op, tool.Conflict, "%s is a model or a provider of the app", tool.Truncate(name)).
				WithHint("give it another name")
		}
	}
	return err
}
