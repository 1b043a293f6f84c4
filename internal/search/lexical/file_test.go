package lexical_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"callgate/internal/search/lexical"
)

func encoded(t testing.TB, x *lexical.Index) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := x.Encode(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func decoded(data []byte) (*lexical.Index, error) {
	return lexical.Decode(lexical.Options{}, bytes.NewReader(data), int64(len(data)))
}

// An index that was written and read answers as before, and changes as before.
func TestWrittenAndRead(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 22))
		var docs []lexical.Doc
		x := lexical.Build(lexical.Options{}, nil)
		for range 4 {
			var more []lexical.Doc
			for range r.IntN(60) {
				more = append(more, randomDoc(r))
			}
			docs, x = append(docs, more...), x.Append(more)
		}
		dead := make([]bool, len(docs))
		x = x.Remove(randomDeaths(r, dead))
		read, err := decoded(encoded(t, x))
		if err != nil || read.Len() != len(docs) {
			t.Fatal(read, err)
		}
		var gone []int
		for n, d := range dead {
			if d {
				gone = append(gone, n)
			}
		}
		read = read.Remove(gone)
		for range 3 {
			compareWithFresh(t, r, lexical.Options{}, read, docs, dead)
			more := []lexical.Doc{randomDoc(r), randomDoc(r)}
			docs, dead, read = append(docs, more...), append(dead, false, false), read.Append(more)
			read = read.Remove(randomDeaths(r, dead))
		}
		if !slices.Equal(encoded(t, x), encoded(t, x)) {
			t.Error("the same index is written in two ways")
		}
	}
}

// Bytes that are missing, too many or others are refused, or are an index that works.
func TestDamageIsNoIndex(t *testing.T) {
	t.Parallel()
	data := encoded(t, lexical.Build(lexical.Options{}, catalog))
	for n := 0; n < len(data); n += 7 {
		if _, err := decoded(data[:n]); !errors.Is(err, lexical.ErrFormat) {
			t.Fatalf("%d of %d bytes: %v", n, len(data), err)
		}
	}
	if _, err := decoded(append(slices.Clone(data), 0)); !errors.Is(err, lexical.ErrFormat) {
		t.Error("a byte too many:", err)
	}
	broken := errors.New("broken")
	source := io.MultiReader(bytes.NewReader(data[:100]), readerOf{broken})
	if _, err := lexical.Decode(lexical.Options{}, source, int64(len(data))); !errors.Is(err, broken) {
		t.Error(err)
	}
	r := rand.New(rand.NewPCG(5, 22))
	for range 300 {
		other := slices.Clone(data)
		for range 1 + r.IntN(3) {
			other[r.IntN(len(other))] = byte(r.Uint32())
		}
		use(t, other)
	}
}

type readerOf struct{ err error }

func (r readerOf) Read([]byte) (int, error) { return 0, r.err }

// use calls everything that reads a segment.
func use(t *testing.T, data []byte) {
	t.Helper()
	x, err := decoded(data)
	if err != nil {
		return
	}
	some := fmt.Sprint(x.Len() / 2)
	for _, index := range []*lexical.Index{
		x, x.Append(catalog[:2]), x.Remove([]int{0, x.Len() / 2}).Append(catalog[:1]), x.Remove(upTo(x.Len() * 2 / 3)),
	} {
		for _, text := range []string{"read a file", "kuberntes", "wetter heute für " + some, "web page", "天气", "f"} {
			q := index.Query(text)
			if n := len(q.Scores(nil)); n != index.Len() {
				t.Fatal(n)
			}
			for n := range index.Len() {
				q.Why(n)
			}
		}
		if err := index.Encode(io.Discard); err != nil {
			t.Fatal(err)
		}
	}
}

func upTo(n int) []int {
	var numbers []int
	for i := range n {
		numbers = append(numbers, i)
	}
	return numbers
}

func FuzzDecode(f *testing.F) {
	f.Add(encoded(f, lexical.Build(lexical.Options{}, catalog[:3])))
	f.Add(encoded(f, lexical.Build(lexical.Options{}, nil)))
	f.Add([]byte("not an index"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 1<<14 {
			use(t, data)
		}
	})
}
