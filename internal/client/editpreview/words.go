package editpreview

import (
	"encoding/json"
	"strings"

	"callgate/internal/linediff"
	"callgate/internal/protocol"
)

// Words is what a call would make as a person reads it: of a mail who receives it, what it
// is about and what it says. It is nil for calls that are read well as arguments.
func Words(r protocol.Approval) []string {
	switch r.Call.Tool.Dotted() {
	case "email.send":
		return mailWords(r.Call.Args)
	}
	return nil
}

// wordLines are the words of a call, as lines.
func wordLines(r protocol.Approval) []linediff.Line {
	var lines []linediff.Line
	for _, text := range Words(r) {
		lines = append(lines, linediff.Line{Text: text})
	}
	return lines
}

func mailWords(args json.RawMessage) []string {
	var m struct {
		To, Cc, Bcc, Attachments []string
		Subject, Body, Deliver   string
		InReplyTo                string `json:"in_reply_to"`
	}
	if json.Unmarshal(args, &m) != nil {
		return nil
	}
	first := "A draft: it is saved, and nobody receives it."
	if m.Deliver == "send" {
		first = "A mail that is sent at once."
	}
	words := []string{first, ""}
	for _, f := range []struct{ name, value string }{
		{"To", strings.Join(m.To, ", ")}, {"Cc", strings.Join(m.Cc, ", ")}, {"Bcc", strings.Join(m.Bcc, ", ")},
		{"Subject", m.Subject}, {"Answers", m.InReplyTo}, {"Attached", strings.Join(m.Attachments, ", ")},
	} {
		if f.value != "" {
			words = append(words, f.name+": "+oneLine(f.value))
		}
	}
	return append(append(words, ""), textLines(m.Body)...)
}

// oneLine keeps a value from looking like several.
func oneLine(text string) string { return strings.NewReplacer("\r", "␍", "\n", "␊").Replace(text) }

// textLines are the lines of a text.
func textLines(text string) []string {
	return strings.Split(strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
}
