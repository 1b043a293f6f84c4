package lexical

import "slices"

// merger copies the live documents of neighbouring parts into one segment. Impacts
// belong to documents, so no text is analysed again.
type merger struct {
	dead []uint64
	out  *segment
	at   []uint32 // the position of the next posting of a term
	live int
}

func merge(parts []part, dead []uint64) part {
	m := merger{dead: dead, out: &segment{base: parts[0].base, docStart: []uint32{0}}}
	ids := m.vocabulary(parts)
	for i := range parts {
		m.postings(&parts[i], ids[i])
		m.documents(&parts[i], ids[i])
	}
	m.out.seal()
	return newPart(m.out, m.live)
}

// vocabulary numbers every word and term that is still in use, and returns the new
// numbers of each part's entries.
func (m *merger) vocabulary(parts []part) [][]uint32 {
	s := m.out
	entries, words := 0, 0
	for _, p := range parts {
		entries, words = max(entries, len(p.text)), words+len(p.docWords)
	}
	s.ids = make(map[string]uint32, entries)
	s.docWords, s.docMasks = make([]uint32, 0, words), make([]uint16, 0, words)
	ids := make([][]uint32, len(parts))
	count := make([]uint32, 0, entries)
	for i, p := range parts {
		ids[i] = make([]uint32, len(p.text))
		for old, text := range p.text {
			if p.wordsIn[old] == 0 && p.termsIn[old] == 0 {
				continue
			}
			id, known := s.ids[text]
			if !known {
				id = uint32(len(s.text))
				s.ids[text], s.text, count = id, append(s.text, text), append(count, 0)
			}
			ids[i][old] = id
			count[id] += p.termsIn[old]
		}
	}
	s.stem = make([]uint32, len(s.text))
	s.start = make([]uint32, len(s.text)+1)
	for i, n := range count {
		s.start[i+1] = s.start[i] + n
	}
	s.posts = make([]posting, s.start[len(s.text)])
	m.at = slices.Clone(s.start)
	return ids
}

func (m *merger) postings(p *part, ids []uint32) {
	for old, id := range ids {
		if p.wordsIn[old] > 0 {
			m.out.stem[id] = ids[p.stem[old]]
		}
		if p.termsIn[old] == 0 {
			continue
		}
		for _, post := range p.list(uint32(old)) {
			if !gone(m.dead, post.doc) {
				m.out.posts[m.at[id]] = post
				m.at[id]++
			}
		}
	}
}

func (m *merger) documents(p *part, ids []uint32) {
	for n := p.base; n < p.base+uint32(p.docs()); n++ {
		if !gone(m.dead, n) {
			m.live++
			words, masks := p.document(n)
			for _, w := range words {
				m.out.docWords = append(m.out.docWords, ids[w])
			}
			m.out.docMasks = append(m.out.docMasks, masks...)
		}
		m.out.docStart = append(m.out.docStart, uint32(len(m.out.docWords)))
	}
	for _, name := range p.names {
		if !gone(m.dead, name.doc) {
			m.out.names = append(m.out.names, name)
		}
	}
}
