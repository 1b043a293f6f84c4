package attach

import (
	"bytes"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"callgate/internal/amount"
	"callgate/llm"
	"callgate/tool"
)

// maxPicture is the most that the common providers take.
const maxPicture = 5 << 20

// pictures are the endings of pictures that models read.
var pictures = []string{".png", ".jpg", ".jpeg", ".gif", ".webp"}

// IsPicture reports whether a file's name is that of a picture.
func IsPicture(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	for _, p := range pictures {
		if ext == p {
			return true
		}
	}
	return false
}

// ReadPicture reads a picture. What it is is told by its content, not its name.
func ReadPicture(path string) (*llm.Image, error) {
	const op = "attach.ReadPicture"
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, &tool.Error{Op: op, Kind: tool.NotFound, Message: "it cannot be read", Err: err}
	case !info.Mode().IsRegular():
		return nil, tool.Errorf(op, tool.Invalid, "it is not a file")
	case info.Size() > maxPicture:
		return nil, tool.Errorf(op, tool.Invalid, "it has %s, and a picture may have %s",
			amount.Bytes(info.Size()), amount.Bytes(maxPicture)).WithHint("make it smaller, then attach it again")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Denied, Message: "it cannot be read", Err: err}
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPicture))
	if err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Failed, Message: "it cannot be read", Err: err}
	}
	mime := sniff(data)
	if mime == "" {
		return nil, tool.Errorf(op, tool.Invalid, "it is no PNG, JPEG, GIF or WebP picture")
	}
	return &llm.Image{MIME: mime, Data: data}, nil
}

// sniff returns the type of a picture; "": it is none that a model reads.
func sniff(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(data, []byte("GIF87a")), bytes.HasPrefix(data, []byte("GIF89a")):
		return "image/gif"
	case len(data) > 12 && bytes.HasPrefix(data, []byte("RIFF")) && string(data[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}

// PastedPicture returns the path of a picture that was pasted or dropped as one: as
// it is, quoted, with escaped spaces, or as a file URL.
func PastedPicture(paste string) (path string, ok bool) {
	path = strings.TrimSpace(paste)
	if strings.ContainsAny(path, "\n\r") || len(path) > 4096 {
		return "", false
	}
	if u, err := url.Parse(path); err == nil && u.Scheme == "file" {
		path = u.Path
	} else if n := len(path); n > 1 && (path[0] == '\'' || path[0] == '"') && path[n-1] == path[0] {
		path = path[1 : n-1]
	} else {
		path = strings.ReplaceAll(path, `\ `, " ")
	}
	if !filepath.IsAbs(path) || !IsPicture(path) {
		return "", false
	}
	info, err := os.Stat(path)
	return path, err == nil && info.Mode().IsRegular()
}
