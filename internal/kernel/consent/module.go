package consent

import (
	"encoding/json"
	"slices"
	"strings"

	"callgate/internal/app"
	"callgate/internal/secret/scope"
)

// Module says what an app gives to a module that is the user's to give: secrets,
// variables of the environment, the network, files outside the workspace, private
// addresses, an endpoint. It is empty when it gives nothing of that.
func Module(a *app.App, m app.Module) string {
	if m.FromUser {
		return ""
	}
	var given []string
	if names := secretNames(m); len(names) > 0 {
		given = append(given, "the secret "+strings.Join(names, ", "))
	}
	if len(m.Env) > 0 {
		given = append(given, "the variable "+strings.Join(m.Env, ", "))
	}
	given = append(given, networkText(m.Config["network"])...)
	for _, wide := range widening(m) {
		if value := wide.from[wide.key]; value != nil && value != false {
			given = append(given, wide.text) // what exactly stands in the config that is shown
		}
	}
	if keeps, said := m.Config["redact_secrets"].(bool); said && !keeps {
		given = append(given, "what looks like a secret, to keep")
	}
	if m.Replaces {
		given = append(given, "settings in the place of your own file's")
	}
	if len(given) == 0 {
		return ""
	}
	text := "give the module " + m.Name + " " + strings.Join(given, ", ")
	if m.Config != nil {
		text += " with config " + inJSON(m.Config)
	}
	if m.Constraints != nil {
		text += " with constraints " + inJSON(m.Constraints)
	}
	return shown(a, text)
}

// setting is a key of a module's block by which it is given something.
type setting struct {
	from map[string]any
	key  string
	text string
}

func widening(m app.Module) []setting {
	all := []setting{
		{m.Config, "env", "variables of the environment"},
		{m.Config, "readable", "files outside the workspace"},
		{m.Config, "endpoint", "an endpoint of its own"},
		{m.Config, "executable", "a program to run"},
		{m.Config, "unsandboxed", "a browser without any sandbox (a page that takes it over can do whatever Callgate can)"},
		{m.Constraints, "private_hosts", "private addresses"},
		{m.Constraints, "allow_force", "force, which loses work"},
		{m.Constraints, "allow_downgrade", "redirects that leave encryption"},
	}
	if m.Name == "workspace" {
		all = append(all, setting{m.Config, "auto_approve", "changes of files that wait for nobody"},
			setting{m.Config, "lint", "programs to run"})
	}
	if m.Name == "database" { // elsewhere it narrows
		all = append(all, setting{m.Constraints, "allowed_hosts", "servers of databases"})
	}
	if m.Name == "lsp" {
		all = append(all, setting{m.Config, "servers", "programs to run"})
	}
	return all
}

// inJSON writes a value for people: it came from a file, so it can be written.
func inJSON(value map[string]any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value)
	return strings.TrimSuffix(b.String(), "\n")
}

// secretNames are the secrets that a module's block names.
func secretNames(m app.Module) []string {
	var names []string
	if m.Credential != "" {
		names = append(names, scope.InWords(m.Credential, true))
	}
	for _, part := range strings.Split(inJSON(m.Config), "{{secret.")[1:] {
		name, _, _ := strings.Cut(part, "}}")
		names = append(names, name)
	}
	return slices.Compact(names)
}
