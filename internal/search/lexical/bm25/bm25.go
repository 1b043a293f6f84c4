// Package bm25 weighs the words that a text shares with a question: a word in few texts counts
// more, one that a text repeats counts a little more, and one in a long text a little less.
package bm25

import (
	"math"
	"slices"
	"strings"

	"callgate/internal/search/lexical/analysis"
)

// The common constants.
const (
	saturation = 1.2
	lengthNorm = 0.75
)

// Term is a word as it is compared, and how often a text has it.
type Term struct {
	Text  string
	Times int
}

// Counter counts the terms of texts. The zero value is ready; it is for one goroutine.
type Counter struct {
	splitter analysis.Splitter
	stems    map[string]string // of words that were seen lately; "" has no topic
	found    []string
}

// maxStems bounds the words whose stems are kept.
const maxStems = 1 << 16

// Count returns the terms of a text in their order, and how many words it has. A word without a
// topic counts for nothing.
func (c *Counter) Count(text string) (terms []Term, length int) {
	c.splitter.Split(text, false)
	c.found = c.found[:0]
	for _, t := range c.splitter.Tokens {
		if stem := c.stem(c.splitter.Text(t)); stem != "" {
			c.found = append(c.found, stem)
		}
	}
	slices.Sort(c.found)
	terms = make([]Term, 0, len(c.found))
	for i, stem := range c.found {
		if i > 0 && stem == c.found[i-1] {
			terms[len(terms)-1].Times++
			continue
		}
		terms = append(terms, Term{stem, 1})
	}
	return terms, len(c.found)
}

func (c *Counter) stem(word []byte) string {
	if stem, known := c.stems[string(word)]; known {
		return stem
	}
	if c.stems == nil || len(c.stems) >= maxStems {
		c.stems = map[string]string{}
	}
	text, stem := string(word), ""
	if !stopWords[text] {
		stem = analysis.Stem(text)
	}
	c.stems[text] = stem
	return stem
}

// Rarity is what a term counts that some of the texts have.
func Rarity(texts, having int) float64 {
	return math.Log(1 + (float64(texts-having)+0.5)/(float64(having)+0.5))
}

// Most is the most that a term of this rarity adds to the score of a text.
func Most(rarity float64) float64 { return rarity * (saturation + 1) }

// Weight is what a term adds to the score of a text that has it some times. Mean is the mean length
// of the texts.
func Weight(rarity, times, length, mean float64) float64 {
	long := 1 - lengthNorm + lengthNorm*length/mean
	return rarity * times * (saturation + 1) / (times + saturation*long)
}

// stopWords are words without a topic, folded as the splitter folds them, in the most frequent
// languages.
var stopWords = func() map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields(`
		a an and are as at be been but by can could did do does for from had has have how i if in into is it its me my of on
		or our she should he so than that the their them then there these they this those to us was we were what when
		where which who why will with would you your
		au aux avec ce ces cette dans de des du elle en est et il ils je la le les leur lui ma mes mon ne nous on ou par
		pas pour qu que quel quelle qui sa se ses son sont sur ta tes ton tu un une vos votre vous
		das dem den der des die ein eine einem einen einer es ich ihr im ist mein mit nicht oder sie sind und uns von war
		was wer wie wir wo zu zum zur
		al como con cual de del el ella es esta este la las lo los mi o para por que quien se son su sus un una y
	`) {
		all[w] = true
	}
	return all
}()
