package house

import (
	"bytes"
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
)

// size is an amount of Go source. Lines of files named _test.go are test lines;
// all others are shipped lines. A package is a folder with shipped lines.
type size struct {
	shipped, tests, packages int
}

func (s *size) add(o size) {
	s.shipped += o.shipped
	s.tests += o.tests
	s.packages += o.packages
}

// roomSize is the size of a room.
type roomSize struct {
	room string
	size
}

// sizes is the sum of many files, by folder.
type sizes map[string]size

func (s sizes) add(file string, text []byte) {
	of, lines := s[path.Dir(file)], bytes.Count(text, []byte("\n"))
	if isTest(file) {
		of.tests += lines
	} else {
		of.shipped += lines
		of.packages = 1
	}
	s[path.Dir(file)] = of
}

func (s sizes) total() size {
	var sum size
	for _, of := range s {
		sum.add(of)
	}
	return sum
}

// rooms returns the sizes of the rooms, largest first.
func (s sizes) rooms() []roomSize {
	sums := map[string]size{}
	for folder, of := range s {
		sum := sums[roomOf(folder)]
		sum.add(of)
		sums[roomOf(folder)] = sum
	}
	list := make([]roomSize, 0, len(sums))
	for _, room := range slices.Sorted(maps.Keys(sums)) {
		list = append(list, roomSize{room, sums[room]})
	}
	slices.SortStableFunc(list, func(a, b roomSize) int { return cmp.Compare(b.shipped, a.shipped) })
	return list
}

// roomOf returns the room of a folder in the report: the first two elements of a
// path below internal, else the first element.
func roomOf(folder string) string {
	elements := strings.Split(folder, "/")
	if elements[0] == "internal" {
		return path.Join(elements[:min(2, len(elements))]...)
	}
	return elements[0]
}
