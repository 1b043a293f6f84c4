// Package visible shows everything in a text. A human who decides on a text must
// see all that a model would read in it, and nothing in it may act on the
// terminal or page where it is shown.
//
// # Law
//
// Text of a model, a tool, a server or a file reaches a terminal or a form
// through this package and through nothing else.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text writes a text so that a human sees all that a model would read. A
// character without a shape, or one that moves the cursor or the reading
// direction, is written as ⟨U+200B⟩, a run of it as ⟨U+200B×3⟩. Text hidden in
// Unicode tag characters is written out beside them. Line ends and tabs are
// written this way too, so the result is one line that is safe on a terminal.
func Text(s string) string { return write(s, Hidden) }

// Lines is Text of several lines: line ends, tabs and the spaces of other
// scripts stay.
func Lines(s string) string { return write(s, hiddenInLines) }

// hiddenInLines reports whether Lines writes a rune out.
func hiddenInLines(r rune) bool {
	return r != '\n' && r != '\t' && Hidden(r) && !unicode.Is(unicode.Zs, r)
}

// Clip is Text of at most n characters. It says how many more there are.
func Clip(s string, n int) string { return clip(Text(s), n) }

// ClipLines is Lines of at most n characters. It says how many more there are.
func ClipLines(s string, n int) string { return clip(Lines(s), n) }

func clip(shown string, n int) string {
	at := 0
	for i := range shown {
		if at == n {
			return fmt.Sprintf("%s… ⟨%d more characters⟩", shown[:i], utf8.RuneCountInString(shown[i:]))
		}
		at++
	}
	return shown
}

// JSON writes the characters of a JSON text that Lines would write out as escapes
// of JSON (an emoji stays whole), so that the text can be edited and keeps its
// meaning. Line ends and
// tabs stay; in a JSON text they only lay it out. The characters < > and & are
// written as themselves, though Go's encoder escapes them.
func JSON(s string) string {
	s = plainHTML(s)
	if !strings.ContainsFunc(s, Hidden) {
		return s
	}
	var b strings.Builder
	runes := []rune(s)
	for i, r := range runes {
		switch {
		case r == '\n' || r == '\t' || !Hidden(r) || InEmoji(runes, i):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// withBytes writes out the bytes that are no text, so that texts that differ are shown
// differently.
func withBytes(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r != utf8.RuneError || n != 1 {
			b.WriteString(s[i : i+n])
			i += n
			continue
		}
		end := i
		for end < len(s) {
			if r, n := utf8.DecodeRuneInString(s[end:]); r != utf8.RuneError || n != 1 {
				break
			}
			end++
		}
		fmt.Fprintf(&b, "⟨not UTF-8: % X⟩", s[i:end])
		i = end
	}
	return b.String()
}

// write writes out the runes of s that are hidden.
func write(s string, hidden func(rune) bool) string {
	s = withBytes(s)
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	runes := []rune(s)
	for i := 0; i < len(runes); {
		r := runes[i]
		end := i + 1
		switch {
		case !hidden(r) || InEmoji(runes, i):
			b.WriteRune(r)
		case IsTag(r):
			for end < len(runes) && IsTag(runes[end]) {
				end++
			}
			fmt.Fprintf(&b, "⟨U+%04X… tags %q⟩", r, untag(runes[i:end]))
		default:
			for end < len(runes) && runes[end] == r {
				end++
			}
			fmt.Fprintf(&b, "⟨U+%04X", r)
			if end > i+1 {
				fmt.Fprintf(&b, "×%d", end-i)
			}
			b.WriteString("⟩")
		}
		i = end
	}
	return b.String()
}

// Hidden reports whether a rune is not visible as what it is: it is not a
// letter, mark, number, symbol, picture or plain space.
func Hidden(r rune) bool {
	switch {
	case r < 0x7f:
		return r < ' '
	case 0x1F000 <= r && r <= 0x1FAFF:
		return false // also a picture that is newer than the tables of this build
	}
	return !unicode.IsPrint(r) || IsVariation(r) || IsFiller(r)
}

// InEmoji reports whether a selector or joiner is part of an emoji, or a tag is
// part of one of the three flags that are spelt with tags.
func InEmoji(runes []rune, i int) bool {
	if i == 0 {
		return false
	}
	switch r := runes[i]; {
	case r == 0xFE0E || r == 0xFE0F:
		keycap := strings.ContainsRune("#*0123456789", runes[i-1]) && i+1 < len(runes) && runes[i+1] == 0x20E3
		return keycap || isPicture(runes[i-1])
	case r == 0x200D:
		before := runes[i-1]
		if before == 0xFE0F && i > 1 {
			before = runes[i-2]
		}
		return isPicture(before) && i+1 < len(runes) && isPicture(runes[i+1])
	case IsTag(r):
		return inFlag(runes, i)
	}
	return false
}

// isPicture reports whether an emoji can contain a rune: the symbols, arrows and
// shapes of the basic plane and the pictographs above it.
func isPicture(r rune) bool {
	switch r {
	case 0xA9, 0xAE, 0x203C, 0x2049, 0x2122, 0x2139, 0x3030, 0x303D, 0x3297, 0x3299:
		return true
	}
	return !Hidden(r) && (0x1F000 <= r && r <= 0x1FAFF || 0x2190 <= r && r <= 0x2BFF)
}

// inFlag reports whether a tag is part of the flag of England, Scotland or
// Wales.
func inFlag(runes []rune, i int) bool {
	const longest = 6 // five letters and the tag that ends them
	from, end := i, i
	for from > 0 && i-from < longest && IsTag(runes[from-1]) {
		from--
	}
	for end < len(runes) && end-from <= longest && IsTag(runes[end]) {
		end++
	}
	if from == 0 || end-from != longest || runes[from-1] != 0x1F3F4 || runes[end-1] != 0xE007F {
		return false
	}
	switch untag(runes[from:end]) {
	case "gbeng", "gbsct", "gbwls":
		return true
	}
	return false
}

// IsTag reports whether a rune is one of the invisible copies of ASCII in plane
// 14.
func IsTag(r rune) bool { return 0xE0000 <= r && r <= 0xE007F }

// untag returns the text that tag characters spell.
func untag(run []rune) string {
	var b strings.Builder
	for _, r := range run {
		if plain := r - 0xE0000; ' ' <= plain && plain <= '~' {
			b.WriteRune(plain)
		}
	}
	return b.String()
}

// IsVariation reports whether a rune is a selector that changes how the rune
// before it is drawn.
func IsVariation(r rune) bool {
	return 0xFE00 <= r && r <= 0xFE0F || 0xE0100 <= r && r <= 0xE01EF || 0x180B <= r && r <= 0x180F
}

// IsFiller reports whether a rune is a letter or mark that is not drawn.
func IsFiller(r rune) bool {
	switch r {
	case 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0:
		return true
	}
	return false
}

// plainHTML writes the escapes of < > and & in a JSON text as the characters.
func plainHTML(s string) string {
	if !strings.Contains(s, `\u00`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		if i+6 <= len(s) {
			switch strings.ToLower(s[i : i+6]) {
			case `\u003c`, `\u003e`, `\u0026`:
				b.WriteByte(map[byte]byte{'c': '<', 'e': '>', '6': '&'}[strings.ToLower(s[i+5 : i+6])[0]])
				i += 5
				continue
			}
		}
		b.WriteString(s[i : i+2]) // an escape of something else, also of a backslash
		i++
	}
	return b.String()
}
