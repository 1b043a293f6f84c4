//go:build race

package phrasing_test

const plain = false
