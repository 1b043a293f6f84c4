package binding

import (
	"encoding/json"
	"net/url"
	"strings"

	"callgate/internal/module/filesystem/patchfile"
	"callgate/internal/weburl"
	"callgate/tool"
)

// The forms of a placeholder: the host of a URL, the files that a patch names, and the
// file that the name or the URL of a SQLite database means.
const (
	hostForm   = "host"
	filesForm  = "files"
	sqliteForm = "sqlite"
)

// inForm returns the part of each text that a placeholder's form asks for. A text
// that has no such part names nothing.
func inForm(form string, texts []string) ([]string, error) {
	switch form {
	case "":
		return texts, nil
	case hostForm:
		var hosts []string
		for _, text := range texts {
			if host := hostOf(text); host != "" {
				hosts = append(hosts, host)
			}
		}
		return hosts, nil
	case filesForm:
		var files []string
		for _, text := range texts {
			names, err := patchfile.Paths(text)
			if err != nil {
				return nil, tool.Errorf(op, tool.Invalid, "the patch cannot be read: %v", err).
					WithHint("nothing was changed; mend that line and send the whole patch again")
			}
			files = append(files, names...)
		}
		return files, nil
	case sqliteForm:
		var files []string
		for _, text := range texts {
			if file := sqliteFile(text); file != "" {
				files = append(files, file)
			}
		}
		return files, nil
	default:
		return nil, tool.Errorf(op, tool.Internal,
			"the effect template has a placeholder of the form %q; only %q, %q and %q are known",
			tool.Truncate(form), hostForm, filesForm, sqliteForm)
	}
}

// sqliteFile returns the path in the name of a database, or in its URL (sqlite:data.db);
// "" for a database in memory, and for the URL of a server.
func sqliteFile(text string) string {
	scheme, rest, isURL := strings.Cut(text, ":")
	switch strings.ToLower(scheme) {
	case "sqlite", "sqlite3":
		if isURL {
			text = strings.TrimPrefix(rest, "//")
		}
	case "postgres", "postgresql", "pg", "mysql", "mariadb":
		if isURL {
			return ""
		}
	}
	if text == ":memory:" {
		return ""
	}
	return text
}

// PathParam returns the parameter that an effect takes a path in the workspace from,
// and the name under which rules know it: that of the parameter, or for a patch, which
// names files in its text, path.
func PathParam(e tool.Effect) (param, known string, ok bool) {
	kind, rest, _ := strings.Cut(e.Resource, ":{")
	inside, after, closed := strings.Cut(rest, "}")
	param, form, _ := strings.Cut(inside, "|")
	if known = param; form == filesForm {
		known = "path"
	}
	ok = (kind == "file" || kind == "repo") && closed && after == "" && param != "" && e.Folder == "" && form != hostForm
	return param, known, ok
}

// PathNames returns the paths that the argument of an effect names, as it writes them.
func PathNames(e tool.Effect, raw json.RawMessage) ([]string, error) {
	_, rest, _ := strings.Cut(e.Resource, "|")
	form, _, _ := strings.Cut(rest, "}")
	return inForm(form, Names(raw))
}

// hostOf returns the one name of a URL's host, and "" for none: without its port,
// since what answers at two ports of a host may be one program.
func hostOf(text string) string {
	if u, err := weburl.Parse(text); err == nil {
		return u.Host
	}
	u, err := url.Parse(strings.TrimSpace(text)) // of another scheme
	if err != nil {
		return ""
	}
	return strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
}
