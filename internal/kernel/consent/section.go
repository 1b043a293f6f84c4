package consent

import (
	"path/filepath"
	"strings"

	"callgate/internal/app"
)

// texts are the lines about the texts beside it that an app reads.
func texts(a *app.App) []string {
	var lines []string
	for _, f := range a.Files {
		lines = append(lines, File(a, f))
	}
	for _, s := range a.Runtime.Sections {
		lines = append(lines, Section(a, s))
	}
	return lines
}

// Section says which files an app has its models told with every turn; empty when it is of
// none.
func Section(a *app.App, s app.Section) string {
	if s.FromUser || len(s.Paths()) == 0 {
		return ""
	}
	var paths []string
	for _, path := range s.Paths() {
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.Folder, path)
		}
		paths = append(paths, beside(a, path))
	}
	what := "of "
	if s.Dir != "" {
		what = "of the files in "
	}
	return shown(a, "send your models with every turn the text "+what+strings.Join(paths, ", "))
}
