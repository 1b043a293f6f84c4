// Package nearest answers "did you mean": which of the known names is within a
// few typing errors of the one that was written. It is in the lowest layer,
// because names are mistyped everywhere.
package nearest

import (
	"cmp"
	"slices"
	"strings"
)

// Allowed is the number of typing errors with which a name of n bytes may still
// be meant for another.
func Allowed(n int) int { return min(3, max(1, n/3)) }

// Name returns the known name nearest to want, ignoring case, or "" when none
// is near.
func Name(want string, known []string) string {
	best, off := "", Allowed(len(want))+1
	sorted := slices.Sorted(slices.Values(known))
	for _, k := range sorted {
		if d := Distance(strings.ToLower(want), strings.ToLower(k), off); d < off {
			best, off = k, d
		}
	}
	return best
}

// Names returns up to most known names near to want, nearest first.
func Names(want string, known []string, most int) []string {
	type near struct {
		name string
		off  int
	}
	allowed := Allowed(len(want))
	var found []near
	for _, k := range known {
		if d := Distance(strings.ToLower(want), strings.ToLower(k), allowed+1); d <= allowed {
			found = append(found, near{k, d})
		}
	}
	slices.SortFunc(found, func(a, b near) int { return cmp.Or(cmp.Compare(a.off, b.off), cmp.Compare(a.name, b.name)) })
	names := make([]string, 0, most)
	for _, n := range found[:min(len(found), most)] {
		names = append(names, n.name)
	}
	return names
}

// maxLen bounds what is compared; longer names are far from everything.
const maxLen = 128

// Distance counts the insertions, deletions, substitutions and swaps of
// neighbours that turn a into b (optimal string alignment over bytes). It
// gives up at limit and returns that.
func Distance(a, b string, limit int) int {
	if a == b {
		return 0
	}
	if d := len(a) - len(b); d >= limit || -d >= limit || len(a) > maxLen || len(b) > maxLen {
		return limit
	}
	var rows [3][maxLen + 1]int
	before, above, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least >= limit {
			return limit
		}
		before, above, row = above, row, before
	}
	return min(above[len(b)], limit)
}
