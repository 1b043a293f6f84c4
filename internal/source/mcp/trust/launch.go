package trust

import (
	"slices"
	"strings"
	"unicode/utf8"

	"callgate/internal/source/mcp/trust/definition"
	"callgate/internal/visible"
	"callgate/tool"
)

// launch is the command line of a local server that a human accepted.
type launch struct {
	Line []string `json:"line"`
	Hash Hash     `json:"hash"`
	Stamp
}

// MayLaunch reports a local command that no human has accepted for this server,
// or that differs from the accepted one. The line is everything that decides
// what will run, as a human is shown it: the program, its arguments, and the
// parts of folder and environment that the caller includes. The program itself
// is not checked.
func (s *Store) MayLaunch(key string, line []string) error {
	const op = "trust.MayLaunch"
	if err := checkKey(op, key); err != nil {
		return err
	}
	if len(line) == 0 {
		return tool.Errorf(op, tool.Invalid, "there is no command line to launch")
	}
	sv, err := s.current(op, key)
	if err != nil {
		return err
	}
	accepted := sv.Launch
	if accepted != nil && accepted.Hash == definition.HashWords(line) {
		return nil
	}
	hint := "look at it, and accept it with: callgate mcp trust " + Shell([]string{key})
	if accepted == nil {
		return tool.Errorf(op, tool.Denied, "nobody has accepted yet that this MCP server may run on this machine: %s",
			Shell(line)).WithHint("%s", hint)
	}
	return tool.Errorf(op, tool.Denied,
		"the command of this MCP server has changed since %s accepted it on %s; it was: %s ; it would now run: %s",
		visible.Text(accepted.By), accepted.At.Format("2006-01-02"), Shell(accepted.Line), Shell(line)).
		WithHint("%s", hint)
}

// AcceptLaunch allows exactly this command line for a server, in the name of the
// human who was shown it.
func (s *Store) AcceptLaunch(key string, line []string, by string) error {
	const op = "trust.AcceptLaunch"
	if err := checkKey(op, key); err != nil {
		return err
	}
	if len(line) == 0 || by == "" {
		return tool.Errorf(op, tool.Invalid, "accepting a command takes its command line and the name of who accepts it")
	}
	if !utf8.ValidString(by) || slices.ContainsFunc(line, func(word string) bool { return !utf8.ValidString(word) }) {
		return tool.Errorf(op, tool.Invalid, "the command line or the name of who accepts it is not UTF-8: %s", Shell(line))
	}
	return s.update(op, key, func(sv *server) error {
		sv.Launch = &launch{slices.Clone(line), definition.HashWords(line), Stamp{by, timestamp()}}
		return nil
	})
}

// Shell writes a command line as in a shell, on one line and with nothing
// hidden.
func Shell(line []string) string {
	words := make([]string, len(line))
	for i, word := range line {
		words[i] = visible.Text(word)
		if word == "" || strings.ContainsFunc(word, needsQuotes) {
			words[i] = "'" + strings.ReplaceAll(words[i], "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// needsQuotes reports a character that a shell could interpret.
func needsQuotes(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
		strings.ContainsRune("-_./:=@,+%", r))
}
