// Package searchwords reads the words of the block search: groups of synonyms, and
// requests that a tool answers.
//
//	search:
//	  synonyms:
//	    - [refund, reimburse]
//	  requests:
//	    desk.triage: [sort my tickets, trier mes tickets]
//
// Law: words come from the file alone. None is taken from the environment, since a
// search shows them.
package searchwords

import (
	"unicode/utf8"

	"callgate/internal/app/node"
	"callgate/tool"
)

// The limits of requests.
const (
	MaxRequests = 16  // for one tool
	MaxRequest  = 300 // characters
)

// Mentioner is told which modules and actions a file names, and where.
type Mentioner interface {
	Mention(r *node.Reader, path, module, action string, permits bool)
}

// Synonyms reads groups of words that mean the same.
func Synonyms(r *node.Reader, to *[][]string) node.Read {
	r = r.WithoutEnv()
	return func(e node.Entry) {
		const form = "write each group as a list of words that mean the same: - [refund, reimburse]"
		for _, in := range r.Items(e, "a list of groups", form) {
			var group []string
			r.Texts(&group, form)(in)
			if len(group) == 1 {
				r.Fail(in.At, form, "%s has one word, which needs no group", in.Name())
			}
			*to = append(*to, group)
		}
	}
}

// Requests reads what people say when they mean a tool, by the tool's name.
func Requests(r *node.Reader, names Mentioner, to *map[string][]string) node.Read {
	r = r.WithoutEnv()
	return func(e node.Entry) {
		const form = "write the tool's name and what people say: desk.triage: [sort my tickets]"
		*to = map[string][]string{}
		for _, in := range r.Entries(e, form) {
			module, action, err := tool.ParseDotted(in.Key)
			if err != nil || module == "" {
				r.Fail(in.KeyAt, "write it with its module, such as desk.triage", "%s is no tool's name", node.Quote(in.Key))
				continue
			}
			r.SetPosition(in.Path, in.KeyAt)
			names.Mention(r, in.Path, module, action, false)
			(*to)[in.Key] = requests(r, in, form)
		}
	}
}

func requests(r *node.Reader, e node.Entry, form string) []string {
	var list []string
	r.Texts(&list, form)(e)
	if len(list) > MaxRequests {
		r.Fail(e.At, "keep those that differ most", "%s has %d requests, and at most %d are read",
			e.Name(), len(list), MaxRequests)
	}
	for i, s := range list {
		if utf8.RuneCountInString(s) > MaxRequest {
			r.Fail(r.Nearest(e.Item(i)), "write it as people say it", "%s has more than %d characters", e.Item(i), MaxRequest)
		}
	}
	return list
}
