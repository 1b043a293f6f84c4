package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"
)

// Brain is the model of the app: who is asked, and how.
type Brain struct {
	Provider string `json:"provider" yaml:"provider"`
	Model    string `json:"model,omitempty" yaml:"model,omitempty"`
	Native   *bool  `json:"native_tool_use,omitempty" yaml:"native_tool_use,omitempty"`
}

// ownRules reports whether a program reads a user's own app file, which needs no
// consent. An earlier one reads only the one it is given, and takes its rules as they
// stand.
func ownRules(ctx context.Context, binary string) (bool, error) {
	dir, err := os.MkdirTemp("", "callgate-bench-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	p := place{dir}
	if err := os.MkdirAll(p.workspace(), 0o755); err != nil {
		return false, err
	}
	if err := p.command(ctx, binary, p.env(), "version").Run(); err != nil {
		return false, fmt.Errorf("%s does not run: %w", binary, err)
	}
	return p.command(ctx, binary, p.env(), "app", "where").Run() == nil, nil
}

// writeApp writes the app of a task: its agent and its rules go into the user's own
// file where that is read, because nobody is there to accept them elsewhere.
func (t *Task) writeApp(p place, brain Brain, own bool) error {
	capabilities := map[string]any{"default_policy": "auto"}
	for k, v := range t.Capabilities {
		capabilities[k] = v
	}
	rt := map[string]any{"context": map[string]any{"max_tokens": 128_000}}
	for k, v := range t.Runtime {
		rt[k] = v
	}
	modules := map[string]any{"filesystem": nil, "shell": nil}
	app := map[string]any{
		"agents":  []any{map[string]any{"id": "main", "brain": brain}},
		"runtime": rt,
		"tools":   map[string]any{"modules": modules, "capabilities": capabilities},
	}
	project := app
	if own {
		if err := writeYAML(p.ownFile(), app); err != nil {
			return err
		}
		project = map[string]any{
			"app":   map[string]any{"app_id": "bench"},
			"tools": map[string]any{"modules": modules}, // only a project turns the others off
		}
	} else {
		app["app"] = map[string]any{"app_id": "bench"}
	}
	if t.Tools > 0 {
		if err := writeTools(filepath.Join(filepath.Dir(p.appFile()), "tools", "global"), t.Tools); err != nil {
			return err
		}
		project["tools"].(map[string]any)["dirs"] = []string{"tools"}
	}
	return writeYAML(p.appFile(), project)
}

func writeYAML(file string, value any) error {
	text, err := yaml.Marshal(value)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// noun and verb of the tools of a large catalog: what a company's systems offer.
var (
	nouns = [][2]string{
		{"invoice", "an invoice of a customer"}, {"contract", "a contract with a supplier"},
		{"employee", "the record of an employee"}, {"shipment", "a shipment to a customer"},
		{"ticket", "a support ticket"}, {"warehouse", "a warehouse and its stock"},
		{"campaign", "a marketing campaign"}, {"payment", "a payment that came in"},
		{"meeting", "a meeting in the calendar"}, {"vacation", "a vacation request"},
		{"vehicle", "a vehicle of the fleet"}, {"room", "a meeting room"},
		{"lead", "a sales lead"}, {"refund", "a refund to a customer"},
		{"certificate", "a TLS certificate"}, {"backup", "a backup of a database"},
		{"deployment", "a deployment of a service"}, {"incident", "an incident in production"},
		{"survey", "a survey among customers"}, {"newsletter", "a newsletter"},
		{"recipe", "a recipe of the canteen"}, {"badge", "a visitor's badge"},
		{"printer", "a printer"}, {"license", "a software license"},
		{"course", "a training course"},
	}
	verbs = [][2]string{
		{"create", "Creates"}, {"get", "Shows"}, {"list", "Lists"}, {"update", "Changes"}, {"delete", "Deletes"},
		{"archive", "Archives"}, {"export", "Exports"}, {"assign", "Assigns"}, {"approve", "Approves"},
		{"cancel", "Cancels"}, {"search", "Searches for"}, {"notify", "Tells people about"},
	}
)

// writeTools writes executables with manifests, n of them.
func writeTools(dir string, n int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	const program = "#!/bin/sh\necho '{\"ok\": true}'\n"
	for i := range min(n, len(nouns)*len(verbs)) {
		noun, verb := nouns[i%len(nouns)], verbs[i/len(nouns)]
		manifest, err := json.Marshal(map[string]any{
			"llm": map[string]any{
				"name":        noun[0] + "." + verb[0],
				"description": verb[1] + " " + noun[1] + ".",
				"parameters": map[string]any{"type": "object", "additionalProperties": false,
					"properties": map[string]any{
						noun[0] + "_name": map[string]any{"type": "string", "description": "Whose or which one."},
						"note":            map[string]any{"type": "string", "description": "What people should know."},
					},
					"required": []string{noun[0] + "_name"}},
			},
			"runtime": map[string]any{"side_effect": "none", "risk": "low", "idempotent": true},
		})
		if err != nil {
			return err
		}
		base := filepath.Join(dir, noun[0]+"_"+verb[0])
		if err := os.WriteFile(base+".json", manifest, 0o644); err != nil {
			return err
		}
		if err := os.WriteFile(base, []byte(program), 0o755); err != nil {
			return err
		}
	}
	return nil
}
