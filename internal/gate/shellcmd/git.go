package shellcmd

import "strings"

// gitProgram: a wildcard may stand for these subcommands with these options, which neither
// run programs nor write files besides what the subcommand is for, nor throw away what is not
// on record. The others (difftool, bisect, submodule, config, rebase, filter-branch, and
// whatever is an alias) must be fixed by the pattern.
var gitProgram = &program{
	open: true, commands: gitCommands,
	flags: []string{"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--version", "--help"},
}

const (
	gitCommitChoice = `pretty= format= oneline abbrev-commit abbrev=? no-abbrev-commit n= max-count= # skip= since= after= until=
		before= author= committer= grep= i/regexp-ignore-case E/extended-regexp F/fixed-strings P/perl-regexp all-match
		invert-grep all branches=? tags=? remotes=? glob= exclude= first-parent merges no-merges min-parents=
		max-parents= reverse topo-order date-order author-date-order graph no-graph decorate=? no-decorate
		decorate-refs= decorate-refs-exclude= source date= relative-date left-right cherry cherry-pick cherry-mark
		left-only right-only boundary simplify-by-decoration simplify-merges full-history ancestry-path=? sparse dense
		follow no-walk=? children parents show-pulls notes=? no-notes g/walk-reflogs mailmap use-mailmap no-mailmap
		expand-tabs=? no-expand-tabs encoding= count objects missing= no-commit-header timestamp`
	gitDiffChoice = `p/patch u s/no-patch U/unified= stat=? shortstat numstat dirstat=? cumulative summary name-only
		name-status compact-summary color=? no-color color-moved=? no-color-moved color-words=? word-diff=?
		word-diff-regex= M/find-renames=? C/find-copies=? find-copies-harder D/irreversible-delete B/break-rewrites=?
		diff-filter= S= G= L= pickaxe-regex pickaxe-all R relative=? no-relative a/text b/ignore-space-change
		w/ignore-all-space ignore-space-at-eol ignore-cr-at-eol ignore-blank-lines I= inter-hunk-context=
		W/function-context exit-code q/quiet no-ext-diff no-textconv ignore-submodules=? submodule=? src-prefix=
		dst-prefix= no-prefix default-prefix binary full-index z cached staged merge-base c cc m diff-merges=
		no-diff-merges raw minimal patience histogram diff-algorithm= anchored= check ws-error-highlight= no-renames
		rename-empty l= base ours theirs t r d remerge-diff combined-all-paths line-prefix=
		no-color-moved-ws indent-heuristic no-indent-heuristic`
)

var (
	gitShow   = &program{safe: opts(gitCommitChoice, gitDiffChoice)}
	gitList   = `contains=? no-contains=? merged=? no-merged=? sort= points-at= format= color=? no-color column=? no-column i/ignore-case`
	gitPickup = `n/no-commit x signoff m/mainline= ff no-ff ff-only no-edit abort continue skip quit q/quiet v/verbose
		allow-empty keep-redundant-commits commit squash no-squash message= stat no-stat log=? no-log X/strategy-option=
		allow-unrelated-histories autostash no-autostash progress no-progress no-signoff`
	gitTransfer = `q/quiet v/verbose progress no-progress 4/ipv4 6/ipv6 dry-run tags no-tags atomic porcelain depth= deepen=
		shallow-since= unshallow all j/jobs= set-upstream`
)

var gitCommands = map[string]*program{
	"log": gitShow, "show": gitShow, "diff": gitShow, "whatchanged": gitShow, "rev-list": gitShow, "diff-tree": gitShow,
	"diff-index": gitShow, "diff-files": gitShow, "range-diff": gitShow,
	"reflog":   {safe: gitShow.safe, operand: discards("expire", "delete")},
	"shortlog": {safe: opts(gitCommitChoice, "n/numbered s/summary e/email c/committer group= w=?")},
	"stash": {safe: opts(gitDiffChoice, "u/include-untracked a/all k/keep-index no-keep-index m/message= q/quiet index S/staged oneline"),
		operand: discards("drop", "clear")},
	"status": {safe: opts(`s/short b/branch show-stash porcelain=? long v/verbose u/untracked-files=? ignored=?
		ignore-submodules=? z column=? no-column ahead-behind no-ahead-behind renames no-renames find-renames=?`)},
	"blame": gitBlame, "annotate": gitBlame,
	"branch": {safe: opts(gitList, `a/all r/remotes l/list v/verbose q/quiet abbrev=? no-abbrev m/move c/copy d/delete
		u/set-upstream-to= unset-upstream t/track=? no-track show-current`)},
	"tag":      {safe: opts(gitList, "l/list n=? # a/annotate m/message= q")},
	"describe": {safe: opts("all tags contains abbrev=? candidates= exact-match debug long match= exclude= always first-parent dirty=? broken=?")},
	"rev-parse": {safe: opts(`verify q short=? abbrev-ref=? symbolic symbolic-full-name show-toplevel git-dir git-common-dir
		absolute-git-dir is-inside-work-tree is-inside-git-dir is-bare-repository is-shallow-repository show-prefix
		show-cdup show-superproject-working-tree all branches=? tags=? remotes=? glob= path-format= git-path= since=
		until= revs-only no-revs flags no-flags disambiguate= show-object-format=? show-ref-format`)},
	"ls-files": {safe: opts(`c/cached d/deleted m/modified o/others i/ignored s/stage u/unmerged k/killed t v f z x/exclude=
		exclude-standard exclude-from= exclude-per-directory= error-unmatch full-name abbrev=? eol deduplicate format=
		directory no-empty-directory`)},
	"ls-tree":       {safe: opts("d r t l/long z name-only name-status object-only full-name full-tree abbrev=? format=")},
	"cat-file":      {safe: opts("t s e p batch=? batch-check=? batch-all-objects unordered buffer allow-unknown-type follow-symlinks z")},
	"count-objects": {safe: opts("v H human-readable verbose")},
	"for-each-ref":  {safe: opts(gitList, "count= omit-empty exclude= include-root-refs")},
	"show-ref":      {safe: opts("branches heads tags head d/dereference s/hash=? verify q/quiet abbrev=? exists")},
	"merge-base":    {safe: opts("a/all octopus is-ancestor fork-point independent")},
	"name-rev":      {safe: opts("tags refs= exclude= name-only all always no-undefined")},
	"cherry":        {safe: opts("v abbrev=?")}, "show-branch": {safe: opts("r a/all remotes more= list color=? no-color topo-order date-order sha1-name no-name")},
	"var": {safe: opts("l")}, "check-ignore": {safe: opts("v/verbose q/quiet n/non-matching z stdin no-index")},
	"check-attr": {safe: opts("a/all z stdin cached")}, "version": {safe: opts("build-options")}, "help": {safe: opts("a/all g/guides c/config verbose")},
	"grep": {safe: opts(`A/after-context= B/before-context= C/context= # a/text i/ignore-case I w/word-regexp v/invert-match h
		H full-name E/extended-regexp G/basic-regexp P/perl-regexp F/fixed-strings n/line-number column
		l/files-with-matches name-only L/files-without-match o/only-matching c/count z/null color=? no-color break
		heading p/show-function W/function-context m/max-count= threads= e= and or not all-match q/quiet cached
		untracked exclude-standard no-exclude-standard max-depth= r/recursive no-recursive`)},
	"add":      {safe: opts("A/all u/update n/dry-run v/verbose N/intent-to-add refresh ignore-errors ignore-missing renormalize no-all")},
	"restore":  {safe: opts("s/source= S/staged W/worktree q/quiet progress no-progress")},
	"switch":   {safe: opts("c/create= d/detach q/quiet t/track=? no-track guess no-guess progress no-progress")},
	"checkout": {safe: opts("b= q/quiet t/track=? no-track d/detach l guess no-guess progress no-progress orphan=")},
	"mv":       {safe: opts("n/dry-run v/verbose k")}, "rm": {safe: opts("n/dry-run q/quiet r cached ignore-unmatch")},
	"reset": {safe: opts("soft mixed N/intent-to-add q/quiet no-refresh refresh")},
	"commit": {safe: opts(`m/message= a/all q/quiet v/verbose amend no-edit allow-empty allow-empty-message author= date=
		s/signoff no-signoff dry-run short branch porcelain long z status no-status F/file= trailer= o/only i/include
		u=? untracked-files=? squash= fixup= C/reuse-message= cleanup= no-gpg-sign reset-author`)},
	"merge": {safe: opts(gitPickup, "m=")}, "cherry-pick": {safe: opts(gitPickup)}, "revert": {safe: opts(gitPickup)},
	"fetch": remote(gitTransfer, "a/append t n p/prune P/prune-tags no-recurse-submodules negotiation-tip= refetch"),
	"pull":  remote(gitTransfer, "p/prune ff no-ff ff-only no-rebase autostash no-autostash commit no-commit squash no-squash stat no-stat n no-edit no-recurse-submodules"),
	"push": remote(gitTransfer, "u follow-tags n no-follow-tags no-thin thin").refusing(func(text string) string {
		if strings.HasPrefix(text, "+") || strings.HasPrefix(text, ":") {
			return "it throws away what is at the other end"
		}
		return ""
	}),
	"ls-remote": remote("b/branches h/heads t/tags refs q/quiet symref sort= exit-code get-url"),
	"clone": remote(`depth= b/branch= single-branch no-single-branch q/quiet v/verbose progress n/no-checkout bare o/origin=
		filter= shallow-since= shallow-exclude= no-tags sparse j/jobs= no-hardlinks l/local s/shared`),
	"archive": {safe: opts("l/list v/verbose prefix= # 0 9")}, "init": {safe: opts("q/quiet bare b/initial-branch=")},
	"remote":   remote("v/verbose f t= m= tags no-tags n/dry-run p/prune add push all delete a/auto"),
	"worktree": {safe: opts("b= d/detach q/quiet v/verbose porcelain z n/dry-run expire= reason= lock no-checkout checkout guess-remote track no-track")},
	"gc":       {safe: opts("q/quiet auto keep-largest-pack detach no-detach")},
	"fsck": {safe: opts(`full strict no-dangling unreachable dangling root tags v/verbose progress no-progress cache
		no-reflogs connectivity-only name-objects references`)},
	"prune": {safe: opts("n/dry-run v/verbose progress")},
	"apply": {safe: opts("check stat numstat summary v/verbose q/quiet 3/3way index cached N/intent-to-add R/reverse p= C= recount whitespace= ignore-whitespace ignore-space-change include= exclude= apply allow-empty")},
	"clean": {safe: opts("n/dry-run q/quiet x X d e/exclude=")},
}

var gitBlame = &program{safe: opts(`L= l t s e/show-email w M=? C=? b root p/porcelain line-porcelain incremental f/show-name
	n/show-number abbrev=? since= date= color-lines color-by-age ignore-rev= c show-stats progress no-progress reverse
	first-parent score-debug diff-algorithm=`)}

// remote is a subcommand that talks with another repository, which a helper may be named for.
func remote(lists ...string) *program {
	return &program{safe: opts(lists...), operand: has("::", runs)}
}

// refusing adds a judge of operands.
func (p *program) refusing(also func(text string) string) *program {
	before := p.operand
	p.operand = func(text string) string {
		if why := before(text); why != "" {
			return why
		}
		return also(text)
	}
	return p
}

func discards(words ...string) func(text string) string {
	return func(text string) string {
		for _, word := range words {
			if text == word {
				return "it throws away what is on record nowhere else"
			}
		}
		return ""
	}
}
