// Package lazyregexp holds regular expressions that are compiled when they are
// first used.
//
// A package variable that holds a compiled expression costs every process of
// the program time and memory at its start, also a bridge or a helper that
// never uses it; one with a counted repetition costs tens of kilobytes.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression. Any number of goroutines may use it.
type Regexp struct {
	compiled func() *regexp.Regexp
}

// New makes a regular expression. A method panics if it is not a valid one.
func New(expression string) *Regexp {
	return &Regexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })}
}

// The methods are those of [regexp.Regexp].

// MatchString is [regexp.Regexp.MatchString].
func (r *Regexp) MatchString(text string) bool { return r.compiled().MatchString(text) }

// FindString is [regexp.Regexp.FindString].
func (r *Regexp) FindString(text string) string { return r.compiled().FindString(text) }

// FindStringIndex is [regexp.Regexp.FindStringIndex].
func (r *Regexp) FindStringIndex(text string) []int { return r.compiled().FindStringIndex(text) }

// FindStringSubmatch is [regexp.Regexp.FindStringSubmatch].
func (r *Regexp) FindStringSubmatch(text string) []string {
	return r.compiled().FindStringSubmatch(text)
}

// FindStringSubmatchIndex is [regexp.Regexp.FindStringSubmatchIndex].
func (r *Regexp) FindStringSubmatchIndex(text string) []int {
	return r.compiled().FindStringSubmatchIndex(text)
}

// FindAllString is [regexp.Regexp.FindAllString].
func (r *Regexp) FindAllString(text string, n int) []string {
	return r.compiled().FindAllString(text, n)
}

// FindAllStringIndex is [regexp.Regexp.FindAllStringIndex].
func (r *Regexp) FindAllStringIndex(text string, n int) [][]int {
	return r.compiled().FindAllStringIndex(text, n)
}

// FindAllStringSubmatch is [regexp.Regexp.FindAllStringSubmatch].
func (r *Regexp) FindAllStringSubmatch(text string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(text, n)
}

// FindAllStringSubmatchIndex is [regexp.Regexp.FindAllStringSubmatchIndex].
func (r *Regexp) FindAllStringSubmatchIndex(text string, n int) [][]int {
	return r.compiled().FindAllStringSubmatchIndex(text, n)
}

// ReplaceAllString is [regexp.Regexp.ReplaceAllString].
func (r *Regexp) ReplaceAllString(text, by string) string {
	return r.compiled().ReplaceAllString(text, by)
}

// ReplaceAllStringFunc is [regexp.Regexp.ReplaceAllStringFunc].
func (r *Regexp) ReplaceAllStringFunc(text string, by func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(text, by)
}

// Split is [regexp.Regexp.Split].
func (r *Regexp) Split(text string, n int) []string { return r.compiled().Split(text, n) }
