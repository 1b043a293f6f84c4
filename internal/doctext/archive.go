package doctext

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strings"

	"golang.org/x/net/html/charset"

	"callgate/internal/amount"
	"callgate/tool"
)

// The bounds of an archive and of the markup in it.
const (
	maxFiles = 20_000
	maxDepth = 256
	maxToken = 4 << 20 // bytes of one tag or text: a tag takes many times its size in memory
)

// archive reads a document that is a ZIP archive of markup.
func (r *reader) archive(f Format, content []byte) error {
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return r.invalid("it is no archive, as files of its kind are").WithHint("it may be damaged, or have the wrong ending")
	}
	if len(z.File) > maxFiles {
		return r.invalid("it holds %d files", len(z.File))
	}
	a := &archived{reader: r, files: make(map[string]*zip.File, len(z.File)), left: int64(r.limits.Unpacked)}
	for _, file := range z.File {
		a.files[strings.TrimPrefix(path.Clean("/"+file.Name), "/")] = file
	}
	switch f {
	case Word:
		return a.word()
	case Sheet:
		return a.sheets()
	case Slides:
		return a.slides()
	default:
		return a.book()
	}
}

// archived is the archive of one document.
type archived struct {
	*reader
	files map[string]*zip.File
	left  int64 // bytes that may still be unpacked
}

// errAbsent says that an archive has no file of a name.
var errAbsent = errors.New("absent")

// open begins to unpack a file. What it unpacks to counts, whatever the archive says of its size.
func (a *archived) open(name string) (*counted, error) {
	f := a.files[strings.TrimPrefix(path.Clean("/"+name), "/")]
	if f == nil {
		return nil, errAbsent
	}
	in, err := f.Open()
	if err != nil {
		return nil, a.invalid("%s in it is damaged", tool.Truncate(name))
	}
	return &counted{a: a, ReadCloser: in, token: math.MaxInt}, nil
}

// counted counts what is unpacked.
type counted struct {
	io.ReadCloser
	a     *archived
	token int // bytes that may still be read of one tag or text
}

// Read fails where the archive has unpacked to more than it may, or a tag does not end.
func (c *counted) Read(p []byte) (int, error) {
	if err := c.a.ctx.Err(); err != nil {
		return 0, err
	}
	if c.token <= 0 {
		return 0, fmt.Errorf("a part of it is longer than %s", amount.Bytes(maxToken))
	}
	if c.a.left <= 0 {
		return 0, tool.Errorf(op, tool.Limited, "%s unpacks to more than %s, and was not read", path.Base(c.a.name),
			amount.Bytes(c.a.limits.Unpacked)).WithHint("it may be made to fill a machine; split it if it is honest")
	}
	n, err := c.ReadCloser.Read(p[:min(int64(len(p)), c.a.left)])
	c.a.left, c.token = c.a.left-int64(n), c.token-n
	return n, err
}

// all unpacks a file whole.
func (a *archived) all(name string) ([]byte, error) {
	in, err := a.open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	content, err := io.ReadAll(in)
	return content, a.damaged(name, err)
}

// damaged is the error of a file that cannot be unpacked or parsed.
func (a *archived) damaged(name string, err error) error {
	var told *tool.Error
	if err == nil || errors.As(err, &told) || a.ctx.Err() != nil {
		return err
	}
	return a.invalid("%s in it is damaged: %v", tool.Truncate(name), err)
}

// visit is told of the elements of a file of markup: of their beginnings and ends, and of texts.
// It returns false where it wants no more.
type visit func(t xml.Token) (more bool)

// walk reads a file of markup. Entities beside XML's own are mistakes, and none is resolved.
func (a *archived) walk(name string, visit visit) error {
	in, err := a.open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	d := xml.NewDecoder(in)
	d.CharsetReader = charset.NewReaderLabel
	for depth := 0; !a.full(); {
		in.token = min(maxToken, a.limits.Unpacked/4)
		t, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return a.damaged(name, err)
		}
		switch t.(type) {
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return a.invalid("%s in it nests deeper than %d elements", tool.Truncate(name), maxDepth)
			}
		case xml.EndElement:
			depth--
		case xml.CharData:
		default:
			continue
		}
		if !visit(t) {
			return nil
		}
	}
	return nil
}

// attr is the value of an attribute, by its name without a prefix.
func attr(e xml.StartElement, name string) string {
	for _, at := range e.Attr {
		if at.Name.Local == name {
			return at.Value
		}
	}
	return ""
}

// relations are the targets of a file's relations, by their IDs, as paths in the archive.
func (a *archived) relations(of string) map[string]string {
	dir, base := path.Split(of)
	found := map[string]string{}
	// Without relations a document is read in the order of its files.
	_ = a.walk(dir+"_rels/"+base+".rels", func(t xml.Token) bool {
		e, ok := t.(xml.StartElement)
		if ok && e.Name.Local == "Relationship" && attr(e, "TargetMode") != "External" {
			target := attr(e, "Target")
			if !strings.HasPrefix(target, "/") {
				target = path.Join(dir, target)
			}
			found[attr(e, "Id")] = strings.TrimPrefix(target, "/")
		}
		return len(found) < maxFiles
	})
	return found
}

// title reads the title that office files keep apart.
func (a *archived) title() {
	reading := false
	_ = a.walk("docProps/core.xml", func(t xml.Token) bool {
		switch t := t.(type) {
		case xml.StartElement:
			reading = t.Name.Local == "title"
		case xml.EndElement:
			reading = false
		case xml.CharData:
			if reading {
				a.doc.Title += string(t)
			}
		}
		return len(a.doc.Title) < maxHeading
	})
}
