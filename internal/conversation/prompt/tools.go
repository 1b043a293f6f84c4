package prompt

import (
	"fmt"
	"slices"
	"strings"
)

// identity is who the model is, and how much it can do.
func identity(in Input) string {
	var b strings.Builder
	fmt.Fprintf(&b, "You are agent %q (role: %s).", in.Agent, in.Role)
	if in.Specialty != "" {
		b.WriteString(" Your specialty: " + oneLine(in.Specialty, 300) + ".")
	}
	if n := len(in.Domain); n > 0 {
		fmt.Fprintf(&b, " You have %s in %s.", countPhrase(n, "tool"), countPhrase(len(in.Categories), "module"))
	}
	return b.String()
}

// work is how the model works, as far as its tools let it.
func work(in Input) string {
	if len(in.Domain) == 0 && len(in.Offered) == 0 {
		return ""
	}
	var rules []string
	if in.PlanFirst {
		rules = append(rules, "When a task takes several steps, say in a line or two what you are going to do "+
			"before your first call.")
	}
	names := map[string]string{}
	for _, t := range in.Domain {
		names[t.Module+"."+t.Action] = t.Name
	}
	has := func(name string) bool { return names[name] != "" }
	shell := names["shell.bash"]
	if has("filesystem.read") && (has("filesystem.edit") || has("filesystem.write")) {
		rules = append(rules, "Read a file before you change it.")
	}
	if grep, glob := names["filesystem.grep"], names["filesystem.glob"]; grep != "" && glob != "" && shell != "" {
		rules = append(rules,
			fmt.Sprintf("Search contents with %s and names with %s rather than with %s.", grep, glob, shell))
	}
	rules = append(rules, "Make calls that do not need each other's results together, in one answer.")
	if shell != "" {
		rules = append(rules, "After a change, run the narrowest test or check that shows that it works.")
	}
	rules = append(rules,
		"If a call fails, its result says why and what to do: mend it. After two failures of the same thing, "+
			"change the approach.",
		"A call may wait for a human, or be refused. What is refused is not reached in another way: say so, "+
			"and go on without it or ask.",
		"Say that something is done only if a result shows it, and say what is not.")
	return "How you work:\n- " + strings.Join(rules, "\n- ")
}

func countPhrase(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// metaTools are the tools that find and call the others.
var metaTools = []struct{ name, line string }{
	{"search_tools", "finds tools by what you want to do, in words"},
	{"get_tool", "the whole schema of one tool, with examples"},
	{"execute_tool", "calls a tool"},
	{"list_categories", "lists the modules"},
	{"browse_category", "lists the tools of one module, page by page"},
}

// tools explains how tools are found and called.
func tools(in Input) string {
	if len(in.Domain) == 0 && len(in.Offered) == 0 {
		return ""
	}
	var b strings.Builder
	switch in.Mode {
	case "discovery":
		discovery(&b, in)
	case "compact_direct":
		b.WriteString("You see every tool by its name and one line; most parameters are not shown. " +
			"Pick a tool by its line. If you do not know its parameters, read them with get_tool. " +
			"Call it by its name; if the parameters are wrong, the result shows the schema.")
	default:
		b.WriteString("Call tools by their names, with the parameters that their schemas ask for.")
	}
	if !in.Native {
		textCallFormat(&b, in)
	}
	return b.String()
}

func discovery(b *strings.Builder, in Input) {
	b.WriteString("Most tools are not shown; find and call them with these:\n")
	for _, m := range metaTools {
		if offered(in, m.name) {
			fmt.Fprintf(b, "- %s: %s\n", m.name, m.line)
		}
	}
	b.WriteString("Search or browse, get the exact schema of the tool, then execute it by the name you found it under.")
	if len(in.Categories) == 0 {
		return
	}
	b.WriteString("\n\nModules:")
	for _, c := range in.Categories {
		b.WriteString("\n" + categoryLine(c, len(in.Categories)))
	}
}

// categoryLine describes a domain. The more domains there are, the shorter it is.
func categoryLine(c Category, domains int) string {
	shown := 8
	switch {
	case domains <= 20:
		shown = 5
	case domains <= 100:
		shown = 3
	}
	names := slices.Clone(c.Tools[:min(shown, len(c.Tools))])
	if len(c.Tools) > shown {
		names = append(names, "…")
	}
	if domains > 100 || c.Summary == "" {
		return fmt.Sprintf("- %s (%d): %s", c.ID, len(c.Tools), strings.Join(names, ", "))
	}
	return fmt.Sprintf("- %s (%d): %s [%s]", c.ID, len(c.Tools), oneLine(c.Summary, 120), strings.Join(names, ", "))
}

func offered(in Input, name string) bool {
	for _, t := range in.Offered {
		if t.Name == name {
			return true
		}
	}
	return false
}

// textCallFormat gives a model without an API for tools their schemas, and the form of
// a call.
func textCallFormat(b *strings.Builder, in Input) {
	b.WriteString("\n\nThe tools, as JSON:\n")
	for _, t := range in.Offered {
		fmt.Fprintf(b, "\n## %s\n%s\nparameters: %s\n", t.Name, strings.TrimSpace(t.Description), t.Schema)
	}
	b.WriteString("\nTo call a tool, write one block for each call, and nothing after the last one:\n" +
		"<tool_call>{\"name\": \"the tool's name\", \"arguments\": {…}}</tool_call>\n" +
		"The results come in the next message, in <tool_result> blocks. Never write a result yourself. " +
		"When you need no tool, answer in plain words without any such block.")
}

// usageHints are hints that follow from the tools' parameters and the setup.
func usageHints(in Input) string {
	var lines []string
	for _, s := range in.Setup {
		lines = append(lines, "Already set up: "+oneLine(s, 200)+".")
	}
	lines = append(lines, serverHints(in.Domain)...)
	if len(lines) == 0 {
		return ""
	}
	return "Good to know:\n- " + strings.Join(lines, "\n- ")
}

// most limits the hints of one sort.
const most = 8

// serverHints are about tools of servers, whose makers did not write for this
// model: what must be read before it can be changed, and which parameters are
// JSON inside a text.
func serverHints(all []Tool) []string {
	getters := map[string]string{} // what a getter gives → its name
	for _, t := range all {
		if !t.Server {
			continue
		}
		for _, verb := range []string{"get_", "list_", "search_", "find_", "read_", "fetch_"} {
			if thing, ok := strings.CutPrefix(t.Action, verb); ok {
				key := t.Module + "/" + strings.TrimSuffix(thing, "s")
				if _, known := getters[key]; !known || verb != "get_" {
					getters[key] = t.Name
				}
			}
		}
	}
	var first, asText []string
	for _, t := range all {
		if !t.Server {
			continue
		}
		for _, p := range t.Params {
			thing, ok := strings.CutSuffix(strings.TrimSuffix(p, "?"), "_id")
			if getter := getters[t.Module+"/"+thing]; ok && getter != "" && getter != t.Name {
				first = append(first, fmt.Sprintf("%s wants %s_id: get it with %s first.", t.Name, thing, getter))
				break
			}
		}
		if len(t.JSON) > 0 {
			asText = append(asText, fmt.Sprintf("%s takes %s as JSON written as text.", t.Name, list(t.JSON)))
		}
	}
	return slices.Concat(first[:min(most, len(first))], asText[:min(most, len(asText))])
}
