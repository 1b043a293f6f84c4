package highlight

// language is what the scanner knows of a programming language. The lists of
// words are divided by spaces.
type language struct {
	keywords     string
	builtins     string
	lineComments []string
	blockComment [2]string
	quotes       string   // of strings that end with their line
	textQuotes   []string // of strings that may have several lines
	rawText      bool     // those have no escapes
	ignoreCase   bool     // of keywords, which are written small here
	calls        bool     // a name before a parenthesis is a function
	keys         bool     // a string before a colon is a key
}

// cLike is what most languages have in common.
func cLike(keywords string) language {
	return language{
		keywords: keywords, lineComments: []string{"//"}, blockComment: [2]string{"/*", "*/"}, quotes: `"'`, calls: true,
	}
}

// languageOf finds a language by a name that people write after a fence.
func languageOf(name string) (language, bool) {
	switch name {
	case "go", "golang":
		l := cLike(goWords)
		l.textQuotes, l.rawText = []string{"`"}, true
		return l, true
	case "js", "javascript", "jsx", "mjs", "ts", "typescript", "tsx":
		l := cLike(scriptWords)
		l.textQuotes = []string{"`"}
		return l, true
	case "java", "kotlin", "kt", "scala", "groovy", "c#", "cs", "csharp", "swift", "dart":
		l := cLike(objectWords)
		l.textQuotes = []string{`"""`}
		return l, true
	case "c", "h", "cpp", "c++", "cc", "hpp", "objc", "proto", "protobuf", "zig":
		return cLike(systemWords), true
	case "rust", "rs":
		l := cLike(rustWords)
		l.quotes = `"` // an apostrophe begins a lifetime, too
		return l, true
	case "php":
		l := cLike(objectWords + " echo foreach elseif function array isset unset use endif")
		l.lineComments = []string{"//", "#"}
		return l, true
	case "css", "scss", "less":
		return language{lineComments: []string{"//"}, blockComment: [2]string{"/*", "*/"}, quotes: `"'`, calls: true}, true
	case "json", "json5", "jsonc", "ndjson", "jsonl":
		l := cLike("true false null")
		l.keys = true
		return l, true
	}
	return scriptingLanguage(name)
}

func scriptingLanguage(name string) (language, bool) {
	hash := language{lineComments: []string{"#"}, quotes: `"'`, calls: true}
	switch name {
	case "python", "py", "python3", "starlark", "bzl", "gdscript":
		hash.keywords, hash.builtins, hash.textQuotes = pythonWords, pythonNames, []string{`"""`, `'''`}
		return hash, true
	case "sh", "bash", "shell", "zsh", "fish", "console", "shell-session", "powershell", "ps1":
		hash.keywords, hash.builtins, hash.calls = shellWords, shellNames, false
		return hash, true
	case "dockerfile", "docker":
		hash.keywords, hash.calls = dockerWords, false
		return hash, true
	case "makefile", "make":
		hash.keywords = makeWords
		return hash, true
	case "ruby", "rb", "elixir", "ex", "crystal":
		hash.keywords = rubyWords
		return hash, true
	case "perl", "pl", "r", "nim", "julia", "jl":
		hash.keywords = dynamicWords
		return hash, true
	case "terraform", "tf", "hcl", "nix":
		hash.keywords = configWords
		return hash, true
	case "sql", "postgresql", "postgres", "mysql", "sqlite", "plsql":
		l := language{keywords: sqlWords, ignoreCase: true, quotes: "'\"", calls: true}
		l.lineComments, l.blockComment = []string{"--"}, [2]string{"/*", "*/"}
		return l, true
	case "lua":
		l := language{lineComments: []string{"--"}, blockComment: [2]string{"--[[", "]]"}, quotes: `"'`, calls: true}
		l.keywords = luaWords
		return l, true
	case "haskell", "hs", "elm", "ocaml", "ml":
		l := language{lineComments: []string{"--"}, blockComment: [2]string{"{-", "-}"}, quotes: `"`}
		l.keywords = functionalWords
		return l, true
	}
	return language{}, false
}

// The words of languages, and of families of them.
const (
	goWords = "break case chan const continue default defer else fallthrough for func go goto if import interface " +
		"map package range return select struct switch type var nil true false iota any bool byte comparable " +
		"complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint uint8 uint16 " +
		"uint32 uint64 uintptr"
	scriptWords = "abstract any as async await boolean break case catch class const continue debugger declare default " +
		"delete do else enum export extends false finally for from function get if implements import in " +
		"instanceof interface keyof let new null number of private protected public readonly return set " +
		"static string super switch this throw true try type typeof undefined unknown var void while yield"
	objectWords = "abstract as async await base bool boolean break byte case catch char class const continue data def " +
		"default defer delegate do double else enum event explicit export extends extension extern false " +
		"final finally fixed float for foreach fun func get guard if implements implicit import in init inner " +
		"instanceof int interface internal is lazy let long match namespace native new nil null object open " +
		"operator out override package private protected protocol public readonly record ref return sealed " +
		"self set short static string struct super suspend switch this throw throws trait true try type " +
		"typealias uint using val var virtual void volatile when where while with yield"
	systemWords = "alignas alignof auto bool break case catch char class const constexpr continue decltype default " +
		"delete do double else enum explicit export extern false float for friend goto if inline int int8_t " +
		"int16_t int32_t int64_t long message mutable namespace new noexcept nullptr operator override " +
		"package private protected public register return rpc service short signed size_t sizeof static " +
		"struct switch template this throw true try typedef typename uint8_t uint16_t uint32_t uint64_t union " +
		"unsigned using virtual void volatile while"
	rustWords = "as async await bool box break char const continue crate dyn else enum extern f32 f64 false fn for i8 " +
		"i16 i32 i64 i128 if impl in isize let loop macro match mod move mut pub ref return self Self static " +
		"str struct super trait true type u8 u16 u32 u64 u128 union unsafe use usize where while"
	pythonWords = "and as assert async await break case class continue def del elif else except finally for from global " +
		"if import in is lambda match nonlocal not or pass raise return try while with yield None True False " +
		"self"
	pythonNames = "print len range str int float list dict set tuple bool bytes open super isinstance enumerate zip map " +
		"filter sorted sum min max any all type Exception ValueError TypeError KeyError"
	shellWords = "if then else elif fi for while until do done case esac in function select return exit break continue " +
		"local export readonly declare set unset source trap shift param foreach"
	shellNames  = "echo printf cd pwd read eval exec test kill wait alias type sudo"
	dockerWords = "FROM AS RUN CMD LABEL EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ARG ONBUILD STOPSIGNAL " +
		"HEALTHCHECK SHELL"
	rubyWords = "alias and begin break case class def defmodule defp do else elsif end ensure false fn for if in " +
		"module next nil not or redo require rescue retry return self super then true undef unless until use " +
		"when while yield"
	sqlWords = "add all alter and any as asc autoincrement begin between bigint bool boolean by cascade case cast " +
		"check column commit conflict constraint create cross current_timestamp database date default delete " +
		"desc distinct do drop else end exists explain false first foreign from full function group having if " +
		"in index inner insert integer int into is join key last left like limit not nothing null nulls " +
		"numeric offset on or order outer over partition primary real references replace returning right " +
		"rollback select serial set table text then timestamp to transaction true union unique update using " +
		"values varchar view when where window with"
	dynamicWords = "if else elseif elsif unless for foreach while do sub my our use package return function end in and " +
		"or not begin let const"
	configWords = "resource variable output provider module data locals terraform true false null for in if let with " +
		"inherit rec"
	makeWords = "ifeq ifneq ifdef ifndef else endif include define endef export override"
	luaWords  = "and break do else elseif end false for function goto if in local nil not or repeat return then true " +
		"until while"
	functionalWords = "module import where let in if then else case of data type newtype class instance deriving do fun " +
		"match with rec"
)
