package house

import (
	"reflect"
	"testing"
)

func TestSizes(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		total size
		rooms []roomSize
	}{
		"one package": {
			map[string]string{"tool/a.go": "package tool\n", "tool/b.go": "package tool\n\n"},
			size{shipped: 3, packages: 1},
			[]roomSize{{"tool", size{shipped: 3, packages: 1}}},
		},
		"tests are apart": {
			map[string]string{"tool/a.go": "package tool\n", "tool/a_test.go": "package tool\n\n"},
			size{shipped: 1, tests: 2, packages: 1},
			[]roomSize{{"tool", size{shipped: 1, tests: 2, packages: 1}}},
		},
		"a folder of tests is no package": {
			map[string]string{"tool/a_test.go": "package tool\n"},
			size{tests: 1},
			[]roomSize{{"tool", size{tests: 1}}},
		},
		"a room below internal has two elements": {
			map[string]string{
				"internal/gate/a.go": "package gate\n", "internal/gate/lock/local/a.go": "package local\n",
				"internal/app/a.go": "package app\n\n\n",
			},
			size{shipped: 5, packages: 3},
			[]roomSize{
				{"internal/app", size{shipped: 3, packages: 1}}, {"internal/gate", size{shipped: 2, packages: 2}},
			},
		},
		"any other room has one element": {
			map[string]string{
				"cmd/callgate/a.go": "package main\n\n\n", "a.go": "package callgate\n\n", "scripts/x/y/a.go": "package y\n",
			},
			size{shipped: 6, packages: 3},
			[]roomSize{
				{"cmd", size{shipped: 3, packages: 1}}, {".", size{shipped: 2, packages: 1}},
				{"scripts", size{shipped: 1, packages: 1}},
			},
		},
		"a tie is in the order of names": {
			map[string]string{"b/a.go": "package b\n", "a/a.go": "package a\n"},
			size{shipped: 2, packages: 2},
			[]roomSize{{"a", size{shipped: 1, packages: 1}}, {"b", size{shipped: 1, packages: 1}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			sum := sizes{}
			for file, text := range c.files {
				sum.add(file, []byte(text))
			}
			if got := sum.total(); got != c.total {
				t.Errorf("total: got %v, want %v", got, c.total)
			}
			if got := sum.rooms(); !reflect.DeepEqual(got, c.rooms) {
				t.Errorf("rooms: got %v, want %v", got, c.rooms)
			}
		})
	}
}
