package fetch

import (
	"fmt"
	"net/http"
	"strings"

	"callgate/internal/amount"
	"callgate/tool"
)

// SavedFile is a downloaded file as a result shows it.
type SavedFile struct {
	Path        string `json:"path"`
	Bytes       int64  `json:"bytes"`
	ContentType string `json:"content_type,omitempty"`
	URL         string `json:"url"`
	ResumedFrom int64  `json:"resumed_from,omitempty"`
}

// Parameters of a download, and the properties of a SavedFile, as JSON Schema.
const (
	DownloadParameters = `
    "path": {"type": "string", "minLength": 1,
      "description": "The file to save to, relative to the workspace or absolute inside it."},
    "overwrite": {"type": "boolean", "default": false, "description": "Replace a file that is there already."}`
	SavedFileProperties = `
    "path": {"type": "string", "description": "The file, relative to the workspace."},
    "bytes": {"type": "integer", "description": "Its size."},
    "content_type": {"type": "string"},
    "url": {"type": "string", "description": "Where it came from, after redirects."},
    "resumed_from": {"type": "integer", "description": "How much was there already from an earlier call."}`
)

// Saved is a file that was downloaded.
type Saved struct {
	SavedFile
	Attempts int    // responses that it took
	SHA256   string // where it was checked
	Warnings []string
	Response *http.Response // the last one; its body is closed
}

// Summary says what was saved, in one line.
func (s *Saved) Summary() string {
	text := fmt.Sprintf("saved %s: %s", s.Path, amount.Bytes(s.Bytes))
	if kind, _, _ := strings.Cut(s.ContentType, ";"); kind != "" {
		text += ", " + tool.Truncate(strings.TrimSpace(kind))
	}
	if s.ResumedFrom > 0 {
		text += fmt.Sprintf("; %s of it were kept from before", amount.Bytes(s.ResumedFrom))
	}
	return text
}
