package ranking

import (
	"math"
	"slices"
	"strings"

	"callgate/internal/search/lexical/analysis"
)

// The common constants of BM25.
const (
	saturation = 1.2
	lengthNorm = 0.75
)

// count counts the terms of a text. A word without a topic counts for nothing.
func count(s *analysis.Splitter, text string) (counts map[string]int, length int) {
	s.Split(text, false)
	counts = make(map[string]int, len(s.Tokens)/2)
	for _, t := range s.Tokens {
		word := string(s.Text(t))
		if stopWords[word] {
			continue
		}
		counts[analysis.Stem(word)]++
		length++
	}
	return counts, length
}

// words scores every chunk by the words of the question that it has, from 0 to 1 of what a chunk
// could have. It returns nil where the question has no word that counts.
func (x *Index) words(question string) []float32 {
	asked, _ := count(new(analysis.Splitter), question)
	terms := make([]string, 0, len(asked))
	for term := range asked {
		terms = append(terms, term)
	}
	slices.Sort(terms) // sums depend on the order
	mean := max(1, float64(x.total)/float64(x.live))
	ceiling := 0.0
	scores := make([]float32, len(x.ids))
	found := false
	for _, term := range terms {
		have := 0
		p := x.postings[term]
		if p != nil {
			have = p.live
		}
		rarity := math.Log(1 + (float64(x.live)-float64(have)+0.5)/(float64(have)+0.5))
		ceiling += rarity * (saturation + 1)
		if have == 0 {
			continue
		}
		found = true
		for i, n := range p.chunks {
			times := float64(p.counts[i])
			long := 1 - lengthNorm + lengthNorm*float64(x.lengths[n])/mean
			scores[n] += float32(rarity * times * (saturation + 1) / (times + saturation*long))
		}
	}
	if !found {
		return nil
	}
	for i := range scores {
		scores[i] /= float32(ceiling)
	}
	return scores
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
