package filter

import "strings"

// nameKind is what a name says of the value under it.
type nameKind uint8

const (
	plain    nameKind = iota
	password          // a person chose it: any text may be one
	key               // a machine made it: it looks random
	bearer            // a header: its scheme may come first
)

// lastWords are what the last words of a name say of the value under it, in lower case
// without separators.
var lastWords = map[string]nameKind{
	"password": password, "passwd": password, "passphrase": password, "pwd": password, "passcode": password,
	"userpass": password, "dbpass": password, "mysqlpwd": password, "pgpassword": password,
	"secret": key, "apikey": key, "token": key, "authtoken": key, "accesstoken": key, "refreshtoken": key,
	"secretkey": key, "accesskey": key, "secretaccesskey": key, "privatekey": key, "clientsecret": key, "signingkey": key,
	"encryptionkey": key, "accountkey": key, "masterkey": key, "apisecret": key, "apitoken": key, "webhooksecret": key,
	"credential": key, "credentials": key, "sessionkey": key, "authkey": key, "licensekey": key, "servicekey": key,
	"authorization": bearer, "proxyauthorization": bearer,
}

// notBefore are words that make a token one of a text, of a page or of a protocol, which
// is no secret: next_page_token, eos_token, max_token.
var notBefore = map[string]bool{
	"page": true, "next": true, "prev": true, "previous": true, "continuation": true, "continue": true, "cursor": true,
	"sync": true, "delta": true, "paging": true, "pagination": true, "resume": true, "start": true, "end": true,
	"sep": true, "eos": true, "bos": true, "pad": true, "unk": true, "cls": true, "eof": true, "special": true,
	"num": true, "max": true, "min": true, "total": true, "prompt": true, "completion": true, "input": true,
	"output": true, "first": true, "last": true, "current": true, "idempotency": true, "cancellation": true, "cancel": true,
	"lookahead": true, "stop": true, "progress": true, "change": true, "per": true, "is": true, "has": true, "public": true,
	"no": true, "foreign": true, "primary": true, "shift": true, "forgot": true, "reset": true, "show": true, "hide": true,
	"change_": true, "confirm_": true, "invalid": true, "wrong": true, "hash": true, "hashed": true, "peek": true,
}

// kindOfName returns what a name says of the value under it: its last words count, whatever
// separates them.
func kindOfName(name string) nameKind {
	name = strings.Trim(name, "-_.")
	if len(name) < 3 {
		return plain
	}
	words := wordsOf(name)
	if len(words) == 0 {
		return plain
	}
	last := words[len(words)-1]
	joined := ""
	best, at := plain, 0
	for i := len(words) - 1; i >= 0 && i >= len(words)-3; i-- {
		joined = words[i] + joined
		if kind, ok := lastWords[joined]; ok {
			best, at = kind, i
		}
	}
	if best == plain && last == "pass" && len(words) > 1 { // DB_PASS, but not bypass nor first_pass
		if before := words[len(words)-2]; !notBefore[before] && !ordinals[before] {
			return password
		}
	}
	if best == plain || at > 0 && notBefore[words[at-1]] {
		return plain
	}
	return best
}

var ordinals = map[string]bool{"second": true, "third": true, "single": true, "one": true, "two": true, "render": true, "test": true, "can": true}

// wordsOf splits a name at its separators and at its capitals, into words in lower case.
func wordsOf(name string) (words []string) {
	from := 0
	cut := func(to int) {
		if to > from {
			words = append(words, strings.ToLower(name[from:to]))
		}
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c == '_' || c == '-' || c == '.':
			cut(i)
			from = i + 1
		case isUpper(c) && i > from && !isUpper(name[i-1]):
			cut(i)
			from = i
		case isUpper(c) && i > from && i+1 < len(name) && isLetter(name[i+1]) && !isUpper(name[i+1]):
			cut(i) // the last capital of APIKey begins Key
			from = i
		}
	}
	cut(len(name))
	return words
}
