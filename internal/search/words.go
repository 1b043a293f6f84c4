package search

import (
	"encoding/hex"
	"io"
	"iter"
	"sync"

	"callgate/internal/search/lexical"
	"callgate/internal/search/wordcache"
)

const (
	// wordRecipe names what [document.lexical] reads of a tool. It is part of the recipe of the file of
	// words, so that a new one begins a new file.
	wordRecipe = "name, short, aliases, tags, description, parameters, effect, 1"

	leastKept = 2048 // fewer tools are read as fast as a file
	// The file is written when one in so many tools is not in it: while the index is used, and when it
	// is closed.
	keepOneIn, closeOneIn = 8, 32
)

// wordKeeper keeps the keyword half of an index on disk.
//
// # Law
//
// The file is a shortcut and no state: an index that is made of it is the one that is made of the
// tools. It is read once, by an index that is still empty; a tool that is not in the file, or not as
// it is now, is read like a new one, and what the file has beyond the tools is removed. It is written
// by at most one goroutine, from a state, which does not change; a failure costs the time of the next
// start, and nothing else.
type wordKeeper struct {
	folder string // "" keeps nothing

	mu      sync.Mutex
	missing int // documents of the index that are not in the file
	writing bool
	closed  bool
	done    sync.WaitGroup
}

func (k *wordKeeper) recipe() string {
	print := lexical.Fingerprint()
	return wordRecipe + "\n" + hex.EncodeToString(print[:])
}

// keptWords are the words in the file and the keys of their documents.
type keptWords struct {
	words *lexical.Index
	keys  []wordcache.Key
}

// read reads the file; nil: there is none, or none that is whole.
func (k *wordKeeper) read(opts lexical.Options) *keptWords {
	var kept keptWords
	var err error
	kept.keys, err = wordcache.Read(k.folder, k.recipe(), func(r io.Reader, size int64) (err error) {
		kept.words, err = lexical.Decode(opts, r, size)
		return err
	})
	if err != nil || len(kept.keys) != kept.words.Len() {
		return nil
	}
	return &kept
}

// recall returns a state with those of the documents that the file has, or nil if it has too few.
func (kept *keptWords) recall(docs []document) *state {
	if kept == nil {
		return nil
	}
	keys := kept.keys
	s := &state{words: kept.words, slots: make(map[key]int32, len(docs))}
	wanted := make(map[key]bool, len(docs))
	for _, d := range docs {
		wanted[d.key] = true
	}
	s.docs, s.rows = make([]document, len(keys)), make([]int32, len(keys))
	var gone []int
	for slot, stored := range keys {
		s.rows[slot] = none
		if !wanted[key(stored)] {
			gone = append(gone, slot)
			continue
		}
		delete(wanted, key(stored)) // a document that is there twice counts once
		s.docs[slot].key, s.slots[key(stored)] = key(stored), int32(slot)
	}
	if len(gone) > maxDead(len(s.slots)) {
		return nil
	}
	s.words = s.words.Remove(gone)
	return s
}

// changed notes that documents were added to a state, and writes its words if these are many.
func (k *wordKeeper) changed(s *state, added int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.missing += added
	if k.writing || k.closed || !k.due(s, keepOneIn) {
		return
	}
	k.missing, k.writing = 0, true
	k.done.Go(func() {
		k.write(s)
		k.mu.Lock()
		defer k.mu.Unlock()
		k.writing = false
	})
}

// due reports whether the file should be written. k.mu is held.
func (k *wordKeeper) due(s *state, oneIn int) bool {
	return k.folder != "" && len(s.slots) >= leastKept && k.missing > len(s.slots)/oneIn
}

func (k *wordKeeper) write(s *state) {
	keys := make([]wordcache.Key, len(s.docs)) // zero for a document that was removed
	for k, slot := range s.slots {
		keys[slot] = wordcache.Key(k)
	}
	_ = wordcache.Write(k.folder, k.recipe(), keys, s.words.Encode) // without a file, tools are read again
}

// close writes the words of the last state if that is due.
func (k *wordKeeper) close(s *state) {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.done.Wait()
	k.mu.Lock()
	due := k.due(s, closeOneIn)
	k.missing = 0
	k.mu.Unlock()
	if due {
		k.write(s)
	}
}

// described yields the documents for the keyword half. They are read on all cores, some ahead of the
// one that is used.
func described(docs []document) iter.Seq[lexical.Doc] {
	const ahead = 2048
	read := func(from int) chan []lexical.Doc {
		list := make(chan []lexical.Doc, 1)
		some := docs[min(from, len(docs)):min(from+ahead, len(docs))]
		go func() {
			read := make([]lexical.Doc, len(some))
			inParallel(len(some), func(i int) { read[i] = some[i].lexical() })
			list <- read
		}()
		return list
	}
	return func(yield func(lexical.Doc) bool) {
		next := read(0)
		for from := 0; from < len(docs); from += ahead {
			list := <-next
			next = read(from + ahead)
			for _, d := range list {
				if !yield(d) {
					return
				}
			}
		}
	}
}
