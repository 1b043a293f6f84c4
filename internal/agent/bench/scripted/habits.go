package scripted

import "slices"

// Habits are what a kind of model does whatever it is told, at first.
type Habits struct {
	Kind string
	// names are those of the tools it was trained with: it guesses them where no
	// name is shown, and at first also where one is, if stubborn.
	names    map[intent]string
	stubborn bool
	// params are parameters as it was trained to write them: it writes them where no
	// schema is shown, and if stubborn until an error says otherwise.
	params map[role]string

	discovers   bool // it looks for a tool and reads its schema before it calls
	doubts      bool // it narrows a search that shows only what it does not want, though nobody said that it was cut
	parallel    bool // it makes calls together that do not need each other
	byShell     bool // it reads, searches and lists by commands
	commandList bool // it writes a command as a list of words, where no schema asks for a text
	patches     bool // it edits by patches
	omits       bool // it leaves a required field out, once
	quotes      bool // it writes arguments as JSON in a string, once, and numbers in quotes
	copies      bool // it copies an example from an error as it stands
	hurries     bool // it changes a file without a look at it
	narrates    bool // it says what it has learnt before it goes on
}

// kinds returns the kinds of models there are.
func kinds() []Habits {
	return []Habits{
		{Kind: "careful", discovers: true, doubts: true, parallel: true, narrates: true},
		{
			Kind: "claude", parallel: true, narrates: true,
			names: map[intent]string{reading: "Read", searching: "Grep", globbing: "Glob", listing: "LS", editing: "Edit",
				writing: "Write", running: "Bash", deleting: "Delete", patching: "apply_patch"},
			params: map[role]string{path: "file_path", old: "old_string", new_: "new_string"},
		},
		{
			Kind: "codex", byShell: true, commandList: true, patches: true, narrates: true,
			names: map[intent]string{running: "shell", patching: "apply_patch", reading: "read_file", searching: "grep_files",
				listing: "list_dir", editing: "apply_patch", writing: "write_file", globbing: "glob", deleting: "delete_file"},
		},
		{
			Kind: "gemini", parallel: true, narrates: true,
			names: map[intent]string{reading: "read_file", searching: "search_file_content", globbing: "glob",
				listing: "list_directory", editing: "replace", writing: "write_file", running: "run_shell_command",
				deleting: "delete_file", patching: "apply_patch"},
			params: map[role]string{path: "absolute_path", old: "old_string", new_: "new_string"},
		},
		{
			Kind: "small", stubborn: true, omits: true, quotes: true, copies: true, hurries: true,
			names: map[intent]string{reading: "read_file", searching: "grep_search", globbing: "file_search",
				listing: "list_dir", editing: "str_replace_editor", writing: "create_file", running: "run_terminal_cmd",
				deleting: "delete_file", patching: "apply_patch"},
			params: map[role]string{path: "filename", old: "old_str", new_: "new_str", content: "file_text"},
		},
	}
}

// Kinds returns the names of the kinds.
func Kinds() []string {
	var names []string
	for _, h := range kinds() {
		names = append(names, h.Kind)
	}
	return names
}

// HabitsOf returns the habits of a kind.
func HabitsOf(kind string) (Habits, bool) {
	all := kinds()
	i := slices.IndexFunc(all, func(h Habits) bool { return h.Kind == kind })
	if i < 0 {
		return Habits{}, false
	}
	return all[i], true
}

// namesOf are the names by which a reader of a schema knows a role, the likeliest
// first.
func namesOf(r role) []string {
	return map[role][]string{
		path: {"path", "file_path", "filepath", "absolute_path", "target_file", "file", "filename", "dir_path", "directory",
			"dir", "folder"},
		pattern: {"pattern", "regex", "regexp", "glob", "query"},
		old:     {"old", "old_string", "old_str", "old_text"},
		new_:    {"new", "new_string", "new_str", "new_text"},
		content: {"content", "contents", "text", "file_text", "data"},
		command: {"command", "cmd", "script"},
		patch:   {"patch", "input", "diff", "patch_text"},
		offset:  {"offset", "start_line", "from_line", "start"},
		limit:   {"limit", "max_lines", "line_count"},
		several: {"edits", "changes", "replacements"},
	}[r]
}

// wordsOf are the words of a name by which a reader knows what a tool is for, the
// likeliest first.
func wordsOf(i intent) []string {
	return map[intent][]string{
		reading:   {"read", "view", "cat", "open"},
		searching: {"grep", "search", "ripgrep"},
		globbing:  {"glob", "find"},
		listing:   {"list", "ls", "dir"},
		editing:   {"edit", "replace"},
		writing:   {"write", "create"},
		deleting:  {"delete", "remove", "rm"},
		patching:  {"patch"},
		running:   {"bash", "shell", "run", "exec", "command", "terminal"},
	}[i]
}

// queryOf is how a model looks for a tool.
func queryOf(i intent) string {
	return map[intent]string{
		reading: "read a file", searching: "search file contents", globbing: "find files by name", listing: "list a folder",
		editing: "edit a file", writing: "write a file", deleting: "delete a file", patching: "apply a patch",
		running: "run a shell command",
	}[i]
}
