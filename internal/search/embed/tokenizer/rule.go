package tokenizer

import (
	"unicode/utf8"

	"callgate/tool"
)

// rule is one normalizer or pre-tokenizer as the file writes it. A pointer is
// nil where the file says null or nothing.
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
	maxContent = 64 // bytes that a rule may put in
	// A text may not grow past maxGrowth times its length and maxGrown: rules
	// that each double it would else fill the memory.
	maxGrowth = 32
	maxGrown  = 1024
)

// or is the value of p, or of the default the format has for it.
func or(p *bool, missing bool) bool {
	if p == nil {
		return missing
	}
	return *p
}

// rewriters appends what a normalizer does.
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
		return nil, refuse("the normalizer %q is not known", tool.Truncate(r.Type)).WithHint("see the package comment for those that are")
	}
	if len(all) > maxRules || len(r.Prepend) > maxContent {
		return nil, refuse("there are more than %d normalizers, or one that puts in more than %d bytes", maxRules, maxContent)
	}
	return all, nil
}

// bert is what BERT does to a text, in its order. Unless the file says
// otherwise, accents go where case goes.
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
		return nil, refuse("a Replace puts in %d bytes, more than %d", len(r.Content), maxContent)
	case p.String != nil && *p.String != "":
		return replaceText(*p.String, r.Content), nil
	case p.Regex != nil && *p.Regex == `\s+`:
		return replaceSpace(1, isSpace, r.Content), nil
	case p.Regex != nil && *p.Regex == ` {2,}`:
		return replaceSpace(2, isBlank, r.Content), nil
	case p.Regex != nil:
		return nil, refuse("a Replace has the pattern %q", tool.Truncate(*p.Regex)).WithHint(`only \s+ and " {2,}" are known, and plain texts`)
	}
	return nil, refuse("a Replace says not what it replaces")
}

// splitters appends what a pre-tokenizer does.
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
		return nil, refuse("the pre-tokenizer %q is not known", tool.Truncate(r.Type)).
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
	return nil, refuse("Metaspace has the prepend_scheme %q", tool.Truncate(r.PrependScheme)).WithHint("always, first and never are known")
}
