package pdftext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/ledongthuc/pdf"
)

// The exit codes of a helper that takes too much memory, or too long to open a file.
const (
	exitMemory  = 3
	exitOpening = 4
)

// maxOpening is how long the library may take to open a file, before any page is read. It
// follows some references in a circle forever.
const maxOpening = 5 * time.Second

// serve reads a PDF and writes its text. It runs in the helper.
func serve(in io.Reader, out io.Writer) {
	go watchMemory()
	data, err := io.ReadAll(in)
	var doc Document
	if err == nil {
		doc, err = parse(data)
	}
	if err != nil {
		doc = Document{Error: err.Error()}
	}
	_ = json.NewEncoder(out).Encode(doc)
}

// watchMemory ends the process when it takes too much memory. Limits of the
// operating system are not to be had everywhere, nor in every build.
func watchMemory() {
	sample := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
	}
	for range time.Tick(20 * time.Millisecond) {
		metrics.Read(sample)
		if sample[0].Value.Uint64()-sample[1].Value.Uint64() > maxHeap {
			os.Exit(exitMemory)
		}
	}
}

// parse reads a PDF. A page that cannot be read is left out; the others are
// still read.
func parse(data []byte) (doc Document, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it is damaged: %v", r)
		}
	}()
	data, err = repair(data)
	if err != nil {
		return doc, err
	}
	opening := time.AfterFunc(maxOpening, func() { os.Exit(exitOpening) })
	r, err := pdf.NewReader(bytes.NewReader(data), int64(len(data)))
	if errors.Is(err, pdf.ErrInvalidPassword) {
		return doc, errors.New("it is encrypted, and needs a password")
	}
	if err != nil {
		return doc, err
	}
	info := r.Trailer().Key("Info")
	doc.Title, doc.Author = line(info.Key("Title").Text()), line(info.Key("Author").Text())
	doc.Count = r.NumPage()
	all, err := pages(r.Trailer().Key("Root").Key("Pages"), min(doc.Count, maxPages+1))
	if err != nil {
		return doc, err
	}
	opening.Stop()
	fonts, total := fontCache{}, 0
	for i, page := range all {
		if i >= maxPages || total >= maxText {
			doc.Cut = true
			break
		}
		text, err := pageText(page, fonts, maxText-total)
		if err != nil {
			doc.Bad++
		}
		total += len(text)
		doc.Pages = append(doc.Pages, text)
	}
	return doc, nil
}

// The bounds of a page tree. Those of real files are some levels deep.
const (
	maxLevels = 64
	maxNodes  = 100_000
)

// errTree says that a page tree cannot be walked to its end.
var errTree = errors.New("its pages refer to themselves, or nest too deep")

// pages returns the pages of a page tree in their order, up to limit. A tree is a graph in
// the file: the library would follow one that leads back to itself forever, and would walk
// it anew for each page.
func pages(root pdf.Value, limit int) (all []pdf.Value, err error) {
	left := maxNodes
	var walk func(node pdf.Value, level int) error
	walk = func(node pdf.Value, level int) error {
		if left--; left < 0 || level > maxLevels {
			return errTree
		}
		switch node.Key("Type").Name() {
		case "Page":
			all = append(all, node)
		case "Pages":
			kids := node.Key("Kids")
			for i := 0; i < kids.Len() && len(all) < limit; i++ {
				if err := walk(kids.Index(i), level+1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if limit <= 0 {
		return nil, nil
	}
	err = walk(root, 0)
	return all, err
}

// resources returns the resources of a page, which it may have from a node above it.
func resources(page pdf.Value) (pdf.Value, error) {
	for range maxLevels {
		if page.IsNull() {
			return pdf.Value{}, nil
		}
		if r := page.Key("Resources"); !r.IsNull() {
			return r, nil
		}
		page = page.Key("Parent")
	}
	return pdf.Value{}, errTree
}

// repair gives the library what it insists on: a header of a version it knows
// at the beginning, and the end marker at the end.
func repair(data []byte) ([]byte, error) {
	start := bytes.Index(data[:min(len(data), 1024)], []byte("%PDF-"))
	if start < 0 || len(data) < start+100 {
		return nil, errors.New("it is not a PDF")
	}
	data = bytes.Clone(data[start:])
	end := bytes.LastIndex(data, []byte("%%EOF"))
	if end < 0 {
		return nil, errors.New("its end is missing")
	}
	data = data[:end+len("%%EOF")]
	copy(data, "%PDF-1.7\n")
	return data, nil
}

func line(text string) string {
	return strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "\ufffd")
}
