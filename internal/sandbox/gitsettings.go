package sandbox

import (
	"os"
	"regexp"
	"strings"

	"callgate/internal/lazyregexp"
)

// gitSettings are the files of Git's own settings below a home folder. A sandbox shows
// them, because a commit needs the user's name. Some people keep tokens in them: while
// credentials stand in such a file it is private, and a sandbox shows a copy without
// those lines.
var gitSettings = []string{".gitconfig", ".config/git/config"}

// maxGitSettings is how much of a file is looked at. A longer one is private.
const maxGitSettings = 256 << 10

// Lines of Git's settings by which a credential stands in them: the names of keys, user
// information in a URL (a bare name counts too: GitHub's tokens are written so), and what
// helpers and headers look like. Names of credential helpers are none.
var (
	credentialKey = lazyregexp.New(`(?i)^\s*(?:\[[^\]]*\]\s*)?[a-z0-9-]*` +
		`(?:pass|passwd|password|passphrase|token|secret|extraheader|authorization|api-?key|oauth)\s*=`)
	credentialURL  = lazyregexp.New(`(?i)(?:https?|ftps?|socks\w*)://[^/\s"'@]+@|[a-z][a-z0-9+.-]*://[^/\s"'@:]*:[^/\s"'@]+@`)
	credentialText = lazyregexp.New(`(?i)authorization:|\bbearer\s|\bpassword=|gh[pousr]_[0-9a-z]{20}|github_pat_|glpat-|` +
		`\bAKIA[0-9A-Z]{16}\b|xox[abprs]-|\bATATT3|\bATBB`)
	sectionForm = regexp.MustCompile(`^\s*\[`)
)

// holdsCredentials reports whether Git's settings in a file hold credentials. A file that
// cannot be judged does.
func holdsCredentials(path string) bool {
	text, ok := readGitSettings(path)
	if !ok {
		_, err := os.Stat(path)
		return err == nil
	}
	_, dropped := cleanGitSettings(text)
	return dropped
}

// readGitSettings reads a file of settings, if it is one that can be judged.
func readGitSettings(path string) (text string, ok bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxGitSettings {
		return "", false
	}
	data, err := os.ReadFile(path)
	return string(data), err == nil && len(data) <= maxGitSettings
}

// cleanGitSettings returns settings without the lines that hold credentials, and reports
// whether there were any. A section whose head holds one goes as a whole.
func cleanGitSettings(text string) (clean string, dropped bool) {
	var kept strings.Builder
	inSection, inLine := false, false // that is dropped
	for line := range strings.Lines(text) {
		isHead := sectionForm.MatchString(line) && !inLine
		holds := credentialKey.MatchString(line) || credentialURL.MatchString(line) || credentialText.MatchString(line)
		if isHead {
			inSection = holds
		}
		drop := holds || inSection || inLine
		inLine = drop && strings.HasSuffix(strings.TrimRight(line, "\r\n"), `\`)
		if drop {
			dropped = true
			continue
		}
		kept.WriteString(line)
	}
	return kept.String(), dropped
}
