// Package contract reads what an app takes and gives, and which other apps it calls.
//
// Law: an app calls the apps that its file names, and no others. A schema is a JSON Schema
// that can be used; one that cannot is a mistake of the file.
package contract

import (
	"encoding/json"
	"path/filepath"
	"regexp"

	"callgate/internal/app/node"
	"callgate/internal/gate/schema"
)

// Contract is what an app takes and gives, and which apps it calls.
type Contract struct {
	Input  json.RawMessage // the schema of what it is given; nil: any text
	Output json.RawMessage // the schema of what it gives; nil: any text
	// Payload is the schema of what its triggers bring it; nil: anything.
	Payload json.RawMessage
	Apps    []App // that it calls, in the file's order
}

// App is an app that another one calls.
type App struct {
	ID   string // by which it is called
	File string // its app file, absolute
}

// Level is where the apps are written.
const Level = "tools.apps"

var idForm = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)

const appForm = "write each app by its ID and its file, such as lint: ../lint/callgate.yaml"

// Apps reads the apps that an app in a folder calls.
func Apps(r *node.Reader, e node.Entry, folder string) (all []App) {
	for _, in := range r.Entries(e, appForm) {
		if !idForm.MatchString(in.Key) {
			r.Fail(in.KeyAt, "use lower-case letters, digits, - and _, at most 64", "%s cannot name an app", node.Quote(in.Key))
			continue
		}
		file, ok := r.WithoutEnv().Text(in)
		switch ext := filepath.Ext(file); {
		case !ok:
			continue
		case ext != ".yaml" && ext != ".yml":
			r.Fail(in.At, appForm, "%s is %s, and an app is a file that ends in .yaml", in.Name(), node.Quote(file))
			continue
		}
		if file = filepath.FromSlash(file); !filepath.IsAbs(file) {
			file = filepath.Join(folder, file)
		}
		all = append(all, App{ID: in.Key, File: filepath.Clean(file)})
	}
	return all
}

// Schema reads a JSON Schema.
func Schema(r *node.Reader, to *json.RawMessage) node.Read {
	const remedy = "write a JSON Schema, such as {type: object, properties: {path: {type: string}}, required: [path]}"
	return func(e node.Entry) {
		if !e.IsMapping() {
			r.TypeError(e, "a JSON Schema", remedy)
			return
		}
		raw, err := r.WithoutEnv().JSON(e)
		if err == nil {
			err = schema.Usable(raw)
		}
		if err != nil {
			r.Fail(e.At, remedy, "%s is no JSON Schema: %v", e.Name(), err)
			return
		}
		*to = raw
	}
}
