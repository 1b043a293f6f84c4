package app

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"callgate/internal/agent/surface"
	"callgate/internal/app/node"
	"callgate/internal/app/searchwords"
)

// Surface says how an agent is shown its tools.
type Surface struct {
	Mode          string   // direct, compact_direct or discovery; empty: by the budget
	Window        int      // tokens of the model's context; 0: not set
	DirectModules []string // shown whole in every mode
	Pinned        []string // tools shown whole in every mode
	Primitives    []string // the kernel's own tools beyond the five; nil: all
	// Builtin is which of the modules that are on an MCP client is given.
	Builtin surface.Builtin
}

// Search says how tools are found by meaning. The zero value is the built-in
// model.
type Search struct {
	Model    string // folder of a static model
	Endpoint Endpoint
	Synonyms [][]string
	// Requests are what people may say when they mean a tool, by its name. They belong to the
	// app's catalogs and not to an index, so they are not part of the key.
	Requests map[string][]string `json:"-"`
	FromUser bool                // it is in the user's own file, and needs no consent
	NoLearn  bool                `json:"-"` // nothing is learned from use, and what was is not used
}

// Endpoint is an embeddings API in the form of OpenAI's.
type Endpoint struct {
	URL        string
	Model      string
	Key        string // may refer to a secret
	Dimensions int
}

// Key is equal for apps that search in the same way.
func (s Search) Key() string {
	data, _ := json.Marshal(s) // of strings and numbers
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

// readSearch reads how tools are found by meaning.
func readSearch(r *node.Reader, names searchwords.Mentioner, e node.Entry) Search {
	s, learn := Search{}, true
	r.Mapping(levelSearch, e, map[string]node.Read{
		"model":    r.TextInto(&s.Model),
		"endpoint": func(in node.Entry) { s.Endpoint = readEndpoint(r.WithSecrets(), in) },
		"synonyms": searchwords.Synonyms(r, &s.Synonyms),
		"requests": searchwords.Requests(r, names, &s.Requests),
		"learn":    r.Boolean(&learn, "write false, and nothing is learned from what is searched and called"),
	})
	s.NoLearn = !learn
	if s.Model != "" && s.Endpoint.URL != "" {
		r.Fail(e.At, "keep one of the two", "search names a model and an endpoint, and only one can be asked")
	}
	return s
}

func readEndpoint(r *node.Reader, e node.Entry) Endpoint {
	var p Endpoint
	r.Mapping(levelEndpoint, e, map[string]node.Read{
		"url":        r.TextInto(&p.URL),
		"model":      r.TextInto(&p.Model),
		"key":        r.TextInto(&p.Key),
		"dimensions": r.Number(&p.Dimensions, 1, 65536, "write how many numbers a vector has, such as 768"),
	})
	if p.URL == "" || strings.Contains(p.URL, "{{") {
		r.Fail(e.At, "write url: and its address, such as http://127.0.0.1:11434",
			"search.endpoint has no url that can be used")
	}
	return p
}
