// Package service describes Callgate as a service of its user: the file that systemd or
// launchd reads, and how each is told about it.
//
// # Law
//
// A file is made from a Spec alone: the same Spec gives the same bytes, whatever machine
// makes them. Its first lines hold the Spec, so that what a file says can be read back,
// and a file that somebody changed is known by its bytes. A path stands in the file as it
// is on disk: with blanks, quotes, percent and dollar signs. One that no line can hold is
// refused.
//
// A service is one user's, never the machine's, and runs `callgate up` on one state
// directory. It is started again when it fails, and not when it was ended.
package service

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"callgate/tool"
)

// Spec is what a service file is made from.
type Spec struct {
	Name    string     `json:"name"`          // of the service, as its manager knows it
	Program string     `json:"program"`       // the callgate to run
	State   string     `json:"state"`         // its state directory
	Env     []Variable `json:"env,omitempty"` // what it needs of the user's environment
}

// Variable is a variable of the environment.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// BaseName is the name of the service of the user's usual state directory.
const BaseName = "callgate"

// NameFor is the name of the service of a state directory: each has one of its own.
func NameFor(state, usual string) string {
	if state == usual {
		return BaseName
	}
	sum := sha256.Sum256([]byte(state))
	return BaseName + "-" + hex.EncodeToString(sum[:4])
}

// check refuses what a service file cannot hold.
func (s Spec) check() error {
	for _, path := range []string{s.Program, s.State} {
		if !filepath.IsAbs(path) {
			return tool.Errorf("service.Spec", tool.Invalid, "%q is no absolute path", tool.Truncate(path))
		}
	}
	words := []string{s.Name, s.Program, s.State}
	for _, v := range s.Env {
		words = append(words, v.Name, v.Value)
	}
	for _, word := range words {
		if !utf8.ValidString(word) || strings.ContainsFunc(word, unicode.IsControl) {
			return tool.Errorf("service.Spec", tool.Invalid, "a service file cannot hold %q", tool.Truncate(word)).
				WithHint("it has a control character, or is no UTF-8: give that file or folder another name")
		}
	}
	return nil
}

// mark begins the comment that holds the Spec.
const mark = "callgate service "

// header is the Spec in a line that can stand in any comment: XML has no two hyphens in
// one.
func (s Spec) header() (string, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	return mark + strings.ReplaceAll(string(data), "-", `\u002d`), nil
}

// maxFile bounds a service file that is read.
const maxFile = 64 << 10

// Read finds the Spec in a service file. ok is false for a file that Callgate did not
// make.
func Read(file []byte) (s Spec, ok bool) {
	if len(file) > maxFile {
		return Spec{}, false
	}
	at := bytes.Index(file, []byte(mark+"{"))
	if at < 0 {
		return Spec{}, false
	}
	line, _, _ := bytes.Cut(file[at+len(mark):], []byte("\n"))
	line = bytes.TrimSuffix(bytes.TrimSpace(line), []byte("-->"))
	if json.Unmarshal(line, &s) != nil || s.Name == "" || s.check() != nil {
		return Spec{}, false
	}
	return s, true
}
