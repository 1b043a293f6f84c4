package fileschema

// sectionBlock is a section of the context: a name, and one source.
func sectionBlock() node {
	n := needs(block("runtime.context.sections",
		key{"id", pattern(`^[A-Za-z0-9_-]{1,64}$`), "Its name, by which the model is told when it changes."},
		key{"title", label(), "What stands above it. Left out: its id."},
		key{"builtin", enum("", "datetime", "user", "session", "env", "memory_index"),
			"What the kernel knows: the time, the user, the conversation, the workspace and its machine, what is remembered."},
		key{"file", text(), "A file in the app's folder, or {{workdir}}/ and a file there. It needs your consent: callgate app trust."},
		key{"files", list(text()).with("minItems", 1).with("maxItems", 20), "Several files."},
		key{"dir", text(), "A folder whose files are told, without those in its folders."},
		key{"template", text(), "Words with {{datetime.…}}, {{session.…}} and {{place.…}} in them."},
		key{"text", text(), "Words, always the same."},
		key{"optional", boolean(false), "A file that is not there is passed over. Else no turn begins without it."},
		key{"writable", node{"const": false}, "Always false: what agents may write is said in tools.capabilities."},
		key{"when", text(), "In which turns it is told: place.git, not place.git, session.mode == plan. Left out: in all."},
		key{"priority", integer(0, 1000).with("default", 50), "The lower is told first."},
	), "id")
	var one []node
	for _, name := range []string{"builtin", "file", "files", "dir", "template", "text"} {
		one = append(one, node{"required": []string{name}})
	}
	return n.with("oneOf", one)
}
