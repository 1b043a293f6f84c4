package prompt

import "strings"

// Channel is where messages can be sent.
type Channel struct {
	Name, Type string
	Default    bool // of replies that answer nothing else
}

// channels says where messages can be sent, to a model that has the tools for it.
func channels(in Input) string {
	var tools []string
	for _, t := range in.Domain {
		if t.Module == "channels" {
			tools = append(tools, t.Name)
		}
	}
	if len(in.Channels) == 0 || len(tools) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Messages to people and programs outside this conversation go through channels, with " + list(tools) +
		". The channels are:\n")
	for _, c := range in.Channels {
		b.WriteString("- " + oneLine(c.Name, 64) + " (" + oneLine(c.Type, 64) + ")")
		if c.Default {
			b.WriteString(", the default")
		}
		b.WriteString("\n")
	}
	return strings.TrimSpace(b.String())
}
