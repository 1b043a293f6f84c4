package shellcmd

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// The table. A program that is not in it is a human's choice, and so are its options.

// reading are the programs that only read, whatever their options say. What they load from
// their folder runs nothing.
var reading = map[string]*options{
	"ls": opts(`a/all A/almost-all author b/escape block-size= B/ignore-backups c C color=? d/directory D/dired f
		F/classify=? file-type format= full-time g group-directories-first G/no-group h/human-readable si
		H/dereference-command-line hide= hyperlink=? indicator-style= i/inode I/ignore= k/kibibytes l L/dereference
		m n/numeric-uid-gid N/literal o p q/hide-control-chars Q/quote-name quoting-style= r/reverse R/recursive
		s/size S sort= t time= time-style= T/tabsize= u U v w/width= x X Z/context zero 1 help version`),
	"cat":  opts("A/show-all b/number-nonblank e E/show-ends n/number s/squeeze-blank t T/show-tabs u v/show-nonprinting"),
	"head": opts("c/bytes= n/lines= q/quiet/silent v/verbose z/zero-terminated #"),
	"tail": opts("c/bytes= f/follow=? F n/lines= max-unchanged-stats= pid= q/quiet/silent retry s/sleep-interval= v/verbose z #"),
	"wc":   opts("c/bytes m/chars l/lines L/max-line-length w/words total="),
	"grep": grepOptions, "egrep": grepOptions, "fgrep": grepOptions,
	"cut": opts("b/bytes= c/characters= d/delimiter= f/fields= n complement s/only-delimited output-delimiter= z"),
	"tr":  opts("c C/complement d/delete s/squeeze-repeats t/truncate-set1"),
	"nl":  opts("b/body-numbering= d= f= h= i/line-increment= l= n/number-format= p s/number-separator= v= w/number-width="),
	"tac": opts("b/before r/regex s/separator="), "rev": opts("h V"),
	"stat": opts("c/format= f/file-system L/dereference printf= t/terse cached="),
	"du": opts(`0/null a/all apparent-size b/bytes B/block-size= c/total D d/max-depth= h/human-readable H i/inodes k l L m
		P s/summarize S/separate-dirs si t/threshold= time=? time-style= x/one-file-system exclude=`),
	"df":       opts("a/all B/block-size= h H i/inodes k l/local output=? P/portability si t/type= T/print-type total x="),
	"basename": opts("a/multiple s/suffix= z/zero"), "dirname": opts("z/zero"),
	"realpath": opts("e/canonicalize-existing m/canonicalize-missing L P q/quiet relative-to= relative-base= s/no-symlinks z"),
	"readlink": opts("f/canonicalize e/canonicalize-existing m n/no-newline q/quiet s/silent v/verbose z/zero"),
	"pwd":      opts("L P"), "true": opts(), "false": opts(), "echo": allOptions, "printf": opts(),
	"cmp":  opts("b/print-bytes i/ignore-initial= l/verbose n/bytes= s/quiet/silent"),
	"comm": opts("1 2 3 check-order nocheck-order output-delimiter= total z/zero-terminated"),
	"join": opts("a= e= i/ignore-case j= o= t= v= 1= 2= check-order nocheck-order header z"),
	"diff": opts(`q/brief s/report-identical-files c C/context= u U/unified=? e/ed n/rcs y/side-by-side W/width=
		left-column suppress-common-lines p/show-c-function F/show-function-line= label= L= t/expand-tabs
		T/initial-tab r/recursive no-dereference N/new-file P x/exclude= i/ignore-case E b w B/ignore-blank-lines
		ignore-all-space ignore-space-change ignore-trailing-space I/ignore-matching-lines= a/text strip-trailing-cr
		d/minimal speed-large-files color=? normal tabsize=`),
	"md5sum": sumOptions, "sha1sum": sumOptions, "sha224sum": sumOptions, "sha256sum": sumOptions,
	"sha384sum": sumOptions, "sha512sum": sumOptions, "b2sum": sumOptions, "cksum": sumOptions, "sum": sumOptions,
	"shasum":  opts("a/algorithm= b/binary c/check t/text"),
	"od":      opts("A/address-radix= j/skip-bytes= N/read-bytes= S/strings=? t/format= v w/width=? a b c d f h i l o s x"),
	"hexdump": opts("b c C/canonical d e= n/length= o s/skip= v x"),
	"strings": opts("a/all f n/bytes= t/radix= e/encoding= w o d #"),
	"column":  opts("t/table s/separator= o/output-separator= c/output-width= N/table-columns= R/table-right= x e n="),
	"paste":   opts("d/delimiters= s/serial z"), "fold": opts("b/bytes s/spaces w/width="),
	"expand": opts("i/initial t/tabs="), "unexpand": opts("a/all t/tabs= first-only"), "fmt": opts("c s t u w/width= p/prefix="),
	"seq": opts("f/format= s/separator= w/equal-width"), "tsort": opts(), "nproc": opts("all ignore="),
	"uname": opts("a/all s n r v m p i o"), "arch": opts(), "id": opts("a g/group G/groups n/name r/real u/user z/zero"),
	"whoami": opts(), "groups": opts(), "which": opts("a/all s"), "uptime": opts("p/pretty s/since"), "tty": opts("s/silent/quiet"),
	"rg": opts(`A/after-context= B/before-context= C/context= a/text auto-hybrid-regex b/byte-offset binary
		block-buffered c/count count-matches color= colors= column context-separator= crlf d/max-depth= maxdepth=
		E/encoding= e/regexp= engine= F/fixed-strings field-context-separator= field-match-separator= files
		files-without-match g/glob= glob-case-insensitive h/help heading hidden i/ignore-case iglob=
		ignore-file-case-insensitive include-zero json l/files-with-matches L/follow line-buffered M/max-columns=
		m/max-count= max-columns-preview max-filesize= mmap multiline-dotall n/line-number N/no-line-number no-config
		no-filename no-heading no-hidden no-ignore no-ignore-dot no-ignore-exclude no-ignore-files no-ignore-global
		no-ignore-messages no-ignore-parent no-ignore-vcs no-messages no-unicode 0/null null-data o/only-matching
		one-file-system P/pcre2 p/pretty passthru path-separator= q/quiet r/replace= S/smart-case s/case-sensitive
		sort= sortr= stats t/type= T/type-not= trim type-add= type-clear= type-list U/multiline u/unrestricted
		V/version v/invert-match vimgrep w/word-regexp x/line-regexp H/with-filename I j/threads= . `),
	"tree": opts(`a d l f x L= P= I= ignore-case matchdirs metafirst prune noreport charset= filelimit= q N Q p u g s
		h si du D timefmt= F inodes device v t c U r dirsfirst sort=? i A S n C X J gitignore gitfile= info`),
	"file": opts(`b/brief e/exclude= E extension F/separator= h/no-dereference i/mime k/keep-going L/dereference
		mime-encoding mime-type N/no-pad 0/print0 p/preserve-date r/raw v/version`),
	"gofmt": wordOpts("l d s e h r="),
	"test":  testOptions, "[": testOptions,
}

var (
	grepOptions = opts(`A/after-context= a/text B/before-context= b/byte-offset binary-files= C/context= c/count color=?
		colour=? D/devices= d/directories= E/extended-regexp e/regexp= exclude= exclude-dir= F/fixed-strings
		G/basic-regexp H/with-filename h/no-filename I i/ignore-case no-ignore-case include= L/files-without-match
		l/files-with-matches label= line-buffered m/max-count= n/line-number null-data o/only-matching P/perl-regexp
		q/quiet/silent R/dereference-recursive r/recursive s/no-messages T/initial-tab U/binary v/invert-match
		w/word-regexp x/line-regexp y Z/null z V/version help #`)
	sumOptions = opts("b/binary c/check t/text z/zero tag ignore-missing quiet status strict w/warn l/length= a/algorithm= r s")
	// testOptions: bash evaluates the names of variables, and numbers, as it does arithmetic.
	testOptions = wordOpts("a b c d e f g h k p r s t u w x z n L N O S G ef nt ot o")
)

// programs are the other programs of the table.
var programs = map[string]*program{
	"find": {plain: true, safe: wordOpts(`name= iname= path= ipath= wholename= iwholename= regex= iregex= regextype= lname=
		ilname= type= xtype= size= empty mtime= atime= ctime= mmin= amin= cmin= newer= anewer= cnewer= newermt= newerat=
		newerct= newermm= perm= user= group= uid= gid= nouser nogroup links= inum= samefile= readable writable
		executable maxdepth= mindepth= depth d mount xdev follow prune print print0 printf= ls quit not and or a o true
		false daystart noleaf fstype= used= H L P E X x s`)},
	"fd": fdProgram, "fdfind": fdProgram,
	"ag": {plain: true, safe: opts(`A/after= B/before= C/context= c/count color nocolor column f/follow F/fixed-strings
		filename nofilename g G/file-search-regex= h/help hidden i/ignore-case ignore= l/files-with-matches
		L/files-without-matches m/max-count= n/norecurse numbers nonumbers o/only-matching Q/literal q s/case-sensitive
		S/smart-case t/all-text u/unrestricted v/invert-match w/word-regexp depth= stats vimgrep`)},
	"ack": {safe: opts(`A/after-context= B/before-context= C/context= c/count color nocolor f g h H i/ignore-case
		I/no-ignore-case l L m= n/no-recurse o Q/literal r s S/smart-case v/invert-match w/word-regexp x column
		group nogroup heading noheading`)},
	"sort": {plain: true, safe: opts(`b/ignore-leading-blanks c/check=? C d/dictionary-order debug f/ignore-case
		g/general-numeric-sort h/human-numeric-sort i/ignore-nonprinting k/key= M/month-sort m/merge n/numeric-sort
		parallel= R/random-sort r/reverse S/buffer-size= s/stable sort= t/field-separator= u/unique V/version-sort
		z/zero-terminated`)},
	"uniq": {plain: true, most: 1, safe: opts(`all-repeated=? c/count D d/repeated f/skip-fields= group=? i/ignore-case
		s/skip-chars= u/unique w/check-chars= z/zero-terminated`)},
	"less": {plain: true, operand: begins("+", runs), safe: opts("e E f F g G i I J m M n N q Q r R s S u U w W X x= #")},
	"more": {plain: true, operand: begins("+", runs), safe: opts("d f l p c s u n= #")},
	"man":  {safe: opts("a/all f/whatis k/apropos w/where/path S= s=")},
	"tar":  tarProgram, "bsdtar": tarProgram, "gtar": tarProgram,
	"zip":   {plain: true, safe: opts("r/recurse-paths q/quiet v/verbose j/junk-paths 0 1 2 3 4 5 6 7 8 9 x/exclude= i/include= y")},
	"unzip": {plain: true, safe: opts("l v t z p Z q C a h")},
	"7z":    {plain: true, fixed: 1, safe: wordOpts("slt ba bd y")}, "cpio": {safe: opts("t/list v/verbose quiet")},
	"curl": {plain: true, safe: opts(`s/silent S/show-error f/fail fail-with-body fail-early L/location I/head i/include
		show-headers v/verbose G/get g/globoff N/no-buffer 0/http1.0 http1.1 http2 http3 4/ipv4 6/ipv6 A/user-agent=
		e/referer= H/header= X/request= w/write-out= m/max-time= connect-timeout= retry= retry-delay= retry-max-time=
		retry-connrefused retry-all-errors max-redirs= compressed no-progress-meter progress-bar r/range= path-as-is
		noproxy= tlsv1.2 tlsv1.3 ssl-reqd url= oauth2-bearer= limit-rate= proto= proto-default= h/help V/version
		z/time-cond= max-filesize= tcp-nodelay no-keepalive styled-output no-styled-output`),
		operand: has("%output", writes), value: curlValue},
	"wget": {plain: true, safe: opts("q/quiet S/server-response spider t/tries= T/timeout= v/verbose 4/inet4-only 6/inet6-only max-redirect= c/continue")},
	"rsync": {plain: true, safe: opts(`a/archive v/verbose z/compress n/dry-run h/human-readable P partial progress stats
		r/recursive t/times p/perms l/links u/update c/checksum i/itemize-changes exclude= include= max-size= min-size=
		q/quiet list-only x/one-file-system`)},
	"scp": {plain: true, safe: opts("r p q v C P= l= 3 4 6")}, "sftp": {plain: true, safe: opts("v q C 4 6 P= p r")},
	"date": {plain: true, safe: opts("d/date= I/iso-8601=? R/rfc-email rfc-3339= u/utc/universal debug"),
		operand: func(text string) string {
			if strings.HasPrefix(text, "+") {
				return ""
			}
			return "it may set the clock"
		}},
	"iconv":   {plain: true, safe: opts("f/from-code= t/to-code= c s/silent l/list verbose")},
	"xmllint": {plain: true, safe: opts("noout format valid xpath= nonet pretty= c14n c14n11 recover html huge noblanks timing dropdtd")},
	"jq": {plain: true, safe: opts(`r/raw-output c/compact-output n/null-input e/exit-status s/slurp R/raw-input S/sort-keys
		j/join-output a/ascii-output M/monochrome-output C/color-output tab indent= unbuffered stream seq arg= argjson=
		args jsonargs h/help V/version`)},
	"yq": {plain: true, safe: opts(`e r/unwrapScalar=? o/output-format= p/input-format= P/prettyPrint C/colors M/no-colors
		n/null-input N/no-doc I/indent= j/tojson`)},
	"xxd":    {plain: true, most: 1, safe: opts("a b c= e g= i l= p ps plain s= u E h v o=")},
	"pandoc": {safe: opts("s/standalone toc table-of-contents toc-depth= N/number-sections wrap= columns= quiet verbose h/help v/version")},
	"bat": {safe: opts(`p/plain n/number l/language= r/line-range= H/highlight-line= A/show-all style= color= theme= wrap=
		tabs= decorations= list-languages list-themes file-name= u S P`)},
	"make": makeProgram, "gmake": makeProgram,
	"ninja": {safe: opts("v/verbose n j= k= l= h/help version quiet")},
	"just": {safe: opts("l/list n/dry-run q/quiet v/verbose summary show= s= color= unsorted u no-deps yes"),
		operand: has("=", setsVariable)},
	"go": goProgram,
	"cargo": {fixed: 1, flags: []string{"-q", "--quiet", "-v", "--verbose", "--offline", "--locked", "--frozen"},
		safe: opts(`r/release q/quiet v/verbose p/package= workspace all exclude= lib bins bin= tests test= examples example=
			benches bench= all-targets F/features= all-features no-default-features j/jobs= k/keep-going frozen locked
			offline color= message-format= no-run no-fail-fast doc profile= ignore-rust-version nocapture no-capture
			test-threads= ignored include-ignored exact skip= show-output no-deps document-private-items depth= e/edges=
			i/invert= d/duplicates format-version= check all-features dry-run list`)},
	"rustc": {safe: opts("V/version v/verbose print= explain= edition=")},
	"npm":   nodeProgram, "pnpm": nodeProgram, "yarn": nodeProgram, "bun": nodeProgram,
	"deno": {fixed: 1, commands: map[string]*program{
		"run": {runs: true}, "eval": {never: true}, "repl": {never: true}, "task": {runs: true, safe: opts("q")},
		"x": {never: true}, "serve": {runs: true}, "install": {}, "jupyter": {never: true},
		"fmt": {safe: opts("check ext= quiet q")}, "lint": {safe: opts("json compact quiet q rules")},
		"check": {safe: opts("quiet q all")}, "info": {safe: opts("json")}, "doc": {safe: opts("json private filter= lint")},
		"test": {safe: opts("quiet q filter= fail-fast parallel no-check doc shuffle=? reporter= trace-leaks")},
	}},
	"pip": pipProgram, "pip3": pipProgram,
	"uv": {fixed: 1, commands: map[string]*program{
		"run": {never: true}, "tool run": {never: true}, "x": {never: true},
		"pip list": {safe: pipOptions}, "pip show": {safe: pipOptions}, "pip tree": {safe: pipOptions}, "pip freeze": {safe: pipOptions},
		"tree":    {safe: opts("depth= d prune= package= invert no-dedupe outdated frozen locked offline q/quiet v/verbose universal")},
		"sync":    {safe: opts("frozen locked offline q/quiet v/verbose dev no-dev all-extras extra= group= no-group= all-groups")},
		"lock":    {safe: opts("check locked offline q/quiet v/verbose")},
		"version": {safe: opts("short output-format=")},
	}},
	"poetry": {fixed: 1, commands: map[string]*program{
		"run": {never: true}, "show": {safe: opts("t/tree l/latest o/outdated a/all T/top-level q/quiet v/verbose")},
		"check": {safe: opts("lock q/quiet v/verbose strict")}, "version": {safe: opts("s/short")},
		"install": {safe: opts("no-root no-interaction n q/quiet v/verbose with= without= only= dry-run all-extras E/extras=")},
	}},
	"docker": dockerProgram, "podman": dockerProgram, "nerdctl": dockerProgram,
	"kubectl": {fixed: 1, commands: kubectlCommands()},
	"gh": {fixed: 2, commands: map[string]*program{
		"api": {never: true}, "alias": {never: true}, "extension": {never: true}, "codespace": {never: true},
		"auth": {never: true}, "config": {never: true},
	}, safe: opts(`R/repo= L/limit= s/state= json= q/jq= A/author= a/assignee= l/label= S/search= B/base= H/head=
		c/comments comments name-only patch status fail-fast required watch i/interval= m/milestone= b/branch=
		w/workflow= e/event= u/user= log log-failed job= v/verbose exit-status draft`)},
	"pytest": {safe: opts(`v/verbose q/quiet x/exitfirst k= m= s capture= maxfail= l/showlocals tb= durations= lf/last-failed
		ff/failed-first nf/new-first sw/stepwise stepwise-skip co/collect-only no-header no-summary r= n/numprocesses=
		color= disable-warnings cov=? cov-branch no-cov ignore= ignore-glob= deselect= strict-markers strict-config
		timeout= fixtures markers h/help V/version verbosity= show-capture= full-trace setup-show randomly-seed=`)},
	"jest": {safe: opts(`verbose silent ci coverage=? no-coverage bail=? t/testNamePattern= testPathPattern= testPathPatterns=
		o/onlyChanged onlyFailures f u/updateSnapshot maxWorkers= w= i/runInBand detectOpenHandles forceExit
		passWithNoTests listTests colors color no-color json shard= randomize seed= showConfig e/expand
		errorOnDeprecated logHeapUsage findRelatedTests runTestsByPath testTimeout= changedSince= lastCommit
		selectProjects= no-cache watchAll=? help version`)},
	"vitest": {safe: opts(`run ci silent coverage=? bail= t/testNamePattern= u/update maxWorkers= no-color color
		passWithNoTests shard= changed=? hideSkippedTests allowOnly retry= testTimeout= dom globals isolate no-isolate
		h/help v/version`)},
	"mocha": {safe: opts(`b/bail no-bail g/grep= f/fgrep= i/invert t/timeout= s/slow= retries= forbid-only forbid-pending
		full-trace color no-color c C diff no-diff parallel p j/jobs= recursive exit dry-run h/help V/version`)},
	"mvn": {safe: wordOpts(`q quiet B batch-mode o offline e errors X debug U update-snapshots pl= projects= am also-make amd
		also-make-dependents T= threads= fae fail-at-end ff fail-fast fn ntp no-transfer-progress N non-recursive v
		version V show-version h help nsu DskipTests DskipITs Dmaven.test.skip Dtest= Dit.test=`),
		operand: has(":", "a goal with a colon may run any plugin")},
	"gradle": {safe: opts(`q/quiet i/info d/debug w/warn s/stacktrace S/full-stacktrace t/continuous continue m/dry-run offline
		parallel no-parallel daemon no-daemon build-cache no-build-cache configuration-cache no-configuration-cache
		rerun-tasks refresh-dependencies console= warning-mode= x/exclude-task= tests= profile v/version V/show-version
		h/help max-workers= all`)},
	"prettier": {safe: opts(`c/check l/list-different log-level= loglevel= no-color color u/ignore-unknown no-editorconfig
		tab-width= print-width= use-tabs no-semi single-quote jsx-single-quote trailing-comma= prose-wrap=
		end-of-line= stdin-filepath= ignore-path= no-error-on-unmatched-pattern h/help v/version`)},
	"eslint": {value: oneOf("f format", "stylish", "json", "html", "json-with-metadata"), safe: opts(`ext= quiet max-warnings=
		no-color color ignore-pattern= no-ignore no-inline-config report-unused-disable-directives
		no-error-on-unmatched-pattern no-warn-ignored print-config= fix-dry-run stdin stdin-filename= f/format= debug
		stats pass-on-no-patterns exit-on-fatal-error v/version h/help`)},
	"tsc": {safe: wordOpts(`noEmit strict pretty watch w version v help h listFiles listFilesOnly showConfig skipLibCheck
		target= t= module= m= moduleResolution= lib= jsx= traceResolution diagnostics extendedDiagnostics noErrorTruncation`)},
	"ruff": {fixed: 1, safe: opts(`select= ignore= extend-select= q/quiet v/verbose s/silent diff check statistics
		output-format= show-files show-settings no-cache n exit-zero line-length= target-version= isolated preview`)},
	"mypy": {safe: opts(`strict v/verbose pretty show-error-codes show-error-context show-column-numbers no-error-summary
		ignore-missing-imports namespace-packages explicit-package-bases python-version= platform= warn-unused-ignores
		warn-return-any warn-unreachable check-untyped-defs disallow-untyped-defs no-incremental p= m= exclude= V/version`)},
	"black":  {safe: opts("check diff color no-color q/quiet v/verbose S l/line-length= t/target-version= include= exclude= fast safe version")},
	"flake8": {safe: opts("v/verbose q/quiet count exclude= select= ignore= extend-ignore= max-line-length= max-complexity= statistics show-source version")},
	"terraform": {fixed: 1, commands: map[string]*program{
		"fmt": {safe: wordOpts("check diff recursive list write")}, "validate": {safe: wordOpts("json no-color")},
		"version": {safe: wordOpts("json")}, "output": {safe: wordOpts("json raw no-color")},
		"show": {safe: wordOpts("json no-color")}, "graph": {}, "providers": {}, "console": {never: true},
	}},
	"journalctl": {plain: true, safe: opts(`b/boot=? u/unit= n/lines= f/follow p/priority= r/reverse x/catalog S/since= U/until=
		no-pager o/output= k/dmesg t/identifier= q/quiet a/all g/grep= user system list-boots disk-usage header utc
		no-hostname no-full l`)},
	"systemctl": {fixed: 1, commands: map[string]*program{
		"status": {safe: systemctlOptions}, "list-units": {safe: systemctlOptions}, "show": {safe: systemctlOptions},
		"is-active": {safe: systemctlOptions}, "is-enabled": {safe: systemctlOptions}, "cat": {safe: systemctlOptions},
		"list-unit-files": {safe: systemctlOptions}, "list-timers": {safe: systemctlOptions},
	}},
	"openssl": {fixed: 1, safe: wordOpts(`in= inform= outform= noout text fingerprint subject issuer dates startdate enddate
		serial modulus purpose email alias hash ext= sha1 sha256 sha384 sha512 md5 hex r base64 a d A nameopt= checkend=`)},
	"nc": {plain: true, safe: opts("z v n u w= 4 6 t")}, "ncat": {plain: true, safe: opts("z v n u w/wait= 4 6 t/telnet")},
	"socat": {operand: func(string) string { return runs }},
	"dd":    {plain: true, operand: begins("of=", writes)},
	"git":   gitProgram,
}

const setsVariable = "it is told to set a variable"

var (
	fdProgram = &program{plain: true, safe: opts(`H/hidden no-hidden I/no-ignore no-ignore-vcs no-ignore-parent
		u/unrestricted s/case-sensitive i/ignore-case g/glob regex F/fixed-strings a/absolute-path L/follow p/full-path
		0/print0 d/max-depth= min-depth= exact-depth= E/exclude= prune t/type= e/extension= S/size= changed-within=
		changed-before= o/owner= c/color= j/threads= 1 max-results= q/quiet show-errors strip-cwd-prefix=? and=
		one-file-system h/help V/version`)}
	tarProgram = &program{plain: true, fixed: 1, safe: opts(`t/list v/verbose f/file= z/gzip/gunzip j/bzip2 J/xz Z/compress zstd
		lzma exclude= wildcards no-wildcards ignore-case no-ignore-case anchored no-anchored full-time numeric-owner
		utc strip-components=`), operand: has(":", runs), value: func(_, text string) string {
		return has(":", runs)(text) // an archive on another machine
	}}
	makeProgram = &program{operand: has("=", setsVariable), safe: opts(`j/jobs=? k/keep-going n/just-print dry-run recon
		s/silent/quiet B/always-make i/ignore-errors q/question r/no-builtin-rules R/no-builtin-variables
		w/print-directory no-print-directory p/print-data-base d debug=? trace O/output-sync=? l/load-average=?
		warn-undefined-variables h/help v/version`)}
	nodeProgram = &program{fixed: 1, commands: map[string]*program{
		"exec": {never: true}, "x": {never: true}, "dlx": {never: true}, "create": {never: true}, "init": {never: true},
		"repl": {never: true}, "node": {never: true}, "set-script": {never: true}, "run": {safe: nodeOptions},
		"run-script": {safe: nodeOptions},
	}, safe: nodeOptions}
	nodeOptions = opts(`s/silent q/quiet if-present ws workspaces w/workspace= include-workspace-root json long depth= all
		omit= include= loglevel= no-color color=? parseable r/recursive F/filter= parallel stream aggregate-output prod
		dev offline prefer-offline frozen-lockfile immutable no-audit no-fund ignore-scripts dry-run`)
	pipProgram = &program{fixed: 1, safe: pipOptions}
	pipOptions = opts(`q/quiet v/verbose U/upgrade no-cache-dir no-deps pre user format= outdated o l/local not-required
		no-input disable-pip-version-check dry-run require-virtualenv all f/files`)
	systemctlOptions = opts("no-pager l/full n/lines= o/output= a/all t/type= state= user system q/quiet failed plain no-legend p/property= value")
	dockerProgram    = &program{fixed: 1, commands: dockerCommands()}
)

func dockerCommands() map[string]*program {
	m := map[string]*program{}
	for _, name := range []string{"run", "exec", "create", "compose run", "compose exec", "container run", "container exec", "container create", "buildx bake", "context", "plugin", "cp", "container cp", "attach"} {
		m[name] = &program{never: true}
	}
	list := &program{safe: opts("a/all q/quiet n/last= no-trunc f/filter= format= s/size l/latest digests tree orphans services status= no-color")}
	for _, name := range []string{"ps", "images", "container ls", "image ls", "volume ls", "network ls", "compose ps", "compose ls", "compose images", "search"} {
		m[name] = list
	}
	logs := &program{safe: opts("f/follow tail= n= since= until= t/timestamps details no-color no-log-prefix index=")}
	for _, name := range []string{"logs", "container logs", "compose logs"} {
		m[name] = logs
	}
	other := &program{safe: opts("f/format= s/size type= no-stream no-trunc a/all q/quiet H/human v/verbose services images volumes profiles hash=")}
	for _, name := range []string{"inspect", "container inspect", "image inspect", "history", "stats", "top", "port", "diff", "version", "info", "system df", "compose top", "compose version", "compose config"} {
		m[name] = other
	}
	return m
}

func kubectlCommands() map[string]*program {
	m := map[string]*program{}
	for _, name := range []string{"exec", "run", "debug", "plugin", "edit", "attach", "proxy", "cp", "kustomize"} {
		m[name] = &program{never: true}
	}
	read := &program{safe: opts(`n/namespace= A/all-namespaces o/output= l/selector= field-selector= show-labels w/watch
		watch-only sort-by= follow tail= since= since-time= c/container= all-containers p/previous timestamps
		no-headers ignore-not-found L/label-columns= chunk-size= limit-bytes= prefix show-managed-fields show-kind
		context= cluster= request-timeout= minify client short containers use-protocol-buffers recursive
		api-group= namespaced=? verbs= revision= quiet q list`), value: func(option, text string) string {
		if (option == "o" || option == "output") && strings.Contains(text, "file=") {
			return unknown
		}
		return ""
	}}
	for _, name := range []string{
		"get", "describe", "logs", "top", "explain", "version", "api-resources", "api-versions", "cluster-info", "events",
		"config view", "config get-contexts", "config current-context", "rollout status", "rollout history", "auth can-i",
	} {
		m[name] = read
	}
	m["logs"] = &program{safe: opts(`f/follow n/namespace= tail= since= since-time= c/container= all-containers p/previous
		timestamps l/selector= limit-bytes= prefix context= max-log-requests=`)}
	return m
}

// goProgram: what runs code of the reader's choice, or changes the module, must be fixed.
var goProgram = func() *program {
	build := opts(`a n x v race msan asan p= json trimpath tags= cover covermode= coverpkg= buildvcs=? mod= work`)
	test := wordOpts(`n x v race msan asan p= json trimpath tags= cover covermode= coverpkg= buildvcs=? mod= work run= bench=
		benchmem benchtime= count= cpu= failfast fullpath list= parallel= short shuffle= skip= timeout= vet=? a`)
	list := wordOpts("f= m json deps e find test versions export compiled retracted n x v race tags= mod= buildvcs=?")
	for name, takes := range build.short {
		build.long[string(name)] = takes
	}
	build.words = true
	safely := func(option, text string) string {
		if option == "mod" && text != "vendor" && text != "readonly" {
			return "it may change go.mod"
		}
		return ""
	}
	with := func(o *options) *program { return &program{safe: o, value: safely} }
	return &program{open: true, fixed: 1, commands: map[string]*program{
		"build": with(build), "test": with(test), "vet": with(build), "list": with(list),
		"fmt": with(wordOpts("n x")), "doc": with(wordOpts("all cmd short src")), "version": with(wordOpts("m v")),
		"env": with(wordOpts("json changed")), "help": with(wordOpts()),
		"mod tidy": with(wordOpts("v e x diff")), "mod graph": with(wordOpts("x")), "mod verify": with(wordOpts()),
		"mod why": with(wordOpts("m vendor")), "mod download": with(wordOpts("x json")),
		"run": {runs: true}, "install": {named: true, safe: build, value: safely},
		"get": {named: true, safe: wordOpts("t v x")}, "generate": {named: true, safe: wordOpts("n v x run= skip=")},
	}}
}()

func curlValue(option, text string) string {
	switch option {
	case "H", "header", "w", "write-out":
		if strings.HasPrefix(text, "@") || strings.Contains(text, "%output") {
			return writes
		}
	}
	return ""
}

// oneOf returns a judge of values that allows a few of them for some options.
func oneOf(options string, values ...string) func(option, text string) string {
	return func(option, text string) string {
		if slices.Contains(strings.Fields(options), option) && !slices.Contains(values, text) {
			return "it may load a file of that name"
		}
		return ""
	}
}

// lookup returns what is known of a program; nil: it is not in the table.
func lookup(name string) *program {
	if safe := reading[name]; safe != nil {
		return &program{plain: true, harmless: isHarmless(name), safe: safe}
	}
	return programs[name]
}

// isHarmless reports whether no option of a program runs another or writes a file.
func isHarmless(name string) bool {
	return reading[name] != nil && !slices.Contains([]string{"rg", "tree", "gofmt", "file", "diff", "test", "[", "printf"}, name)
}

// isPlain reports whether a program runs nothing that it finds in its folder.
func isPlain(name string) bool {
	p := lookup(name)
	return p != nil && p.plain || slices.Contains([]string{"mkdir", "touch", "cp", "mv", "rm", "rmdir", "ln", "chmod", "sleep", "tee", "cd"}, name)
}

// runOptions are the words by which programs are told to run another, so that a
// rule that forbids a program cannot tell.
var runOptions = map[string][]string{
	"git": {
		"-c", "--config-env", "--exec-path", "--exec", "-x", "--extcmd", "--upload-pack", "--receive-pack", "-O",
		"--open-files-in-pager", "foreach", "run", "--tree-filter", "--index-filter", "--msg-filter", "--env-filter",
	},
	"tar":   {"--checkpoint-action", "--to-command", "-I", "--use-compress-program", "-F", "--info-script"},
	"go":    {"-exec", "--exec", "-toolexec", "--toolexec", "-vettool", "--vettool"},
	"rg":    {"--pre"},
	"fd":    {"-x", "-X", "--exec", "--exec-batch"},
	"rsync": {"-e", "--rsh", "--rsync-path"},
	"make":  {"--eval", "-E", "SHELL", "-f", "--file", "--makefile"},
	"sort":  {"--compress-program"},
	"vim":   {"-c", "-S", "-s", "--cmd", "-u"}, "vi": {"-c"}, "nvim": {"-c", "-S", "-l", "--cmd"},
}

func hasRunOption(name string, words []Word) bool {
	for _, w := range words {
		option, _, valued := strings.Cut(w.Text, "=")
		for _, run := range runOptions[name] {
			long := strings.HasPrefix(run, "--") && len(option) > 2
			if option == run || long && strings.HasPrefix(run, option) || !valued && !long && len(run) == 2 &&
				strings.HasPrefix(option, run) {
				return true
			}
		}
	}
	return false
}

// neverWild are commands of bash that change what later words mean, or evaluate
// their words. A wildcard never covers their words.
var neverWild = []string{
	"eval", "source", ".", "trap", "read", "mapfile", "readarray", "declare", "typeset", "local", "export", "readonly",
	"unset", "let", "set", "shopt", "alias", "unalias", "hash", "enable", "complete", "compgen", "compopt", "bind", "fc",
	"history", "getopts", "wait", "env", "xargs", "ssh", "su", "at", "batch", "crontab", "expect", "vim", "vi", "nvim",
	"view", "ex", "emacs", "ed", "nano", "ftp", "tclsh", "wish", "osascript", "sqlite3", "psql", "mysql", "redis-cli",
	"screen", "tmux", "git-shell", "dpkg", "rpm", "apt", "apt-get", "snap", "ld.so", "m4", "bc", "dc", "gnuplot", "latex",
	"pdflatex", "tex", "ghc", "cmake", "meson", "bazel", "jshell", "scala", "irb", "ghci", "octave", "sqlplus",
}

// interpreters run the code in a file that they are given as their first operand.
// A wildcard may stand for what follows a fixed file.
var interpreters = []string{
	"python", "python2", "python3", "pypy", "pypy3", "perl", "ruby", "node", "nodejs", "deno", "lua", "luajit", "php",
	"Rscript", "julia", "java", "awk", "gawk", "mawk", "nawk", "sed", "gsed", "tsx", "ts-node", "groovy", "elixir",
}

var versioned = regexp.MustCompile(`^(python|pypy|perl|ruby|lua|php|node)[0-9.]+$`)

func isInterpreter(name string) bool {
	return slices.Contains(interpreters, name) || slices.Contains(shells, name) || versioned.MatchString(name)
}

// runsCode reports whether an interpreter is given code in its words or by its
// input.
func runsCode(name string, words []Word) bool {
	if !isInterpreter(name) || name == "sed" || name == "gsed" {
		return false
	}
	if strings.HasSuffix(name, "awk") {
		return slices.ContainsFunc(words[1:], func(w Word) bool {
			return !w.Static || strings.Contains(w.Text, "system") || strings.Contains(w.Text, "|")
		})
	}
	if len(words) == 1 {
		return true
	}
	first := words[1]
	if (name == "deno" || name == "bun") && slices.Contains([]string{"eval", "repl"}, first.Text) {
		return true
	}
	if !first.Static || namesStdin(first) {
		return true
	}
	return strings.HasPrefix(first.Text, "-") && !slices.Contains([]string{"-m", "--version", "-V", "-v"}, first.Text)
}

// risk says why the words from one on, for which a wildcard stands, are not
// covered by it; "" if they are.
func risk(words []Word, from int) string {
	if from == 0 {
		return "the program is not fixed"
	}
	name := path.Base(words[0].Text)
	if _, ok := wrappers[name]; ok || slices.Contains(neverWild, name) {
		return unfit
	}
	if name == "sed" || name == "gsed" {
		return sedRisk(words[1:])
	}
	if p := lookup(name); p != nil {
		return p.risk(words, from)
	}
	if isInterpreter(name) {
		return interpreterRisk(words[1:], from-1)
	}
	return ""
}

// interpreterRisk reports whether the fixed words name what is run: a file, or a
// module.
func interpreterRisk(words []Word, from int) string {
	switch {
	case from >= 2 && words[0].Text == "-m":
		if p := lookup(words[1].Text); p != nil {
			return p.risk(words[1:], from-1)
		}
		return ""
	case from == 0 || strings.HasPrefix(words[0].Text, "-"):
		return unfit
	}
	return ""
}

// safeSed are the scripts of sed that neither write a file nor run a program:
// lines printed or deleted by number or by a plain expression, and substitutions
// without the flags w and e.
var safeSed = regexp.MustCompile(
	`^(?:(?:[0-9]+|\$|/[^/\\;\n]*/)(?:,(?:[0-9]+|\$|/[^/\\;\n]*/))?)?[pdq=]$|^s/[^/\\\n;]*/[^/\\\n;]*/[gpiI0-9]*$`)

// sedRisk looks at every word of a call of sed, also the fixed ones: options of
// GNU sed may stand anywhere, and its first operand is a script.
func sedRisk(words []Word) string {
	script := false
	for _, w := range words {
		switch {
		case !w.Static && (!script || w.mayBeOption()):
			return unseen
		case w.Static && slices.Contains([]string{"-n", "-E", "-r", "-s", "-u", "-z", "-nE", "-nr", "-En", "--"}, w.Text):
		case strings.HasPrefix(w.Text, "-") && w.Text != "-":
			return runs
		case !script:
			if !safeSed.MatchString(w.Text) {
				return runs
			}
			script = true
		}
	}
	if !script {
		return "the script is not fixed"
	}
	return ""
}
