// Package identity reads what an app file says of its app for people: who made it, what
// it looks like in a list, and what one may say to it first.
//
// Law: these words decide nothing. They are shown, on one line each, as the author wrote
// them, and a quick prompt is said only when a person chooses it.
package identity

import (
	"regexp"

	"callgate/internal/app/node"
)

// About is what a file says of its app.
type About struct {
	ShortName, Author, Icon, Color, Category string
	Tags                                     []string
	QuickPrompts                             []QuickPrompt
}

// QuickPrompt is something to say that people are offered.
type QuickPrompt struct{ Label, Message, Icon string }

const (
	promptLevel = "app.quick_prompts"
	maxPrompts  = 20
	maxTags     = 50
	maxMessage  = 4000 // bytes
)

var colorForm = regexp.MustCompile(`^(#[0-9A-Fa-f]{3}|#[0-9A-Fa-f]{6}|[a-z]{3,20})$`)

// Keys are the keys of the block app that are read here.
func Keys(r *node.Reader, to *About) map[string]node.Read {
	return map[string]node.Read{
		"short_name": r.Label(&to.ShortName),
		"author":     r.Label(&to.Author),
		"icon":       r.Label(&to.Icon),
		"category":   r.Label(&to.Category),
		"color": func(e node.Entry) {
			if r.Label(&to.Color)(e); to.Color != "" && !colorForm.MatchString(to.Color) {
				r.Fail(e.At, "write it as \"#3366cc\", in quotes, or by its name", "%s is %s, which is no color",
					e.Name(), node.Quote(to.Color))
			}
		},
		"tags": func(e node.Entry) {
			r.Texts(&to.Tags, "write each tag as a word, such as [files, review]")(e)
			if len(to.Tags) > maxTags {
				r.Fail(e.At, "keep the best", "%s has %d tags, of at most %d", e.Name(), len(to.Tags), maxTags)
			}
		},
		"quick_prompts": func(e node.Entry) { to.QuickPrompts = prompts(r, e) },
	}
}

// prompts reads what people are offered to say.
func prompts(r *node.Reader, e node.Entry) []QuickPrompt {
	const form = "write each as {label: Review, message: review the last change}"
	if e.IsNull() {
		return nil
	}
	var all []QuickPrompt
	for _, in := range r.Items(e, "a list of prompts", form) {
		var p QuickPrompt
		r.Mapping(promptLevel, in, map[string]node.Read{
			"label": r.Label(&p.Label), "message": r.TextInto(&p.Message), "icon": r.Label(&p.Icon),
		})
		switch {
		case p.Label == "" || p.Message == "":
			r.Fail(in.At, form, "%s needs a label and a message", in.Name())
		case len(p.Message) > maxMessage:
			r.Fail(in.At, "shorten it", "the message of %s is longer than %d bytes", in.Name(), maxMessage)
		default:
			all = append(all, p)
		}
	}
	if len(all) > maxPrompts {
		r.Fail(e.At, "keep the best", "%s has %d prompts, of at most %d", e.Name(), len(all), maxPrompts)
	}
	return all
}

// SchemaVersion reads the version of the file's form, of which there is one.
func SchemaVersion(r *node.Reader) node.Read {
	return func(e node.Entry) {
		if version, _ := e.Scalar(); version != "2" {
			r.Fail(e.At, "write schema_version: 2, or leave it out; an older file is brought to this form by hand",
				"schema_version is %s, and the form of this file is 2", node.Quote(version))
		}
	}
}
