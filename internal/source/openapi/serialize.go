package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"callgate/tool"
)

// pair is a name and a value of a query, a cookie or a form, as they are sent.
type pair struct{ name, value string }

// escaper writes a text so that it is one value where it stands.
type escaper func(string) string

func plainText(s string) string { return s }

// escape percent-encodes everything but the characters that mean nothing in a URL.
func escape(s string) string {
	return strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
}

// escapeReserved lets the characters stand that have a meaning in URLs, except those that
// would end the query or begin another value.
func escapeReserved(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; strings.IndexByte(":/?@!$'()*,;[]", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteString(escape(s[i : i+1]))
		}
	}
	return b.String()
}

// scalar writes one value as text. An object or a list in the place of one is JSON.
func scalar(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return fmt.Sprint(v)
	case json.Number:
		return v.String()
	}
	data, _ := json.Marshal(v) // it came from JSON
	return string(data)
}

// parts are the members of a list, or the names and values of an object in order; neither
// for another value.
func parts(v any) (list []string, names []string) {
	switch v := v.(type) {
	case []any:
		list = []string{}
		for _, one := range v {
			list = append(list, scalar(one))
		}
	case map[string]any:
		list, names = []string{}, []string{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if v[name] != nil {
				names, list = append(names, name), append(list, scalar(v[name]))
			}
		}
	}
	return list, names
}

// joined writes a value as one text: the members of a list between separators, an object
// as name,value or name=value.
func joined(v any, separator string, explode bool, esc escaper) string {
	list, names := parts(v)
	if list == nil {
		return esc(scalar(v))
	}
	words := make([]string, 0, 2*len(list))
	for i, value := range list {
		switch {
		case names == nil:
			words = append(words, esc(value))
		case explode:
			words = append(words, esc(names[i])+"="+esc(value))
		default:
			words = append(words, esc(names[i]), esc(value))
		}
	}
	return strings.Join(words, separator)
}

// inPath writes the value of a parameter in a path: simple, label or matrix.
func (p *parameter) inPath(v any) (string, error) {
	if p.asJSON {
		return escape(jsonText(v)), nil
	}
	var out string
	list, names := parts(v)
	name := escape(p.name)
	switch {
	case p.style == "simple":
		out = joined(v, ",", p.explode, escape)
	case p.style == "label" && p.explode:
		out = "." + joined(v, ".", true, escape)
	case p.style == "label":
		out = "." + joined(v, ",", false, escape)
	case list == nil || !p.explode:
		out = ";" + name + "=" + joined(v, ",", false, escape)
	case names != nil:
		out = ";" + joined(v, ";", true, escape)
	default:
		for _, one := range list {
			out += ";" + name + "=" + escape(one)
		}
	}
	if strings.Trim(out, ".;,=") == "" || out == ";"+name+"=" {
		return "", fmt.Errorf("%s is empty, and is a part of the path", tool.Truncate(p.arg))
	}
	return out, nil
}

// inQuery writes the value of a parameter in a query or a cookie. What it returns is
// encoded.
func (p *parameter) inQuery(v any) []pair {
	esc := escape
	if p.reserved && p.in != "cookie" { // where ; and , begin another one
		esc = escapeReserved
	}
	name := escape(p.name)
	if p.asJSON {
		return []pair{{name, escape(jsonText(v))}}
	}
	list, names := parts(v)
	switch {
	case list == nil:
		return []pair{{name, esc(scalar(v))}}
	case p.style == "deepObject" && names != nil:
		return deep(name, v, esc)
	case p.explode && names != nil && p.style == "form":
		var all []pair
		for i := range names {
			all = append(all, pair{escape(names[i]), esc(list[i])})
		}
		return all
	case p.explode || p.style == "deepObject":
		var all []pair
		for _, one := range list {
			all = append(all, pair{name, esc(one)})
		}
		return all
	case len(list) == 0:
		return nil
	}
	separator := map[string]string{"spaceDelimited": "%20", "pipeDelimited": "%7C"}[p.style]
	if separator == "" {
		separator = ","
	}
	return []pair{{name, joined(v, separator, false, esc)}}
}

// deep writes an object as name[key]=value, and what is in it in the same way.
func deep(name string, v any, esc escaper) []pair {
	m, ok := v.(map[string]any)
	if !ok {
		if list, isList := v.([]any); isList {
			var all []pair
			for _, one := range list {
				all = append(all, pair{name, esc(scalar(one))})
			}
			return all
		}
		return []pair{{name, esc(scalar(v))}}
	}
	var all []pair
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if m[key] != nil {
			all = append(all, deep(name+"%5B"+escape(key)+"%5D", m[key], esc)...)
		}
	}
	return all
}

// inHeader writes the value of a parameter in a header.
func (p *parameter) inHeader(v any) string {
	if p.asJSON {
		return jsonText(v)
	}
	return joined(v, ",", p.explode, plainText)
}

func jsonText(v any) string {
	data, _ := json.Marshal(v) // it came from JSON
	return string(data)
}

// encodePairs writes the pairs of a query or a form.
func encodePairs(all []pair) string {
	words := make([]string, len(all))
	for i, p := range all {
		words[i] = p.name + "=" + p.value
	}
	return strings.Join(words, "&")
}

// formPairs writes the fields of a form: lists as repeated names, objects as JSON.
func formPairs(fields map[string]any) (all []pair) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch v := fields[name].(type) {
		case nil:
		case []any:
			for _, one := range v {
				all = append(all, pair{name, scalar(one)})
			}
		default:
			all = append(all, pair{name, scalar(v)})
		}
	}
	return all
}
