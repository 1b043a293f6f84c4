package shell

import (
	"encoding/json"
	"strings"

	"callgate/tool"
)

// otherParams are what other agents call the parameters: Claude Code, Codex, the Gemini
// CLI, opencode, Cursor. What would loosen a wall is not among what is dropped, unless
// it says no.
func otherParams() []tool.ParamAlias {
	all := []tool.ParamAlias{
		{Name: "command", Param: "command", Convert: commandLine},
		{Name: "cmd", Param: "command", Convert: commandLine},
		{Name: "script", Param: "command"},
		{Name: "timeout", Param: "timeout", Convert: longTimeout},
		{Name: "timeout_ms", Param: "timeout", Convert: milliseconds},
		{Name: "timeout_seconds", Param: "timeout"},
		{Name: "timeout_secs", Param: "timeout"},
		{Name: "yield_time_ms"}, {Name: "max_output_tokens"}, {Name: "login"}, {Name: "is_dangerous"},
		{Name: "require_user_approval"},
	}
	for _, name := range []string{"workdir", "working_directory", "directory", "dir_path", "dir", "folder"} {
		all = append(all, tool.ParamAlias{Name: name, Param: "cwd"})
	}
	for _, name := range []string{"explanation", "justification", "reason", "rationale"} {
		all = append(all, tool.ParamAlias{Name: name, Param: "description", Weak: true})
	}
	for _, name := range []string{"is_background", "background"} {
		all = append(all, tool.ParamAlias{Name: name, Param: "run_in_background"})
	}
	for _, name := range []string{"with_escalated_permissions", "dangerouslyDisableSandbox", "tty"} {
		all = append(all, tool.ParamAlias{Name: name, Convert: saysNo})
	}
	return all
}

func saysNo(v json.RawMessage) (json.RawMessage, bool) {
	return v, string(v) == "false" || string(v) == "null"
}

// commandLine is a command given as a list of words: those of bash -lc, or a line
// that bash reads as the same words.
func commandLine(v json.RawMessage) (json.RawMessage, bool) {
	var words []string
	if json.Unmarshal(v, &words) != nil {
		return v, len(v) > 0 && v[0] == '"'
	}
	if len(words) == 0 {
		return nil, false
	}
	line := ""
	if len(words) == 3 && isShell(words[0]) && (words[1] == "-c" || words[1] == "-lc" || words[1] == "-cl") {
		line = words[2]
	} else {
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = quote(w)
		}
		line = strings.Join(quoted, " ")
	}
	out, err := json.Marshal(line)
	return out, err == nil
}

func isShell(program string) bool {
	switch program {
	case "bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh", "/usr/bin/bash", "/usr/bin/env bash":
		return true
	}
	return false
}

// quote writes a word so that bash reads it as one word.
func quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:@%+,", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// longTimeout takes more seconds than there may be as the milliseconds that they are
// elsewhere.
func longTimeout(v json.RawMessage) (json.RawMessage, bool) {
	var n float64
	if json.Unmarshal(v, &n) != nil || n <= maxTimeout {
		return nil, false
	}
	return milliseconds(v)
}

// milliseconds gives seconds, rounded up.
func milliseconds(v json.RawMessage) (json.RawMessage, bool) {
	var n float64
	if json.Unmarshal(v, &n) != nil || n <= 0 || n > maxTimeout*1000 {
		return nil, false
	}
	out, err := json.Marshal((int(n) + 999) / 1000)
	return out, err == nil
}
