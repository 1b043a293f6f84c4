// Package amount writes numbers of things, and of bytes, for people and for models,
// and reads spans of time.
package amount

import (
	"fmt"
	"strings"
)

// Integer is a number that can be written.
type Integer interface{ int | int64 | uint64 }

// Of writes a number of things. The noun is in the singular, and has a regular
// plural.
func Of[N Integer](n N, noun string) string { return As(n, noun, plural(noun)) }

// As writes a number of things in words of its own: "1 table was", "2 tables were".
func As[N Integer](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func plural(noun string) string {
	stem, isY := strings.CutSuffix(noun, "y")
	switch {
	case isY && !strings.HasSuffix(stem, "a") && !strings.HasSuffix(stem, "e") && !strings.HasSuffix(stem, "o"):
		return stem + "ies"
	case strings.HasSuffix(noun, "ch"), strings.HasSuffix(noun, "sh"):
		return noun + "es"
	default:
		return noun + "s"
	}
}

// Bytes writes a number of bytes.
func Bytes[N Integer](n N) string {
	if n < 1<<10 {
		return Of(n, "byte")
	}
	size, unit := float64(n)/(1<<10), 0
	units := []string{"KiB", "MiB", "GiB", "TiB"}
	for size >= 1<<10 && unit < len(units)-1 {
		size, unit = size/(1<<10), unit+1
	}
	return fmt.Sprintf("%.1f %s", size, units[unit])
}

// Thousands groups the digits of a whole number; what is no such number stays as it is.
func Thousands(digits string) string {
	whole := strings.TrimPrefix(digits, "-")
	if strings.Trim(whole, "0123456789") != "" {
		return digits
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if strings.HasPrefix(digits, "-") {
		return "-" + whole
	}
	return whole
}
