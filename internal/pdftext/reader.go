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

// exitMemory is the exit code of a helper that takes too much memory.
const exitMemory = 3

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
	fonts, total := fontCache{}, 0
	for i := 1; i <= doc.Count; i++ {
		if i > maxPages || total >= maxText {
			doc.Cut = true
			break
		}
		text, err := pageText(r.Page(i), fonts, maxText-total)
		if err != nil {
			doc.Bad++
		}
		total += len(text)
		doc.Pages = append(doc.Pages, text)
	}
	return doc, nil
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
