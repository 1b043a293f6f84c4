package bm25_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/search/lexical/bm25"
)

func TestCount(t *testing.T) {
	t.Parallel()
	var c bm25.Counter
	for text, want := range map[string][]bm25.Term{
		"The boats and the boat of Ada": {{Text: "ada", Times: 1}, {Text: "boat", Times: 2}},
		"what is it":                    {},
		"":                              {},
	} {
		for range 2 { // the second time by what is kept
			got, length := c.Count(text)
			sum := 0
			for _, term := range got {
				sum += term.Times
			}
			if diff := cmp.Diff(want, got); diff != "" || length != sum {
				t.Errorf("%q: %d words, %s", text, length, diff)
			}
		}
	}
}

func TestWeights(t *testing.T) {
	t.Parallel()
	rare, common := bm25.Rarity(1000, 2), bm25.Rarity(1000, 500)
	if rare <= common || common <= 0 || bm25.Rarity(1000, 1000) <= 0 {
		t.Errorf("%v, %v", rare, common)
	}
	once, often := bm25.Weight(rare, 1, 50, 50), bm25.Weight(rare, 100, 50, 50)
	if once >= often || often >= bm25.Most(rare) || bm25.Weight(rare, 1, 500, 50) >= once {
		t.Errorf("%v, %v of %v", once, often, bm25.Most(rare))
	}
}
