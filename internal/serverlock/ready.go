package serverlock

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"callgate/tool"
)

// Map is the locks of a well-known server.
type Map struct {
	Name  string // of its package
	bases []string
	locks map[string][]Lock
}

// folders returns where a relative path may begin. The servers of files begin at the
// folders that they are given, or, in older versions, where they run; a call then
// holds both names.
func (m *Map) folders(folder string) []string {
	list := []string{folder}
	for _, base := range m.bases {
		if !filepath.IsAbs(base) {
			base = filepath.Join(folder, base)
		}
		if !slices.Contains(list, base) {
			list = append(list, base)
		}
	}
	return list
}

// Program is what a server runs.
type Program struct {
	Command string
	Args    []string
	Env     map[string]string
}

// Ready returns the map of a program that is a well-known server; nil for another.
// A server is known by the name of its package, as npx, uvx and their like run it,
// or as a path leads to it. One that runs in a container is not: its paths are those
// of another machine.
func Ready(p Program) *Map {
	name, args := packageOf(p)
	make, ok := wellKnown[name]
	if !ok {
		return nil
	}
	m := make(args, p.Env)
	m.Name = name
	return &m
}

// runners are the programs that run a package, by their names.
var runners = []string{
	"npx", "pnpm", "pnpx", "bunx", "bun", "yarn", "npm", "deno", "node", "tsx",
	"uvx", "uv", "pipx", "python", "python3", "cmd",
}

// packageOf returns the package that a program is, and the arguments that it is given.
func packageOf(p Program) (name string, args []string) {
	words := append([]string{p.Command}, p.Args...)
	for i, word := range words {
		base := strings.TrimSuffix(strings.TrimSuffix(path.Base(filepath.ToSlash(word)), ".cmd"), ".exe")
		switch {
		case slices.Contains(runners, base) && (i == 0 || word == base):
		case i > 0 && (strings.HasPrefix(word, "-") || slices.Contains(verbs, word)):
		case i > 0 && slices.Contains(takesWord, words[i-1]):
		default:
			return packageIn(word), words[i+1:]
		}
	}
	return "", nil
}

var (
	// verbs stand between a runner and its package.
	verbs = []string{"dlx", "exec", "x", "run", "tool", "/c"}
	// takesWord are flags of runners with a word after them that is not the package.
	takesWord = []string{"--python", "-p", "--package", "--from", "--with", "--directory", "--project", "--registry"}
)

// packageIn returns the well-known package that a word names: by its name, with or
// without a version, by its module in Python, or by a path into it.
func packageIn(word string) string {
	word = strings.TrimPrefix(filepath.ToSlash(word), "npm:")
	bin := path.Base(word)
	for name := range wellKnown {
		rest, ok := strings.CutPrefix(word, name)
		if !ok {
			rest, ok = strings.CutPrefix(word, strings.ReplaceAll(name, "-", "_"))
		}
		switch {
		case ok && (rest == "" || strings.ContainsAny(rest[:1], "@=<>~[")):
			return name
		case strings.Contains(word, "node_modules/"+name+"/"):
			return name
		case strings.TrimSuffix(bin, path.Ext(bin)) == binOf(name):
			return name
		}
	}
	return ""
}

// binOf is the program that a package installs.
func binOf(name string) string {
	if rest, ok := strings.CutPrefix(name, "@modelcontextprotocol/"); ok {
		return "mcp-" + rest
	}
	return name
}

// wellKnown are the servers with a ready map, by package. The tools are named as the
// servers name them, and a line counts only where the tool has its arguments.
var wellKnown = map[string]func(args []string, env map[string]string) Map{
	"@modelcontextprotocol/server-filesystem": filesystem,
	"@modelcontextprotocol/server-memory":     memory,
	"mcp-server-git":                          git,
	"mcp-server-sqlite":                       sqlite,
	"mcp-sqlite":                              sqlite,
}

func filesystem(args []string, _ map[string]string) Map {
	m := Map{locks: map[string][]Lock{
		"read_multiple_files": {{"file:{paths}", tool.S}},
		"write_file":          {{"file:{path}", tool.X}},
		"edit_file":           {{"file:{path}", tool.X}},
		"create_directory":    {{"file:{path}", tool.IX}},
		"move_file":           {{"file:{source}", tool.X}, {"file:{destination}", tool.X}},
	}}
	for _, name := range []string{"read_file", "read_text_file", "read_media_file", "list_directory",
		"list_directory_with_sizes", "directory_tree", "search_files", "get_file_info"} {
		m.locks[name] = []Lock{{"file:{path}", tool.S}}
	}
	for _, arg := range args {
		if !strings.HasPrefix(arg, "-") && !strings.Contains(arg, "{{") {
			m.bases = append(m.bases, arg)
		}
	}
	return m
}

func git([]string, map[string]string) Map {
	m := Map{locks: map[string][]Lock{
		"git_checkout": {{"repo:{repo_path}", tool.X}, {"file:{repo_path}", tool.U}},
	}}
	for _, name := range []string{"git_status", "git_diff_unstaged", "git_diff_staged", "git_diff", "git_log", "git_show",
		"git_branch"} {
		m.locks[name] = []Lock{{"repo:{repo_path}", tool.S}}
	}
	for _, name := range []string{"git_commit", "git_add", "git_reset", "git_create_branch", "git_init"} {
		m.locks[name] = []Lock{{"repo:{repo_path}", tool.X}}
	}
	return m
}

// memory reads its whole file and writes it again with every change, so that two
// changes at once lose one. Without a file of its own it uses the one in its package,
// which is the same for all that run it.
func memory(_ []string, env map[string]string) Map {
	resource := "memory:default"
	if file := env["MEMORY_FILE_PATH"]; filepath.IsAbs(file) && plain(file) {
		resource = "file:" + filepath.ToSlash(file)
	}
	return onOne(resource, tool.X,
		[]string{"read_graph", "search_nodes", "open_nodes"},
		[]string{"create_entities", "create_relations", "add_observations", "delete_entities", "delete_observations",
			"delete_relations"})
}

// sqlite changes its file in transactions: readers pass, and other changes wait.
func sqlite(args []string, env map[string]string) Map {
	file := env["SQLITE_DB_PATH"]
	for i, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		switch {
		case slices.Contains([]string{"--db-path", "--db", "--database"}, name) && ok:
			file = value
		case slices.Contains([]string{"--db-path", "--db", "--database"}, name) && i+1 < len(args):
			file = args[i+1]
		case i == 0 && !strings.HasPrefix(arg, "-"):
			file = arg
		}
	}
	resource := own
	if file != "" && plain(file) {
		resource = "file:" + filepath.ToSlash(file)
	}
	return onOne(resource, tool.U,
		[]string{"read_query", "list_tables", "describe_table", "db_info", "get_table_schema", "read_records",
			"list-tables", "describe-table"},
		[]string{"write_query", "create_table", "create_record", "update_records", "delete_records", "query", "execute",
			"create-table", "drop-table", "insert-record", "update-record", "delete-record", "transaction"})
}

// plain reports whether a text holds nothing that is filled in later, or that a
// template would read.
func plain(text string) bool { return !strings.ContainsAny(text, "{}") }

// onOne is the map of a server with one thing that all its tools are about.
func onOne(resource string, change tool.Mode, reads, changes []string) Map {
	m := Map{locks: map[string][]Lock{}}
	for _, name := range reads {
		m.locks[name] = []Lock{{resource, tool.S}}
	}
	for _, name := range changes {
		m.locks[name] = []Lock{{resource, change}}
	}
	return m
}
