package tokenizer

import (
	"unicode/utf8"

	"callgate/tool"
)

// rule is one normalizer or pre-tokenizer of the file. A pointer is nil where the
// file has null or nothing.
type rule struct {
	Type          string `json:"type"`
	Normalizers   []rule `json:"normalizers"`
	PreTokenizers []rule `json:"pretokenizers"`

	CleanText    *bool `json:"clean_text"`
	ChineseChars *bool `json:"handle_chinese_chars"`
	StripAccents *bool `json:"strip_accents"`
	Lowercase    *bool `json:"lowercase"`

	StripLeft  *bool   `json:"strip_left"`
	StripRight *bool   `json:"strip_right"`
	Prepend    string  `json:"prepend"`
	Content    string  `json:"content"`
	Pattern    pattern `json:"pattern"`

	Replacement    string `json:"replacement"`
	PrependScheme  string `json:"prepend_scheme"`
	AddPrefixSpace *bool  `json:"add_prefix_space"`
	Split          *bool  `json:"split"`
	UseRegex       *bool  `json:"use_regex"`
}

type pattern struct {
	String *string
	Regex  *string
}

const (
	maxRules   = 64 // of each kind
	maxContent = 64 // bytes that a rule may insert
	// A text may grow to maxGrowth times its length and maxGrown bytes. Rules that
	// each double it could otherwise fill the memory.
	maxGrowth = 32
	maxGrown  = 1024
)

// or is the value of p, or the default.
func or(p *bool, missing bool) bool {
	if p == nil {
		return missing
	}
	return *p
}

// rewriters appends the steps of a normalizer.
func (r rule) rewriters(all []rewriter) (_ []rewriter, err error) {
	switch r.Type {
	case "": // null
	case "Sequence":
		for _, inner := range r.Normalizers {
			if all, err = inner.rewriters(all); err != nil {
				return nil, err
			}
		}
	case "BertNormalizer":
		all = r.bert(all)
	case "NFC", "NFD", "NFKC", "NFKD":
		all = append(all, toForm(r.Type))
	case "Precompiled":
		all = append(all, toForm("NFKC"), plainSpace)
	case "Lowercase":
		all = append(all, lowercase)
	case "StripAccents":
		all = append(all, dropMarks)
	case "Strip":
		all = append(all, strip(or(r.StripLeft, true), or(r.StripRight, true)))
	case "Prepend":
		all = append(all, prepend(r.Prepend))
	case "Replace":
		rewrite, err := r.replace()
		if err != nil {
			return nil, err
		}
		all = append(all, rewrite)
	default:
		return nil, refuse("the normalizer %q is not supported", tool.Truncate(r.Type)).
			WithHint("BertNormalizer, NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip, Prepend, Replace, " +
				"Precompiled and Sequence of them are")
	}
	if len(all) > maxRules || len(r.Prepend) > maxContent {
		return nil, refuse("there are more than %d normalizers, or one inserts more than %d bytes", maxRules, maxContent)
	}
	return all, nil
}

// bert appends the steps of BERT, in their order. By default accents are removed
// if text is made lower case.
func (r rule) bert(all []rewriter) []rewriter {
	all = append(all, bertClean(or(r.CleanText, true), or(r.ChineseChars, true)))
	lower := or(r.Lowercase, true)
	if or(r.StripAccents, lower) {
		all = append(all, toForm("NFD"), dropMarks)
	}
	if lower {
		all = append(all, lowercase)
	}
	return all
}

func (r rule) replace() (rewriter, error) {
	switch p := r.Pattern; {
	case len(r.Content) > maxContent:
		return nil, refuse("a Replace inserts %d bytes, more than %d", len(r.Content), maxContent)
	case p.String != nil && *p.String != "":
		return replaceText(*p.String, r.Content), nil
	case p.Regex != nil && *p.Regex == `\s+`:
		return replaceSpace(1, isSpace, r.Content), nil
	case p.Regex != nil && *p.Regex == ` {2,}`:
		return replaceSpace(2, isBlank, r.Content), nil
	case p.Regex != nil:
		return nil, refuse("a Replace has the pattern %q", tool.Truncate(*p.Regex)).
			WithHint(`only \s+ and " {2,}" are supported, and plain texts`)
	}
	return nil, refuse("a Replace has no pattern")
}

// splitters appends the steps of a pre-tokenizer.
func (r rule) splitters(all []splitter) (_ []splitter, err error) {
	switch r.Type {
	case "": // null: the text is one word
	case "Sequence":
		for _, inner := range r.PreTokenizers {
			if all, err = inner.splitters(all); err != nil {
				return nil, err
			}
		}
	case "BertPreTokenizer":
		all = append(all, splitBert)
	case "WhitespaceSplit":
		all = append(all, splitSpace)
	case "Metaspace":
		split, err := r.metaspace()
		if err != nil {
			return nil, err
		}
		all = append(all, split)
	case "ByteLevel":
		if or(r.AddPrefixSpace, true) {
			all = append(all, prefixSpace)
		}
		all = append(all, byteLevel(or(r.UseRegex, true)))
	default:
		return nil, refuse("the pre-tokenizer %q is not supported", tool.Truncate(r.Type)).
			WithHint("BertPreTokenizer, WhitespaceSplit, Metaspace, ByteLevel and Sequence of them are")
	}
	if len(all) > maxRules {
		return nil, refuse("there are more than %d pre-tokenizers", maxRules)
	}
	return all, nil
}

func (r rule) metaspace() (splitter, error) {
	mark := r.Replacement
	if mark == "" {
		mark = wordMark
	}
	if utf8.RuneCountInString(mark) != 1 {
		return nil, refuse("Metaspace has the replacement %q, which is not one character", tool.Truncate(mark))
	}
	always := r.PrependScheme == "always" || r.PrependScheme == "" && or(r.AddPrefixSpace, true)
	switch r.PrependScheme {
	case "", "always", "first", "never":
		return metaspace(mark, always, r.PrependScheme == "first", or(r.Split, true)), nil
	}
	return nil, refuse("Metaspace has the prepend_scheme %q", tool.Truncate(r.PrependScheme)).
		WithHint("always, first and never are supported")
}
