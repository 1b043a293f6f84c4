package signatures

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"callgate/internal/document"
	"callgate/internal/linediff"
	"callgate/internal/signing"
	"callgate/internal/visible"
	"callgate/tool"
)

// maxKept is how much of a content is kept to say later how another differs from it.
const maxKept = 256 << 10

// maxDiff is how many lines of a difference are shown.
const maxDiff = 40

// Content is something that must be signed, as it was loaded.
type Content struct {
	Place string // the app file, or the catalog, that it belongs to
	ID    string // what it is in that place: a tool, in its version
	// Tool is what it is in any version: in another folder, a file of the same name that holds it is
	// another version of it. "": it has no versions.
	Tool string
	File string // the name that its signature must be of
	// Folder is where the file is; "": the ID says it.
	Folder string
	Data   []byte
	// Signature is what stands beside it; empty: nothing does.
	Signature []byte
	// Program is the digest of the executable that its signature must name too, sha256:…; "": none.
	Program string
}

// acceptedContent is what was accepted last.
type acceptedContent struct {
	Time time.Time `json:"time"` // of the signature
	Key  string    `json:"key"`
	Text string    `json:"text,omitempty"` // "": it was too long
}

// Check reports why a content does not count as signed by one of the keys, as a *signing.Refusal, or
// keeps it as what was accepted last.
func (k *Keys) Check(ctx context.Context, c Content, keys []signing.Key) error {
	v, err := signing.Verify(c.File, c.Data, c.Signature, keys)
	if err == nil && v.Program != c.Program {
		err = signing.Refuse(signing.Other, "if the change is meant, have it signed again: callgate sign "+c.File,
			"the executable of %s is not the one that was signed with it", c.File)
	}
	data, failed := json.Marshal(acceptedContent{v.Time, v.Key.ID(), text(c)})
	if failed != nil {
		return failed
	}
	var latest acceptedContent
	var changes []document.Change
	stood := false // this content was accepted in this file before
	for _, r := range c.records() {
		last, version, failed := k.last(ctx, r.key)
		if failed != nil {
			return failed
		}
		same := version != 0 && last.Time.Equal(v.Time) && last.Text == text(c)
		stood = stood || r.ofFile && same
		if r.anywhere && stood && v.Time.Before(last.Time) {
			continue // it stands beside the newer one
		}
		if version != 0 {
			latest = last
			if err == nil {
				err = v.CheckNewer(last.Time)
			}
		}
		if !same {
			changes = append(changes, document.Change{Collection: accepted, Key: r.key, If: version, Data: data})
		}
	}
	if err != nil {
		return withDifference(err, latest, c)
	}
	if len(changes) == 0 {
		return nil
	}
	_, err = k.opt.Documents.Write(ctx, changes...)
	if tool.KindOf(err) == tool.Conflict {
		return k.Check(ctx, c, keys) // another session accepted one meanwhile
	}
	return err
}

// record is what was accepted last of something.
type record struct {
	key      string
	ofFile   bool // of one file in its folder
	anywhere bool // of a tool in the files of a name, whatever folder they are in
}

// records are what was accepted last as what a content is, in its file, and of its tool in a file of
// that name. An older version of a tool is another one, and is refused where the file held a newer
// one, and in another folder where none held it before.
func (c *Content) records() []record {
	all := []record{{key: document.Join(c.Place, c.ID)}}
	if c.Folder != "" {
		all = append(all, record{key: document.Join(c.Place, "file "+filepath.Join(c.Folder, c.File)), ofFile: true})
	}
	if c.Tool != "" {
		all = append(all, record{key: document.Join(c.Place, "tool "+c.Tool+" in "+c.File), anywhere: true})
	}
	return all
}

// last returns what was accepted last of something; version 0: nothing was.
func (k *Keys) last(ctx context.Context, key string) (a acceptedContent, version int64, err error) {
	d, err := k.opt.Documents.Get(ctx, accepted, key)
	switch {
	case tool.KindOf(err) == tool.NotFound:
		return a, 0, nil
	case err != nil:
		return a, 0, err
	}
	return a, d.Version, json.Unmarshal(d.Data, &a)
}

func text(c Content) string {
	if len(c.Data) > maxKept {
		return ""
	}
	return string(c.Data)
}

// withDifference says in a refusal how a content differs from what was accepted last.
func withDifference(err error, last acceptedContent, c Content) error {
	var r *signing.Refusal
	if !errors.As(err, &r) || last.Text == "" || last.Text == string(c.Data) || len(c.Data) > maxKept {
		return err
	}
	lines := linediff.Unified(last.Text, string(c.Data))
	var b strings.Builder
	for i, l := range lines {
		if i == maxDiff {
			b.WriteString("\n…")
			break
		}
		b.WriteString("\n" + visible.Text(tool.TruncateTo(l.String(), 200)))
	}
	said := *r.Err
	said.Message += "; it differs from what was accepted last:" + b.String()
	return &signing.Refusal{Reason: r.Reason, Err: &said}
}
