package fileschema

// node is a piece of JSON Schema.
type node map[string]any

// with adds a keyword, and returns the node.
func (n node) with(keyword string, value any) node {
	n[keyword] = value
	return n
}

// key is one key of a block, and what an editor says of it.
type key struct {
	name  string
	value node
	help  string
}

// block is a mapping whose keys are all known. One under which nothing is
// written is empty.
func block(path string, keys ...key) node {
	properties := node{}
	for _, k := range keys {
		title := k.name
		if path != "" {
			title = path + "." + k.name
		}
		properties[k.name] = k.value.with("title", title).with("description", k.help)
	}
	return node{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}
}

// needs makes keys of a block required, so that the block cannot be empty.
func needs(n node, keys ...string) node { return n.with("type", "object").with("required", keys) }

// ref refers to a block that several places use.
func ref(name string) node { return node{"$ref": "#/$defs/" + name} }

// variable is a text that holds a variable.
const variable = `\{\{`

// text is a text that is not empty.
func text() node { return node{"type": "string", "pattern": `\S`} }

// label is one short line.
func label() node { return text().with("maxLength", 200) }

// pattern is a text of a form.
func pattern(form string) node {
	return node{"type": "string", "pattern": "(" + form + ")|" + variable}
}

// enum is one of a few words, with a default or "".
func enum(otherwise string, all ...string) node {
	n := node{"anyOf": []node{{"enum": all}, {"type": "string", "pattern": variable}}}
	if otherwise != "" {
		n["default"] = otherwise
	}
	return n
}

// suggestions is any text, with some known ones for an editor to offer.
func suggestions(all ...string) node { return node{"anyOf": []node{{"enum": all}, text()}} }

func boolean(otherwise bool) node { return node{"type": "boolean", "default": otherwise} }

func integer(least, most int) node {
	return node{"type": "integer", "minimum": least, "maximum": most}
}

func number(least, most float64) node {
	return node{"type": "number", "minimum": least, "maximum": most}
}

// scalar is a text, a number, true or false.
func scalar() node { return node{"type": []string{"string", "number", "boolean"}} }

func list(of node) node { return node{"type": "array", "items": of} }

// named is a mapping whose keys are names.
func named(value node) node {
	return node{"type": []string{"object", "null"}, "additionalProperties": value}
}

// nullable lets a key have no value.
func nullable(n node) node { return n.with("type", []string{n["type"].(string), "null"}) }

// anyOf is one of several forms.
func anyOf(forms ...node) node { return node{"anyOf": forms} }
