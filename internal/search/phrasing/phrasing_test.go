package phrasing_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"callgate/internal/search/phrasing"
)

func TestClauses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"sentences",
			"Hello there! Please find all invoices from March 5, 2024. Then send them to my accountant. Thank you very much!",
			[]string{"Please find all invoices from March 5, 2024", "send them to my accountant"}},
		{"comma and then",
			"Read the file report.pdf, summarize it in three points, and then email the summary to bob@example.com",
			[]string{"Read the file report.pdf, summarize it in three points", "email the summary to bob@example.com"}},
		{"plain and", "Create a new ticket for the login bug and assign it to the backend team",
			[]string{"Create a new ticket for the login bug", "assign it to the backend team"}},
		{"semicolon", "list all open issues; close the oldest of them",
			[]string{"list all open issues", "close the oldest of them"}},
		{"lines", "list all open issues\nclose the oldest of them",
			[]string{"list all open issues", "close the oldest of them"}},
		{"bullets", "- list all open issues\n- close the oldest of them\n",
			[]string{"list all open issues", "close the oldest of them"}},
		{"numbers", "1. Open the settings page\n2) Change the password now\n(3) Log me out everywhere",
			[]string{"Open the settings page", "Change the password now", "Log me out everywhere"}},
		{"numbers inside a line", "1. Open the settings page 2. Change the password now 3. Log me out everywhere",
			[]string{"Open the settings page", "Change the password now", "Log me out everywhere"}},
		{"a short part joins the one before", "Read the whole report. Fix typos. Send a summary to Ann",
			[]string{"Read the whole report. Fix typos", "Send a summary to Ann"}},
		{"a short part joins the one after", "My report. Read all of it aloud. Send a summary to Ann",
			[]string{"My report. Read all of it aloud", "Send a summary to Ann"}},
		{"a question", "Why did the build fail? Get me its output",
			[]string{"Why did the build fail?", "Get me its output"}},
		{"a lead of filler", "Please do the following:\n* list all open issues\n* close the oldest of them",
			[]string{"list all open issues", "close the oldest of them"}},
		{"a bracket", "List the issues (open ones). Close the oldest of them",
			[]string{"List the issues (open ones)", "Close the oldest of them"}},
		{"French", "Lis le fichier rapport.pdf et ensuite envoie un résumé à Marie. Merci d’avance",
			[]string{"Lis le fichier rapport.pdf", "envoie un résumé à Marie"}},
		{"German", "Lies die Datei und dann schick eine Zusammenfassung an Marie. Am 3. Mai erinnere mich daran",
			[]string{"Lies die Datei", "schick eine Zusammenfassung an Marie", "Am 3. Mai erinnere mich daran"}},
		{"Spanish", "Busca los correos de ayer y luego crea un resumen en Notion",
			[]string{"Busca los correos de ayer", "crea un resumen en Notion"}},
		{"Italian", "Leggi il file del report e poi manda un riassunto a Maria",
			[]string{"Leggi il file del report", "manda un riassunto a Maria"}},
		{"Portuguese", "Leia o arquivo do relatório e depois envie um resumo para Maria",
			[]string{"Leia o arquivo do relatório", "envie um resumo para Maria"}},
		{"Russian", "Прочитай файл отчёта и потом отправь краткое содержание Марии. Спасибо большое!",
			[]string{"Прочитай файл отчёта", "отправь краткое содержание Марии"}},
		{"Ukrainian", "Прочитай файл звіту, а потім надішли короткий зміст Марії",
			[]string{"Прочитай файл звіту", "надішли короткий зміст Марії"}},
		{"Polish", "Przeczytaj ten długi raport a potem wyślij streszczenie do Marii",
			[]string{"Przeczytaj ten długi raport", "wyślij streszczenie do Marii"}},
		{"Czech", "Vyhledej všechny faktury z minulého měsíce a pošli je mé účetní e-mailem",
			[]string{"Vyhledej všechny faktury z minulého měsíce", "pošli je mé účetní e-mailem"}},
		{"Dutch", "Lees het rapport van vandaag en dan stuur een samenvatting naar Marie",
			[]string{"Lees het rapport van vandaag", "stuur een samenvatting naar Marie"}},
		{"Finnish", "Etsi kaikki laskut viime kuulta ja sitten lähetä ne kirjanpitäjälle",
			[]string{"Etsi kaikki laskut viime kuulta", "lähetä ne kirjanpitäjälle"}},
		{"Turkish", "Bu raporu oku ve sonra sonucu Ayşe'ye e-posta ile gönder",
			[]string{"Bu raporu oku", "sonucu Ayşe'ye e-posta ile gönder"}},
		{"Greek", "Διάβασε την αναφορά και μετά στείλε μια περίληψη στη Μαρία",
			[]string{"Διάβασε την αναφορά", "στείλε μια περίληψη στη Μαρία"}},
		{"Arabic", "اقرأ تقرير اليوم ثم أرسل الملخص إلى أحمد", []string{"اقرأ تقرير اليوم", "أرسل الملخص إلى أحمد"}},
		{"Persian", "گزارش امروز را بخوان و سپس خلاصه را برای علی بفرست",
			[]string{"گزارش امروز را بخوان", "خلاصه را برای علی بفرست"}},
		{"Hebrew", "תקרא את הדוח ואז תשלח סיכום לדנה", []string{"תקרא את הדוח", "תשלח סיכום לדנה"}},
		{"Hindi", "कल का मौसम बताओ और फिर मीटिंग को कैलेंडर में जोड़ो",
			[]string{"कल का मौसम बताओ", "मीटिंग को कैलेंडर में जोड़ो"}},
		{"Hindi sentences", "कल का मौसम बताओ। मीटिंग को कैलेंडर में जोड़ो।",
			[]string{"कल का मौसम बताओ", "मीटिंग को कैलेंडर में जोड़ो"}},
		{"Bengali", "আজকের রিপোর্ট পড়ো তারপর রহিমকে সারাংশ পাঠাও",
			[]string{"আজকের রিপোর্ট পড়ো", "রহিমকে সারাংশ পাঠাও"}},
		{"Indonesian", "Baca laporan hari ini dan kemudian kirim ringkasannya ke Budi",
			[]string{"Baca laporan hari ini", "kirim ringkasannya ke Budi"}},
		{"Vietnamese", "Đọc báo cáo hôm nay rồi gửi bản tóm tắt cho Lan",
			[]string{"Đọc báo cáo hôm nay", "gửi bản tóm tắt cho Lan"}},
		{"Swahili", "Soma ripoti ya leo kisha tuma muhtasari kwa Juma",
			[]string{"Soma ripoti ya leo", "tuma muhtasari kwa Juma"}},
		{"Chinese", "帮我查一下北京明天的天气，然后订一张去上海的机票。谢谢！", []string{"帮我查一下北京明天的天气", "订一张去上海的机票"}},
		{"Chinese after a comma", "帮我查一下北京明天的天气，再订一张去上海的机票，并且发给我的同事",
			[]string{"帮我查一下北京明天的天气", "订一张去上海的机票", "发给我的同事"}},
		{"Japanese", "明日の天気を調べて、それから会議の予定を追加してください。よろしくお願いします",
			[]string{"明日の天気を調べて", "会議の予定を追加してください"}},
		{"Japanese verbs", "売上のファイルを読み込んで、部長にメールで送ってください",
			[]string{"売上のファイルを読み込んで", "部長にメールで送ってください"}},
		{"Korean", "내일 서울 날씨를 알려줘 그리고 회의 일정을 캘린더에 추가해줘",
			[]string{"내일 서울 날씨를 알려줘", "회의 일정을 캘린더에 추가해줘"}},
		{"Thai", "ช่วยตรวจสอบสภาพอากาศพรุ่งนี้ที่กรุงเทพแล้วก็เพิ่มการประชุมลงในปฏิทิน",
			[]string{"ช่วยตรวจสอบสภาพอากาศพรุ่งนี้ที่กรุงเทพ", "เพิ่มการประชุมลงในปฏิทิน"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := phrasing.Read(test.text).Clauses; !slices.Equal(got, test.want) {
				t.Errorf("clauses of %q:\n%q, want\n%q", test.text, got, test.want)
			}
		})
	}
}

// TestOneThing: requests for one thing, most with something in them that cuts
// other requests.
func TestOneThing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " \n ", "...", "weather", "Find salt and pepper recipes", "read and write files",
		"Hello there! Please read my mail. Thank you very much!",
		"Translate \"good morning to you. how are you and then what\" to French",
		"Translate “good morning to you. and then what is it” to French",
		"run `make the build; make the tests` in the project folder",
		"open https://a.example/one.and.two;three?four=five.six and look",
		"What is 3.14 times 2.718 rounded to 1.5 digits",
		"Which tools, e.g. hammers, i.e. those that Dr. Smith sold at 9 a.m. to J. Doe, are left",
		"If it rains tomorrow then close all the windows in the house",
		"Since then nothing has changed in the system of the company",
		"list files, folders, and hidden entries in the directory",
		"Send the report to Ann, Bob and Carl tomorrow morning at work",
		"Show me the diff and the failing checks of the pull request",
		"can you do a backup of the whole database for me today",
		"Cherche dans les dossiers en français les fichiers de cette année",
		"Zoek alle bestanden die groter zijn dan honderd megabyte op schijf",
		"फिर से वही फ़ाइल खोलो जो कल खोली थी",
		"Show me the weather in these cities:\n- Paris\n- Rome\n- London",
		"このファイルについて、詳しく説明してください",
		"ลบไฟล์เก่าที่ดาวน์โหลดแล้ว", "你好，谢谢。帮我查一下北京明天的天气",
		"please copy the whole folder with all of its many files to the\nother disk of this machine",
	} {
		if got := phrasing.Read(text).Clauses; got != nil {
			t.Errorf("%q has clauses %q", text, got)
		}
	}
}

func TestManyClauses(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("Read the next report. ", 20) + "Close the last door."
	got := phrasing.Read(text).Clauses
	if len(got) == 0 || len(got) > phrasing.MaxClauses {
		t.Fatalf("%d clauses, want 1 to %d", len(got), phrasing.MaxClauses)
	}
	if last := got[len(got)-1]; !strings.HasSuffix(last, "Close the last door") {
		t.Errorf("the last clause is %q", last)
	}
}

func TestQuiet(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"list the open issues":                                "",
		"open report.pdf":                                     "",
		"打开 todo.txt":                                         "",
		"send the file to bob@example.com please":             "send the file to please",
		"fetch https://a.example/b?c=d#e. Then read it":       "fetch. Then read it",
		"look at www.example.org/page for me":                 "look at for me",
		"show me what is inside /etc/hosts":                   "show me what is inside",
		`show me what is inside C:\Users\ann\notes.txt`:       "show me what is inside",
		"show me what is inside (notes.txt)":                  "show me what is inside",
		"delete 550e8400-e29b-41d4-a716-446655440000 from it": "delete from it",
		"why was commit a1b2c3d4e5 reverted yesterday":        "why was commit reverted yesterday",
		"close the ticket PROJ-1234 for me":                   "close the ticket for me",
		"close the issue #42 for me":                          "close the issue for me",
		"what happened on 2024-03-05 at 10:30 in the log":     "what happened on at in the log",
		"book a table on March 5, 2024 for us":                "book a table on for us",
		"book a table on 5 March for us":                      "book a table on for us",
		"erinnere mich am 3. Mai an das Treffen":              "erinnere mich am an das Treffen",
		"recuérdame la reunión el 5 de marzo por favor":       "recuérdame la reunión el por favor",
		"remind me at 3 p.m. of the meeting":                  "remind me at of the meeting",
		"set a timer for 5 minutes":                           "set a timer for",
		"find files that use more than 10GB":                  "find files that use more than",
		"how much is 15% of $1,200.50 here":                   "how much is of here",
		`translate "good morning" to French`:                  "translate to French",
		"translate 'it's fine' to French":                     "translate to French",
		"translate «bonjour à tous» to French":                "translate to French",
		"run `make test` in the folder":                       "run in the folder",
		`call the tool with {"a": {"b": 1}} as input`:         "call the tool with as input",
		`把"hello world"翻译成法语`:                                 "把翻译成法语",
		"帮我看看todo.txt里写了什么":                                   "帮我看看里写了什么",
		"「こんにちは」を英語に翻訳してください":                                 "を英語に翻訳してください",
		// What looks like a value and says what is asked for.
		"top 10 songs with Node.js and UTF-8, SHA256 or mp3": "",
		"use filesystem.read_file and/or the other one":      "",
		"make a 3d model that doesn't need 2fa":              "",
	} {
		if got := phrasing.Read(text).Quiet; got != want {
			t.Errorf("%q without values is %q, want %q", text, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"Read the file. Then send it to Ann and then close it", "1. one two three 2. four five six",
		"a\xffb; c \"d", "“““", "{{{{}",
		"帮我查一下天气，然后订一张机票", "明日の天気を調べて、それから予定を追加", "5 de marzo 10% $5 3 p.m. 1.", "- a\n- b\n\n(1) c d e",
		"แล้วก็เพิ่มการประชุมลง", "'''", "www.", "://", "a@b.c", "5％", "فایل\u200cها را ببین", long[:200],
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := phrasing.Read(text)
		valid := strings.ToValidUTF8(text, "")
		if len(got.Clauses) == 1 || len(got.Clauses) > phrasing.MaxClauses {
			t.Fatalf("%d clauses", len(got.Clauses))
		}
		rest := valid
		for _, clause := range got.Clauses {
			at := strings.Index(rest, clause)
			if at < 0 || clause == "" || !utf8.ValidString(clause) || strings.TrimSpace(clause) != clause {
				t.Fatalf("the clause %q of %q", clause, text)
			}
			rest = rest[at+len(clause):]
		}
		if len(got.Quiet) > len(valid)+len(valid)/2 || !utf8.ValidString(got.Quiet) {
			t.Fatalf("%q without values is %q", text, got.Quiet)
		}
	})
}

// TestAllocations: a request for one thing without values costs no memory.
func TestAllocations(t *testing.T) {
	if !plain {
		t.Skip("the race detector is on: it empties pools")
	}
	phrasing.Read(short)
	if got := testing.AllocsPerRun(100, func() { phrasing.Read(short) }); got != 0 {
		t.Errorf("%v allocations for %q", got, short)
	}
}

const short = "show me the ten most recent issues of the repository that nobody has looked at"

var long = strings.Repeat("Read the report of yesterday, and then send a summary of it to the whole team. "+
	"Прочитай файл отчёта и потом отправь его. 帮我查一下北京明天的天气，然后订一张去上海的机票。\n", 40)[:8<<10]

func BenchmarkRead(b *testing.B) {
	for name, text := range map[string]string{
		"15 words": short,
		"values":   "send https://example.com/a/b.pdf to bob@example.com and tell him that it is due on 2024-03-05",
		"8 KB":     long,
		"8 KB, English": strings.Repeat("Read the report of yesterday and send a summary of it to the team. ",
			130)[:8<<10],
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				phrasing.Read(text)
			}
		})
	}
}

// BenchmarkHostile reads texts of signs that open and never close, and of what
// has to be looked for further on. The time for a byte is the same for a text of
// any length.
func BenchmarkHostile(b *testing.B) {
	for _, sign := range []string{
		`"`, ` "a`, "'a ", "`", "“", "„", "{", "{}{", " 1. ", " and ", ", and", "«", "a/", "1,", "然后", "、", ".", "谢谢",
	} {
		for _, size := range []int{8 << 10, 128 << 10} {
			text := strings.Repeat(sign, size/len(sign))
			b.Run(fmt.Sprintf("%q/%d", sign, size), func(b *testing.B) {
				b.SetBytes(int64(size))
				for b.Loop() {
					phrasing.Read(text)
				}
			})
		}
	}
}
