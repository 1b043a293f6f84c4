package servers

import (
	"strings"

	"callgate/internal/app/node"
	"callgate/internal/serverlock"
)

const lockForm = `write one tool on each line, such as write_file: ["file:{path}"], or off for no locks at all`

// locks reads what the calls of a server's tools lock: off, or lines with the name of
// a tool, or a pattern, and its locks.
func (b *block) locks(e node.Entry) []serverlock.Line {
	if text, ok := e.Scalar(); ok {
		if text != "off" {
			b.TypeError(e, "a mapping, or off", lockForm)
			return nil
		}
		return []serverlock.Line{{Tools: "*"}}
	}
	var lines []serverlock.Line
	for _, in := range b.Entries(e, lockForm) {
		lines = append(lines, serverlock.Line{Tools: in.Key, Locks: b.line(in)})
	}
	return lines
}

// line reads the locks of one line: one, or a list of them.
func (b *block) line(e node.Entry) []serverlock.Lock {
	const form = `write each lock as "file:{path}", or as {resource: "file:{path}", mode: X}`
	entries := []node.Entry{e}
	if _, one := e.Scalar(); !one {
		entries = b.Items(e, "a list of locks", form)
	}
	var list []serverlock.Lock
	for _, in := range entries {
		var l serverlock.Lock
		if _, short := in.Scalar(); short {
			l.Resource, _ = b.Text(in)
			b.resource(in, l.Resource)
		} else {
			b.longLock(in, &l, form)
		}
		list = append(list, l)
	}
	return list
}

// longLock reads a lock with its mode.
func (b *block) longLock(e node.Entry, l *serverlock.Lock, form string) {
	var mode string
	b.Mapping(levelLock, e, map[string]node.Read{
		"resource": func(in node.Entry) {
			l.Resource, _ = b.Text(in)
			b.resource(in, l.Resource)
		},
		"mode": b.Choice(&mode, "IS", "IX", "S", "U", "X"),
	})
	if l.Resource == "" {
		b.Fail(e.At, form, "%s has no resource", e.Name())
	}
	_ = l.Mode.UnmarshalText([]byte(mode)) // one of the five, or none
}

// resource reports a resource that no server can lock. One with a mode at its end is
// written as manifests of other programs write it.
func (b *block) resource(e node.Entry, resource string) {
	if resource == "" {
		return
	}
	if at := strings.LastIndexByte(resource, ':'); at > strings.IndexByte(resource, ':') {
		switch resource[at+1:] {
		case "IS", "IX", "S", "U", "X":
			b.Fail(e.At, "write {resource: \""+resource[:at]+"\", mode: "+resource[at+1:]+"}",
				"%s ends with a lock mode", e.Name())
			return
		}
	}
	if wrong, remedy := serverlock.Check(resource); wrong != "" {
		b.Fail(e.At, remedy, "%s: %s %s", e.Name(), node.Quote(resource), wrong)
	}
}
