package apiclient_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/provider/apiclient"
)

// readEvents returns the events of a stream as "type|data", and how it ended.
func readEvents(r io.Reader) (events []string, err error) {
	reader := apiclient.NewEventReader(r)
	for {
		e, err := reader.Next()
		if err != nil {
			if _, again := reader.Next(); again == nil || again.Error() != err.Error() {
				return nil, fmt.Errorf("%w, but asked again %w", err, again)
			}
			return events, err
		}
		events = append(events, e.Type+"|"+string(e.Data))
	}
}

var streams = []struct {
	name, stream string
	want         []string
}{
	{"nothing", "", nil},
	{"only empty lines", "\n\r\n\r\r\n\n", nil},
	{"one event", "data: a\n\n", []string{"|a"}},
	{"with a type", "event: ping\ndata: {}\n\n", []string{"ping|{}"}},
	{"the type after the data", "data: {}\nevent: ping\n\n", []string{"ping|{}"}},
	{"the last type counts", "event: a\nevent: b\ndata: x\n\n", []string{"b|x"}},
	{"a type holds for one event", "event: a\ndata: 1\n\ndata: 2\n\n", []string{"a|1", "|2"}},
	{"a type without data is dropped", "event: a\n\ndata: 1\n\n", []string{"|1"}},
	{"several lines of data", "data: a\ndata: b\ndata:\ndata: c\n\n", []string{"|a\nb\n\nc"}},
	{"empty data is an event", "data:\n\ndata\n\n", []string{"|", "|"}},
	{"one space is dropped, not two", "data:  a \n\ndata:b\n\n", []string{"| a ", "|b"}},
	{"colons in the data", "data: a: b:c\n\n", []string{"|a: b:c"}},
	{"comments", ": hello\ndata: a\n:\n: data: x\ndata: b\n\n: bye\n\n", []string{"|a\nb"}},
	{"id, retry and unknown fields", "id: 7\nretry: 10\nfoo: bar\ndata: a\nid\n\n", []string{"|a"}},
	{"field names are exact", "Data: a\n data: b\ndata : c\ndatas: d\n\n", nil},
	{"CRLF", "event: x\r\ndata: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", []string{"x|a\nb", "|c"}},
	{"CR", "event: x\rdata: a\rdata: b\r\rdata: c\r\r", []string{"x|a\nb", "|c"}},
	{"ends of all kinds", "data: a\r\n\ndata: b\n\r\ndata: c\r\r\ndata: d\n\r", []string{"|a", "|b", "|c", "|d"}},
	{"a byte order mark", "\ufeffdata: a\n\n", []string{"|a"}},
	{"only one byte order mark", "\ufeff\ufeffdata: a\n\ndata: b\n\n", []string{"|b"}},
	{"a byte order mark inside", "data: a\n\n\ufeffdata: b\n\n", []string{"|a"}},
	{"a null byte and no UTF-8", "data: \x00\xff\n\n", []string{"|\x00\xff"}},
	{"no empty line at the end", "data: a\n\ndata: b\n", []string{"|a", "|b"}},
	{"no line end at the end", "data: a\n\nevent: x\ndata: b", []string{"|a", "x|b"}},
	{"an end without data", "data: a\n\nevent: x", []string{"|a"}},
	{"the end of chat completions", "data: {}\n\ndata: [DONE]\n\n", []string{"|{}", "|[DONE]"}},
	{"the end of chat completions, bare", "data: {}\n\ndata: [DONE]", []string{"|{}", "|[DONE]"}},
	{"longer than the buffer", "data: " + strings.Repeat("x", 50_000) + "\r\ndata: y\n\n",
		[]string{"|" + strings.Repeat("x", 50_000) + "\ny"}},
}

func TestEventReader(t *testing.T) {
	t.Parallel()
	for _, tc := range streams {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for name, r := range map[string]io.Reader{
				"whole":             strings.NewReader(tc.stream),
				"byte by byte":      iotest.OneByteReader(strings.NewReader(tc.stream)),
				"with data and EOF": iotest.DataErrReader(strings.NewReader(tc.stream)),
			} {
				got, err := readEvents(r)
				if diff := cmp.Diff(tc.want, got); diff != "" || err != io.EOF {
					t.Errorf("%s: %v (-want +got)\n%s", name, err, diff)
				}
			}
		})
	}
}

// TestEventReaderSplitAnywhere splits each stream in two at every byte.
func TestEventReaderSplitAnywhere(t *testing.T) {
	t.Parallel()
	for _, tc := range streams {
		if len(tc.stream) > 1000 {
			continue
		}
		for i := range len(tc.stream) + 1 {
			got, err := readEvents(io.MultiReader(strings.NewReader(tc.stream[:i]), strings.NewReader(tc.stream[i:])))
			if diff := cmp.Diff(tc.want, got); diff != "" || err != io.EOF {
				t.Errorf("%s, split at %d: %v (-want +got)\n%s", tc.name, i, err, diff)
			}
		}
	}
}

// TestEventIsReturnedAtOnce holds that an event does not wait for what follows it, not even for the
// line feed of a CRLF.
func TestEventIsReturnedAtOnce(t *testing.T) {
	t.Parallel()
	for _, stream := range []string{"data: a\n\n", "data: a\r\r", "data: a\r\n\r", "data: a\r\n\r\n"} {
		in, out := io.Pipe()
		go func() { _, _ = io.WriteString(out, stream) }() // and nothing more, without an end
		e, err := apiclient.NewEventReader(in).Next()
		if string(e.Data) != "a" || err != nil {
			t.Errorf("%q: event %q, %v", stream, e.Data, err)
		}
		_ = in.Close()
	}
}

func TestEventReaderReportsABrokenStream(t *testing.T) {
	t.Parallel()
	torn := errors.New("torn")
	got, err := readEvents(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(torn)))
	if diff := cmp.Diff([]string{"|a"}, got); diff != "" || !errors.Is(err, torn) {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

// endless repeats a text for ever.
type endless string

func (e endless) Read(p []byte) (int, error) { return copy(p, e), nil }

func TestEventReaderIsBounded(t *testing.T) {
	t.Parallel()
	text := endless(strings.Repeat("x", 16<<10))
	for name, r := range map[string]io.Reader{
		"an endless line of data": io.MultiReader(strings.NewReader("data: "), text),
		"an endless comment":      io.MultiReader(strings.NewReader(": "), text),
		"an endless event":        endless("data: " + strings.Repeat("x", 4<<10) + "\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events, err := readEvents(r)
			if len(events) > 0 || err == nil || !strings.Contains(err.Error(), "larger than 4 MiB") {
				t.Errorf("%d events, error %v", len(events), err)
			}
		})
	}
}

func FuzzEventReader(f *testing.F) {
	for _, tc := range streams {
		f.Add([]byte(tc.stream), 3)
	}
	f.Fuzz(func(t *testing.T, stream []byte, split int) {
		want, err := readEvents(bytes.NewReader(stream))
		if err != io.EOF {
			t.Fatalf("error %v", err)
		}
		if split >= 0 && split <= len(stream) {
			got, err := readEvents(io.MultiReader(bytes.NewReader(stream[:split]), bytes.NewReader(stream[split:])))
			if diff := cmp.Diff(want, got); diff != "" || err != io.EOF {
				t.Errorf("split at %d: %v (-whole +split)\n%s", split, err, diff)
			}
		}
		if got, _ := readEvents(iotest.OneByteReader(bytes.NewReader(stream))); !cmp.Equal(want, got) {
			t.Errorf("byte by byte: %q, whole %q", got, want)
		}
		// Line ends are alike: a stream of LF alone says the same as one of CR or CRLF.
		if bytes.IndexByte(stream, '\r') < 0 {
			for _, end := range []string{"\r", "\r\n"} {
				got, _ := readEvents(bytes.NewReader(bytes.ReplaceAll(stream, []byte("\n"), []byte(end))))
				if !cmp.Equal(want, got) {
					t.Errorf("with %q: %q, want %q", end, got, want)
				}
			}
		}
		// An event written out again is read as the same event.
		for _, event := range want {
			kind, data, _ := strings.Cut(event, "|")
			again := "event: " + kind + "\ndata: " + strings.ReplaceAll(data, "\n", "\ndata: ") + "\n\n"
			if got, _ := readEvents(strings.NewReader(again)); len(got) != 1 || got[0] != event {
				t.Errorf("%q came back as %q", event, got)
			}
		}
	})
}
