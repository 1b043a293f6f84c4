package binding

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	"callgate/tool"
)

// DestinationParam returns the parameter that an effect takes a destination from: where
// the call sends data beyond this machine. A tool declares it as host:{url|host}, for the
// address of a request, or as to:{recipient}, for any other text that says where to.
func DestinationParam(e tool.Effect) (param string, ok bool) {
	kind, rest, _ := strings.Cut(e.Resource, ":{")
	inside, after, closed := strings.Cut(rest, "}")
	param, form, _ := strings.Cut(inside, "|")
	ok = closed && after == "" && param != "" && (kind == "host" && form == hostForm || kind == "to" && form == "")
	return param, ok
}

// Destinations returns the parameters of a tool that name destinations.
func Destinations(t *tool.Tool) (params []string) {
	for _, e := range t.Runtime.Effects {
		if param, ok := DestinationParam(e); ok {
			params = append(params, param)
		}
	}
	return params
}

// DestinationEffects returns the destinations that the schema of a foreign tool shows:
// the parameters with texts that by their names are addresses. Such a tool can send data
// to wherever a model says, whatever its own name is.
func DestinationEffects(input json.RawMessage, mode tool.Mode) (effects []tool.Effect) {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(input, &schema) != nil {
		return nil
	}
	names := slices.Sorted(maps.Keys(schema.Properties))
	for _, name := range names {
		resource := destinationResource(name, schema.Properties)
		variant := func(other string) bool { return other != name && strings.EqualFold(other, name) }
		if resource == "" || strings.ContainsAny(name, "{}|") || slices.ContainsFunc(names, variant) ||
			!holdsText(schema.Properties[name]) {
			continue
		}
		effects = append(effects, tool.Effect{Resource: resource, Mode: mode})
	}
	return effects
}

// Words in the names of parameters that are addresses of the web, and those that say
// where to in another way.
var (
	urlWords = []string{"url", "urls", "uri", "uris", "href", "webhook", "webhooks", "callback"}
	toWords  = []string{"host", "hosts", "hostname", "hostnames", "endpoint", "endpoints", "recipient", "recipients"}
)

// destinationResource returns the resource of a parameter that is named like a
// destination, or "".
func destinationResource(name string, all map[string]json.RawMessage) string {
	words := nameWords(name)
	has := func(list []string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(list, word) })
	}
	switch {
	case has(urlWords):
		return "host:{" + name + "|" + hostForm + "}"
	case has(toWords):
		return "to:{" + name + "}"
	case slices.Equal(words, []string{"to"}) && all["from"] == nil && all["since"] == nil && all["start"] == nil:
		return "to:{" + name + "}" // and not the end of a range
	}
	return ""
}

// nameWords returns the words of a name: those of base_url, baseUrl and base-url are the
// same two.
func nameWords(name string) []string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 && !unicode.IsUpper(rune(name[i-1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// holdsText reports whether a property can be a text, or a list of texts, that is no
// date.
func holdsText(property json.RawMessage) bool {
	var schema struct {
		Type   any             `json:"type"`
		Format string          `json:"format"`
		Enum   json.RawMessage `json:"enum"`
	}
	if json.Unmarshal(property, &schema) != nil {
		return true // it is "true", or cannot be read
	}
	if strings.HasPrefix(schema.Format, "date") || schema.Format == "time" || len(schema.Enum) > 0 {
		return false
	}
	text := func(v any) bool { return v == "string" || v == "array" || v == "object" }
	switch t := schema.Type.(type) {
	case nil:
		return true
	case []any:
		return slices.ContainsFunc(t, text)
	default:
		return text(t)
	}
}
