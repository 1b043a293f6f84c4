// Package attachments is what users may put into their messages to an app (app.attachments),
// and how that is read and checked.
//
// Law: a kind is judged by what the data are, whatever they are called. An app that says
// nothing takes what its models take, as ever; one that says something has the limits here
// too. A kind that no message can carry is refused in the file, never ignored.
package attachments

import (
	"slices"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/app/node"
	"callgate/llm"
	"callgate/tool"
)

// The limits of an app that says what it takes.
const (
	MaxFiles   = 10
	MaxFile    = 10 << 20 // bytes
	MaxMessage = 25 << 20 // bytes of all of them
)

// image is the kind that a message can carry, and others are those that it cannot.
const image = "image"

var others = []string{"document", "audio", "video"}

// Rules are what an app takes. The zero value says nothing.
type Rules struct {
	Said  bool // the app says what it takes
	Image bool
}

// And returns what two files that are in force both take.
func (r Rules) And(o Rules) Rules {
	switch {
	case !r.Said:
		return o
	case !o.Said:
		return r
	}
	return Rules{Said: true, Image: r.Image && o.Image}
}

// Keys are the keys of the block app that are read here.
func Keys(r *node.Reader, to *Rules) map[string]node.Read {
	return map[string]node.Read{
		"attachments": func(e node.Entry) { read(r, e, to) },
		"attachments_mode": func(e node.Entry) {
			switch word, ok := r.Text(e); {
			case ok && word == "tool":
				r.Fail(e.At, "write direct, or leave it out; agents read files of the workspace by tool, where you name them",
					"%s tool is not built yet", e.Name())
			case ok && word != "direct":
				r.Fail(e.At, "write direct, or leave it out", "%s is %s", e.Name(), node.Quote(word))
			}
		},
	}
}

func read(r *node.Reader, e node.Entry, to *Rules) {
	const remedy = `write [image], [] for nothing, or "*" for all that a message can carry`
	if e.IsNull() {
		return
	}
	to.Said = true
	if !e.IsList() {
		if word, ok := r.Text(e); ok && word != "*" {
			r.Fail(e.At, remedy, "%s is %s", e.Name(), node.Quote(word))
		}
		to.Image = true
		return
	}
	for _, in := range r.Items(e, "a list of kinds", remedy) {
		switch kind, ok := r.Text(in); {
		case !ok:
		case kind == image:
			to.Image = true
		case slices.Contains(others, kind):
			r.Fail(in.At, "delete it for now; agents read files of the workspace by tool, where you name them",
				"no message can carry the kind %s yet", kind)
		default:
			r.Fail(in.At, remedy, "there is no kind %s", node.Quote(kind))
		}
	}
}

// Check says why a message is not one that the app takes.
func (r Rules) Check(m llm.Message) error {
	const op = "attachments.Check"
	files, total := 0, 0
	for _, p := range m.Parts {
		if p.Image == nil || !r.Said {
			continue
		}
		files++
		size := len(p.Image.Data)
		total += size
		switch {
		case !r.Image:
			return tool.Errorf(op, tool.Invalid, "the app takes no pictures").
				WithHint("its file says so (app.attachments); say in words what it should know")
		case !isPicture(string(p.Image.Data[:min(size, 16)])):
			return tool.Errorf(op, tool.Invalid, "attachment %d is called %s and is no picture",
				files, tool.TruncateTo(p.Image.MIME, 40)).WithHint("the app takes PNG, JPEG, GIF and WebP")
		case size > MaxFile:
			return tool.Errorf(op, tool.Invalid, "attachment %d has %s, and may have %s",
				files, amount.Bytes(int64(size)), amount.Bytes(MaxFile)).WithHint("make it smaller")
		}
	}
	switch {
	case files > MaxFiles:
		return tool.Errorf(op, tool.Invalid, "the message has %d attachments, and may have %d", files, MaxFiles).
			WithHint("send them in several messages")
	case total > MaxMessage:
		return tool.Errorf(op, tool.Invalid, "the attachments have %s together, and may have %s",
			amount.Bytes(int64(total)), amount.Bytes(MaxMessage)).WithHint("send them in several messages")
	}
	return nil
}

// isPicture reports whether data begin as those of a picture that models take.
func isPicture(head string) bool {
	for _, begin := range []string{"\x89PNG\r\n\x1a\n", "\xff\xd8\xff", "GIF87a", "GIF89a"} {
		if strings.HasPrefix(head, begin) {
			return true
		}
	}
	return strings.HasPrefix(head, "RIFF") && len(head) >= 12 && head[8:12] == "WEBP"
}
