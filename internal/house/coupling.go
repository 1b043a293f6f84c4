package house

import (
	"cmp"
	"maps"
	"path"
	"slices"
)

// soleImport is a package that only one shipped package imports.
type soleImport struct {
	folder, importer string
	lines            int
}

// fromParent reports whether the importer is the parent folder.
func (s soleImport) fromParent() bool { return path.Dir(s.folder) == s.importer }

// soleImports returns the packages with exactly one importer: those that only
// their parent imports come first, and small ones before large ones.
func soleImports(index map[string]*pkg) []soleImport {
	var list []soleImport
	for _, p := range byFolder(index) {
		if len(p.importers) != 1 || p.forTests() {
			continue
		}
		for importer := range p.importers {
			list = append(list, soleImport{p.folder, importer, p.lines})
		}
	}
	slices.SortStableFunc(list, func(a, b soleImport) int {
		if a.fromParent() != b.fromParent() {
			if a.fromParent() {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.lines, b.lines)
	})
	return list
}

// manyMethods is the number of methods above which functions that take a value
// of the type are counted.
const manyMethods = 25

// outsideMethods counts the functions beside a large type that could be its
// methods.
type outsideMethods struct {
	name               string // folder and type
	functions, methods int
}

// functionsOnLargeTypes counts, for each type with more than manyMethods methods,
// the functions of its package that take it, or a pointer to it, as their first
// parameter; a context may precede it. The type with the most comes first.
func functionsOnLargeTypes(index map[string]*pkg) []outsideMethods {
	var list []outsideMethods
	for _, p := range byFolder(index) {
		for _, name := range slices.Sorted(maps.Keys(p.methods)) {
			if methods, functions := len(p.methods[name]), len(p.functions[name]); methods > manyMethods && functions > 0 {
				list = append(list, outsideMethods{p.folder + "." + name, functions, methods})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b outsideMethods) int { return cmp.Compare(b.functions, a.functions) })
	return list
}

// sharedName is a package name that several folders use.
type sharedName struct {
	name    string
	folders []string
}

// sharedNames returns the package names that are used twice or more, main left
// out. The most used comes first.
func sharedNames(index map[string]*pkg) []sharedName {
	folders := map[string][]string{}
	for _, p := range byFolder(index) {
		folders[p.name] = append(folders[p.name], p.folder)
	}
	delete(folders, "main")
	var list []sharedName
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		if len(folders[name]) > 1 {
			list = append(list, sharedName{name, folders[name]})
		}
	}
	slices.SortStableFunc(list, func(a, b sharedName) int { return cmp.Compare(len(b.folders), len(a.folders)) })
	return list
}

// exports counts exported package-level names, those of commands and of test
// helpers left out.
type exports struct {
	all      int
	usedOnce int         // names that exactly one other shipped package uses
	packages []exportsOf // with a name that is used once, most such names first
}

type exportsOf struct {
	folder        string
	all, usedOnce int
}

func measureExports(index map[string]*pkg) exports {
	var e exports
	for _, p := range byFolder(index) {
		if p.name == "main" || p.forTests() {
			continue
		}
		of := exportsOf{folder: p.folder, all: len(p.exported)}
		for _, users := range p.usedBy {
			if len(users) == 1 {
				of.usedOnce++
			}
		}
		e.all, e.usedOnce = e.all+of.all, e.usedOnce+of.usedOnce
		if of.usedOnce > 0 {
			e.packages = append(e.packages, of)
		}
	}
	slices.SortStableFunc(e.packages, func(a, b exportsOf) int { return cmp.Compare(b.usedOnce, a.usedOnce) })
	return e
}
