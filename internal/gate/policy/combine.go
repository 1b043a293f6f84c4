package policy

import "callgate/tool"

// # The law of two files
//
// The user's own app file stands behind that of every project. Each is compiled
// by itself and keeps its name, so that a reason names the file it comes from.
// Each set of rules is asked for itself, and of the answers wins, in this order:
//
//  1. hide, of either;
//  2. deny, of either: a project widens nothing that the user denied;
//  3. approve, of either;
//  4. grant, of either;
//  5. the lower max_risk_level of the two;
//  6. the stricter default_policy of those that are said: block, approve, auto. A
//     project's block that says none means approve, as it does alone. The user's
//     says nothing then: one deny that holds everywhere must not change how the
//     rest is decided;
//  7. what holds without rules.
//
// The floor (see Floor) is under the project's grants only. One that nobody accepted
// widens neither what holds without rules nor what the user's own file says.
//
// Of two rate limits for the same calls the lower holds. The time for an approval is
// the project's, then the user's.

// Over returns r with the user's own rules behind it. Nil rules say nothing. The
// files are what reasons name.
func (r *Rules) Over(user *Rules, file, userFile string) *Rules {
	var both Rules
	if r != nil {
		both = *r
	}
	both.file = file
	if user != nil {
		own := *user
		own.file, own.user = userFile, nil
		both.user = &own
	}
	return &both
}

// ruleSet is one file's rules, with those that name the tool of a call.
type ruleSet struct {
	*Rules
	isUser bool
	found  matches
}

// sets appends the rules of each file to a buffer, the user's first.
func (r *Rules) sets(to []ruleSet, id tool.ID) []ruleSet {
	if r == nil {
		return to
	}
	if r.user != nil {
		to = append(to, ruleSet{r.user, true, r.user.lookup(id)})
	}
	return append(to, ruleSet{r, false, r.lookup(id)})
}

// verdicts are those of the kinds of rules.
var verdicts = [kinds]Verdict{denied: Deny, approved: Approve, granted: Allow, hiddenRule: Hide}

// firstOf returns the narrowest rule of a kind, of the first file that has one.
func firstOf(sets []ruleSet, kind int) (*ruleSet, *ruleSource) {
	for i := range sets { // that a call may be denied is said, whatever else asks about it
		if s := sets[i].found.doubted; s != nil && kind == approved {
			return &sets[i], s
		}
	}
	for i := range sets {
		if s := sets[i].found.first(kind); s != nil {
			return &sets[i], s
		}
	}
	return nil, nil
}

// strictest returns the file whose default policy holds, or nil when none says one.
func strictest(sets []ruleSet) *ruleSet {
	order := func(p DefaultPolicy) int {
		switch p {
		case Auto:
			return 1
		case Ask:
			return 2
		}
		return 3
	}
	var found *ruleSet
	for i := range sets {
		set := &sets[i]
		if !set.block || set.isUser && set.implied {
			continue
		}
		if found == nil || order(set.fallback) > order(found.fallback) {
			found = set
		}
	}
	return found
}

// decision is a verdict by a line of this file.
func (s *ruleSet) decision(v Verdict, by *ruleSource) Decision {
	if s.file == "" {
		return Decision{v, by.reason, by.rule}
	}
	return Decision{v, s.file + ": " + by.reason, s.file + ": " + by.rule}
}
