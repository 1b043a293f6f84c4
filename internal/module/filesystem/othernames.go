package filesystem

import (
	"encoding/json"
	"slices"
	"strings"

	"callgate/internal/module"
	"callgate/tool"
)

// otherNames are what other agents call a tool and its parameters: Claude Code, Codex,
// the Gemini CLI, opencode, Cursor, and the editor tools that models are trained with.
type otherNames struct {
	tool   []string
	params []tool.ParamAlias
}

// withOtherNames adds what other agents call a tool.
func withOtherNames(d module.Definition) module.Definition {
	known := namesElsewhere[d.Name]
	d.Aliases = append(slices.Clone(known.tool), d.Aliases...)
	d.Runtime.ParamAliases = known.params
	return d
}

// EditorNames are of an editor that is several tools here: its argument command says
// which (internal/gate/argname).
var EditorNames = []string{"str_replace_editor", "str_replace_based_edit_tool", "text_editor"}

var namesElsewhere = map[string]otherNames{
	"read": {
		append([]string{"view_image", "ReadFile", "open_file"}, EditorNames...),
		append(pathNames(),
			when("command", `"view"`, ""), ignored("should_read_entire_file"), ignored("explanation"), whenEmpty("pages"),
			means("start_line", "offset"), means("start_line_one_indexed", "offset"), means("max_lines", "limit"),
			means("num_lines", "limit"), means("mode", "", `"slice"`)),
	},
	"write": {
		append([]string{"WriteFile"}, EditorNames...),
		append(pathNames(), when("command", `"create"`, ""), means("file_text", "content"), means("contents", "content"),
			when("mode", `"replace_range"`, `"replace"`, "mode"), when("mode", `"insert_at_line"`, `"insert"`, "mode"),
			means("start_line", "line"), means("start", "line"), means("line_number", "line"), means("end", "end_line"),
			means("text", "content"), means("file_content", "content"), ignored("explanation"), ignored("instructions")),
	},
	"edit": {
		append([]string{"MultiEdit", "multi_edit", "replace", "search_replace"}, EditorNames...),
		slices.Concat(pathNames(), editNames(""), editNames("edits"), []tool.ParamAlias{
			when("command", `"str_replace"`, `"replace"`, "op"), when("command", `"insert"`, `"insert"`, "op"),
			{Name: "insert_line", Param: "line", Convert: oneMore}, // it goes after that line there
			ignored("explanation"), ignored("instruction"), ignored("instructions"),
		}),
	},
	"glob": {
		[]string{"FindFiles", "glob_file_search"},
		append(pathNames(), means("query", "pattern"), means("glob_pattern", "pattern"),
			means("file_pattern", "pattern"), ignored("explanation"), ignored("case_sensitive")),
	},
	"grep": {
		[]string{"search_file_content", "SearchText", "grep_search", "grep_files", "search_code", "code_search"},
		append(pathNames(), means("query", "pattern"), means("regex", "pattern"), means("search", "pattern"),
			means("include", "glob"), means("include_pattern", "glob"), means("file_pattern", "glob"), means("includes", "glob"),
			tool.ParamAlias{Name: "output_mode", Param: "mode", Convert: searchMode},
			means("-i", "ignore_case"), means("case_insensitive", "ignore_case"),
			tool.ParamAlias{Name: "case_sensitive", Param: "ignore_case", Convert: not},
			weak("-C", "context"), weak("-A", "context"), weak("-B", "context"), weak("context_lines", "context"),
			means("head_limit", "limit"), means("max_results", "limit"), means("maxMatches", "limit"),
			tool.ParamAlias{Name: "type", Param: "glob", Convert: fileType, Weak: true},
			means("fixed_strings", "literal"), ignored("-n"), ignored("explanation"), means("multiline", "", "false"),
			means("offset", "", "0")),
	},
	"list": {
		[]string{"LS", "list_dir", "ReadFolder", "read_folder"},
		append(pathNames(), means("relative_workspace_path", "path"), means("max_depth", "depth"),
			means("show_hidden", "all"), ignored("explanation"), ignored("file_filtering_options"), whenEmpty("ignore")),
	},
	"delete": {nil, append(pathNames(), ignored("explanation"))},
	"move": {nil, []tool.ParamAlias{
		means("source", "from"), means("destination", "to"), means("src", "from"), means("dst", "to"), means("dest", "to"),
		means("old_path", "from"), means("new_path", "to"), means("path", "from"), means("source_path", "from"),
		means("destination_path", "to"), ignored("explanation"),
	}},
}

// pathNames are what others call the path of a file or a folder.
func pathNames() []tool.ParamAlias {
	var all []tool.ParamAlias
	for _, name := range []string{
		"file_path", "absolute_path", "target_file", "file", "filename", "filepath", "dir_path", "directory", "dir",
		"folder", "target_directory", "notebook_path",
	} {
		all = append(all, means(name, "path"))
	}
	return all
}

// editNames are what others call the parts of an edit, outside or in a list.
func editNames(in string) []tool.ParamAlias {
	all := []tool.ParamAlias{
		means("old_string", "old"), means("old_str", "old"), means("old_text", "old"), means("search", "old"),
		means("new_string", "new"), means("new_str", "new"), means("new_text", "new"), means("replace", "new"),
		means("replacement", "new"), means("insert_text", "new"), means("replace_all", "all"),
		means("allow_multiple", "all"), means("expected_replacements", "count"),
	}
	for i := range all {
		all[i].In = in
	}
	return all
}

// means is a name for a parameter, or for none; with values, only where it has one of them.
func means(name, param string, values ...string) tool.ParamAlias {
	a := tool.ParamAlias{Name: name, Param: param}
	if len(values) > 0 {
		a.Convert = func(v json.RawMessage) (json.RawMessage, bool) { return v, slices.Contains(values, string(v)) }
	}
	return a
}

func ignored(name string) tool.ParamAlias { return means(name, "") }

func weak(name, param string) tool.ParamAlias {
	return tool.ParamAlias{Name: name, Param: param, Weak: true}
}

// when is a name that has one value where it means this tool. It becomes the value of
// a parameter, or goes.
func when(name, value, becomes string, param ...string) tool.ParamAlias {
	return tool.ParamAlias{
		Name: name, Param: strings.Join(param, ""),
		Convert: func(v json.RawMessage) (json.RawMessage, bool) { return json.RawMessage(becomes), string(v) == value },
	}
}

func whenEmpty(name string) tool.ParamAlias { return means(name, "", `""`, "[]", "null") }

func not(v json.RawMessage) (json.RawMessage, bool) {
	var b bool
	if json.Unmarshal(v, &b) != nil {
		return nil, false
	}
	out, err := json.Marshal(!b)
	return out, err == nil
}

func oneMore(v json.RawMessage) (json.RawMessage, bool) {
	var n int
	if json.Unmarshal(v, &n) != nil {
		return nil, false
	}
	out, err := json.Marshal(n + 1)
	return out, err == nil
}

func searchMode(v json.RawMessage) (json.RawMessage, bool) {
	switch string(v) {
	case `"files_with_matches"`, `"files"`:
		return json.RawMessage(`"files"`), true
	case `"content"`, `"count"`:
		return v, true
	}
	return nil, false
}

// fileType is the pattern for a type of file as ripgrep names it.
func fileType(v json.RawMessage) (json.RawMessage, bool) {
	var name string
	if json.Unmarshal(v, &name) != nil || name == "" || strings.ContainsAny(name, "*?[]{}/\\ ") {
		return nil, false
	}
	pattern, ok := map[string]string{
		"js": "*.{js,jsx,mjs,cjs}", "ts": "*.{ts,tsx,mts,cts}", "typescript": "*.{ts,tsx,mts,cts}", "py": "*.{py,pyi}",
		"python": "*.{py,pyi}", "rust": "*.rs", "ruby": "*.rb", "markdown": "*.{md,markdown}", "md": "*.{md,markdown}",
		"yaml": "*.{yaml,yml}", "cpp": "*.{cpp,cc,cxx,hpp,hh,hxx,h}", "c": "*.{c,h}", "html": "*.{html,htm}",
		"sh": "*.{sh,bash,zsh}", "kotlin": "*.{kt,kts}", "csharp": "*.cs",
	}[strings.ToLower(name)]
	if !ok {
		pattern = "*." + strings.ToLower(name)
	}
	out, err := json.Marshal(pattern)
	return out, err == nil
}
