package phrasing

import (
	"strings"
	"unicode/utf8"
)

// quantity adds the number, date, time or amount that starts at i and returns
// where it ends, or returns i if none starts there.
func (s *scanner) quantity(i int) int {
	j, money := i, false
	if sign := currency(s.text[j:]); sign > 0 {
		j, money = j+sign, true
	} else if (s.text[j] == '+' || s.text[j] == '-') && (i == 0 || s.text[i-1] == ' ') {
		j++
	}
	if j >= len(s.text) || !digit(s.text[j]) {
		return i
	}
	digits, separators := 0, 0
	for j < len(s.text) {
		if digit(s.text[j]) {
			digits++
		} else if separator(s.text[j]) && j+1 < len(s.text) && digit(s.text[j+1]) {
			separators++
		} else {
			break
		}
		j++
	}
	hi, known := s.unit(j)
	if !known && hi > j {
		return i // 3d, 2fa: a word
	}
	s.chunk = max(s.chunk, hi)
	if money || known || separators > 0 || digits >= 3 || s.afterMonth() {
		return s.addValue(i, hi)
	}
	s.add(number, i, j, wordWeight)
	return j
}

func separator(b byte) bool { return b == '.' || b == ',' || b == ':' || b == '/' || b == '-' }

// currency returns the length of the sign of a currency at the start of a text.
func currency(text string) int {
	for _, sign := range [...]string{"$", "€", "£", "¥", "₹", "₽", "₩", "₺", "₴", "฿", "￥"} {
		if strings.HasPrefix(text, sign) {
			return len(sign)
		}
	}
	return 0
}

// afterMonth reports whether the last piece is the name of a month, and makes it
// a part of the date.
func (s *scanner) afterMonth() bool {
	if len(s.pieces) == 0 {
		return false
	}
	last := &s.pieces[len(s.pieces)-1]
	if last.kind != word || last.term == noTerm || !s.words.terms[last.term].is.month {
		return false
	}
	last.kind = value
	return true
}

// unit returns where the unit ends that follows a number that ends at j. It is
// not known if letters follow that are no unit.
func (s *scanner) unit(j int) (hi int, known bool) {
	rest := s.text[j:]
	if n := currency(rest); n > 0 {
		return j + n, true
	}
	for _, percent := range [...]string{"%", "％", "٪"} {
		if strings.HasPrefix(rest, percent) {
			return j + len(percent), true
		}
	}
	r, size := utf8.DecodeRuneInString(rest)
	if strings.ContainsRune("年月日号點点时時分秒元円块个個公里米度岁歳人回件枚本台년월일시분초원개명", r) && len(rest) > 0 {
		return j + size, true
	}
	attached := true
	if len(rest) > 1 && (rest[0] == ' ' || rest[0] == '-') {
		j, rest, attached = j+1, rest[1:], false
	}
	if n := dayHalf(rest); n > 0 {
		return j + n, true
	}
	n := 0
	for n < len(rest) {
		r, size := utf8.DecodeRuneInString(rest[n:])
		if !letter(r) && r != '°' || n > 0 && digit(rest[n]) {
			break
		}
		n += size
	}
	if n > 0 && n <= maxTermBytes && s.words.isUnit(rest[:n]) {
		return j + n, true
	}
	if attached {
		return j + n, false
	}
	return j - 1, false
}

// dayHalf returns the length of "a.m." or "p.m." at the start of a text.
func dayHalf(text string) int {
	if len(text) < 3 || !strings.EqualFold(text[:3], "a.m") && !strings.EqualFold(text[:3], "p.m") {
		return 0
	}
	if len(text) > 3 && text[3] == '.' {
		return 4
	}
	return 3
}

// hasSecond reports whether a list goes on with its second number. It is asked
// until it says no.
func hasSecond(text string) bool {
	return strings.Contains(text, " 2.") || strings.Contains(text, " 2)") || strings.Contains(text, " (2)") ||
		strings.Contains(text, "\n2.") || strings.Contains(text, "\n2)") || strings.Contains(text, "2、")
}
