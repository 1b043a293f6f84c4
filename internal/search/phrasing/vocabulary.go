package phrasing

// The words are in lower case. A conjunction with a question mark joins nothing
// in a sentence with a condition: "if it rains then close the windows".

// strongPhrases join two actions wherever they stand between two clauses.
const strongPhrases = `
and then,and also,then?,after that,and after that,afterwards,and afterwards,and finally,and next,and lastly
and in addition,additionally
puis,et puis,et ensuite,ensuite,et après,après ça,après cela,et aussi,et enfin,et également,et finalement
und dann,dann?,danach,und danach,und anschließend,anschließend,und auch,und außerdem,außerdem,und zum schluss
und schließlich
y luego,luego,y después,y despues,después,despues,y también,y tambien,y finalmente,y por último,a continuación
acto seguido
e poi,e dopo,dopodiché,e anche,successivamente,e successivamente,e infine,in seguito
e depois,depois,e então,em seguida,e em seguida,e também,e tambem,e por fim,e finalmente
i després,després,i també,i llavors,tot seguit
e despois,despois
и потом,потом,а потом,затем,и затем,а затем,после этого,и после этого,после чего,а также,и ещё,и еще,и наконец
а ещё,а еще
потім,і потім,а потім,а також,після цього,після чого,далі
потым,затым,а таксама,пасля гэтага
след това,и след това,и после,а след това,после това
потоа,и потоа
затим,и затим,након тога,и онда
a potem,i potem,potem,następnie,a następnie,i następnie,a także,po czym,a na koniec
a pak,a poté,poté,a potom,potom,následně,a také,a nakonec,a taky
a následne,následne,a tiež
i onda,zatim,i zatim,a zatim,nakon toga,a onda,i poslije toga,nakon čega
in nato,in potem
en dan,en daarna,daarna,vervolgens,en vervolgens,en ook,en tot slot
och sen,och sedan,därefter,och därefter,och också,efter det
og så,og derefter,derefter,bagefter,og også,og bagefter
og deretter,deretter,etterpå,og etterpå
og síðan,og svo,síðan
ja sitten,ja sen jälkeen,sen jälkeen,ja myös,ja lopuksi
ja siis,ja seejärel,seejärel,pärast seda
un tad,un pēc tam,pēc tam
ir tada,ir po to
és aztán,aztán,ezután,azután,majd,és utána,és végül,valamint
și apoi,si apoi,apoi,și după aceea,după aceea,dupa aceea,și de asemenea,iar apoi
dhe pastaj,pastaj,dhe më pas,më pas
και μετά,και μετα,και έπειτα,έπειτα,και στη συνέχεια,στη συνέχεια,ύστερα,κατόπιν,και επίσης
ve sonra,ve daha sonra,ve ardından,ondan sonra,bundan sonra,ve ayrıca,ve son olarak,sonrasında
və sonra
va keyin,shundan keyin,undan keyin
содан кейін,сосын,андан кийин,дараа нь,шуннан соң
ثم,وثم,ومن ثم,وبعد ذلك,بعد ذلك,وبعدها,بعدها,وأيضا,وأيضًا,وكذلك
سپس,و سپس,و بعد,بعد از آن,پس از آن,و همچنین,و در نهایت
اور پھر,پھر,اس کے بعد,اور اس کے بعد
بیا,او بیا,پاشان
ואז,ואחר כך,אחר כך,ולאחר מכן,לאחר מכן,ואחרי זה,אחרי זה,וגם
और फिर,फिर,इसके बाद,उसके बाद,और इसके बाद,और उसके बाद,तथा फिर
आणि मग,मग,त्यानंतर,आणि नंतर
अनि,त्यसपछि,र त्यसपछि
তারপর,এবং তারপর,তারপরে,এরপর,আর তারপর,এর পর
ਅਤੇ ਫਿਰ,ਫਿਰ,ਇਸ ਤੋਂ ਬਾਅਦ
અને પછી,ત્યારબાદ,ત્યાર બાદ
அதன் பிறகு
ఆ తర్వాత,మరియు తర్వాత
ಆಮೇಲೆ,ಮತ್ತು ನಂತರ
എന്നിട്ട്,പിന്നെ,അതിനുശേഷം,തുടർന്ന്
ඉන්පසු,ඊට පසු
dan kemudian,kemudian,lalu,dan lalu,setelah itu,dan setelah itu,selepas itu,dan juga,terus juga,dan akhirnya
rồi,và sau đó,sau đó,rồi sau đó,tiếp theo,và cũng,xong rồi,đồng thời
pagkatapos,at pagkatapos,at saka
kisha,na kisha,halafu,baada ya hapo,na baadaye,baadaye,na pia
그리고,그리고 나서,그런 다음,그 다음,그다음,그다음에,그 다음에,그 후,그 후에,이어서,그러고 나서,또한
և հետո,և ապա,այնուհետև
და შემდეგ,და მერე
እና ከዚያ,ከዚያ,ከዚያም,በመቀጠል
agus ansin,agus ina dhiaidh sin
ac yna,ac wedyn,wedyn
eta gero,eta ondoren,ondoren
kaj poste,kaj tiam
`

// commaPhrases join two actions where a comma stands before them, or where they
// begin a sentence.
const commaPhrases = `
also,finally,lastly,plus,enfin,finalement,aussi,schließlich,zuletzt,zum schluss,zusätzlich,también,finalmente
por último,infine,inoltre,também,por fim,além disso,además,de plus,также,наконец,ещё,еще,также и,також,нарешті
także,wreszcie,na koniec,nakonec,také,ook,tot slot,sedan,sen,också,også,til slutt,lopuksi,sitten,végül,utoljára
în final,de asemenea,τέλος,επίσης,μετά,sonra,ardından,ayrıca,son olarak,daha sonra,أيضا,أيضًا,وأخيرا,وأخيرًا,بعد
همچنین,در نهایت,גם,לבסוף,बाद में,साथ ही,juga,akhirnya,terus,cuối cùng,cũng,또,마지막으로,다음으로,siis,tad,na mwisho,poi
онда,pak,onda,nato,zatem,tada,utána,keyin esa,પછી,பின்னர்,பிறகு,மேலும்,తర్వాత,తరువాత,ನಂತರ,පසුව,tapos,saka,հետո
შემდეგ
`

// apartPhrases hold a conjunction and join nothing.
const apartPhrases = `
since then,until then,till then,by then,back then,from then,before then,even then,just then,now and then
then again,every now and then
after that date,next to,next time,also known as
luego de,desde luego,hasta luego,después de,despues de,después del,despues del,depois de,depois do,depois da
depois dos,depois das
depois disso,desde então,d'ici là,prima e poi,ora e poi,ab und dann
फिर से,फिर भी,फिर कभी,پھر سے,پھر بھی,ਫਿਰ ਤੋਂ,और फिर से
potem gdy,po to kad,po to kai,pēc tam kad,sen jälkeen kun,potom co,poté co,potom čo,после того,після того
пасля таго,след това което
بعد از,daha sonraki,rồi sẽ,rồi đó,setelah itu juga,majd csak,in seguito a,in seguito al,in seguito alla
`

// plainPhrases join words as well as actions.
const plainPhrases = `
and,und,и,och,og,și,dhe,και,və,та,і,oraz,और,तथा,एवं,এবং,আর,ਅਤੇ,અને,மற்றும்,మరియు,ಮತ್ತು,കൂടാതെ,आणि,සහ,و,اور,và,እና
და,և,ու,және,жана,болон,agus,kaj,sowie,ainsi que,as well as,así como,assim como,sekä,così come
`

// markedLanguages are told by their frequent words, for their "and" is a word of
// another kind in a language that is written with the same letters.
var markedLanguages = [...]struct{ and, words string }{
	{"et", "le les des du une pour dans avec mon ma mes ce cette la tous toutes de sur moi au aux"},
	{"y", "el los las que del una por con mi mis en de la para al este esta lo su tu todos todas"},
	{"en", "een het ik mijn naar voor deze uit wat bestand stuur zoek maak alle dat 'n nie vir my"},
	{"a", "že můj mé mou všechny všetky soubor súbor najdi pošli přes když které " +
		"ktoré ulož otevři vytvoř ze souboru"},
	{"i", "się w wszystkie dla które jest plik pliku tę mój moje " +
		"sve datoteku koji koje ovaj amb els meu meva aquest tots"},
	{"e", "il gli di che della nel tutti mio mia questo questa um uma para meu minha todos com não em os dos das"},
	{"in", "datoteko ki vse moje iz vsa mojo kaj pošlji poišči"},
	{"ja", "kaikki tiedosto minun tämä että mulle minulle kõik minu mulle faili palun"},
	{"un", "visus failu uz ar šo manu mans lūdzu"},
	{"ir", "į iš mano failą visus šį apie"},
	{"si", "din cu pe în toate fișierul pentru"},
	{"na", "ya wa kwa katika yangu faili yote kutoka"},
	{"dan", "yang dari untuk saya ini semua dengan berkas pada"},
	{"at", "ang ng mga aking lahat"},
	{"va,ve", "uchun barcha menga bilan bir bu için ile bana tüm " +
		"olan şu dosyayı dosyasını lütfen benim yeni her kadar gönder"},
	{"és", "az egy ezt hogy küldd nekem összes minden kérlek meg"},
	{"eta", "guztiak nire bat mesedez hau"},
	{"र", "मलाई गर्नुहोस् सबै यो मेरो लाई"},
	{"ও", "আমার সব এই আমাকে করো কর"},
}

// fillerWords say nothing about what is asked for. A part of a request of
// nothing but them is no clause.
const fillerWords = `
please thanks thank you very much so a lot many hello hi hey dear there good morning afternoon evening day
everyone all team help me
could can would will i need want your kind kindly this that it is for to do the following things tasks steps
these with some in advance
regards best cheers appreciate really assistance if possible great ok okay well now  how are we let let's just
everything be my
merci beaucoup d'avance avance par s'il s'il-vous-plaît vous te plaît plait bonjour salut bonsoir aide aidez
aide-moi aidez-moi peux-tu
pouvez-vous peux tu m'aider svp stp cordialement bien infiniment pour votre ton moi
danke dankeschön vielen dank im voraus bitte hallo guten tag morgen abend hilf helfen sie kannst du mir könnten
können schön sehr ihre hilfe
grüße freundliche freundlichen grüßen mit herzlichen
gracias muchas muchísimas por favor hola buenos buenas días dias tardes noches ayuda ayúdame ayudame puedes
podrías ayudarme me de antemano
un saludo saludos su tu
grazie mille molte tante ciao buongiorno buonasera prego favore per piacere aiutami aiuto puoi potresti aiutarmi
anticipo in
obrigado obrigada muito olá ola bom boa dia tarde noite ajuda ajude-me pode você me ajudar desde já favor
спасибо большое заранее пожалуйста привет здравствуйте здравствуй добрый день вечер утро помоги помогите мне
можешь можете вы ты помочь вам
дякую дуже наперед будь ласка привіт вітаю допоможи допоможіть мені благодаря моля здравей
dziękuję dzięki bardzo z góry proszę cześć dzień dobry pomóż mi pomoc za witam pozdrawiam
děkuji díky moc předem prosím ahoj dobrý den pomoz mi ďakujem vopred
bedankt dank je u wel alvast alsjeblieft alstublieft hoi goedemorgen goedemiddag help kun kunt mij
tack så mycket på förhand hej snälla hjälp mig tak takk på forhånd mange venligst kan dere
kiitos paljon etukäteen hei moi ole hyvä auta minua ystävällisesti
köszönöm szépen előre is kérlek szia kérem segíts nekem mulțumesc multumesc mult anticipat vă rog te salut bună
ziua ajută-mă
ευχαριστώ πολύ εκ των προτέρων παρακαλώ γεια σου σας βοήθησε βοηθήστε καλημέρα καλησπέρα
teşekkürler teşekkür ederim çok şimdiden lütfen merhaba selam yardım et bana eder misin
شكرا شكرًا جزيلا جزيلاً لك مقدما مقدمًا من فضلك لو سمحت مرحبا السلام عليكم ساعدني أهلا
ممنون متشکرم خیلی لطفا لطفاً سلام کمکم کن کنید پیشاپیش شکریہ براہ کرم بہت میری مدد کریں
תודה רבה מראש בבקשה שלום היי תעזור לי עזור
धन्यवाद बहुत कृपया नमस्ते मेरी मदद करो करें कीजिए शुक्रिया ধন্যবাদ অনেক দয়া করে নমস্কার সাহায্য করুন আমাকে
terima kasih banyak sebelumnya tolong halo bantu saya mohon selamat pagi siang asante sana tafadhali habari
nisaidie salamat po
cảm ơn bạn nhiều trước xin chào làm vui lòng giúp tôi với ạ nhé
감사합니다 고맙습니다 안녕하세요 안녕 부탁드립니다 부탁해요 부탁합니다 미리 정말 도와주세요 도와줘 대단히 좀
`

// fillerRuns are fillers of scripts without spaces, longer ones first.
var fillerRuns = [...]string{
	"どうぞよろしくお願いいたします", "よろしくお願いいたします", "よろしくお願いします", "どうもありがとうございます", "ありがとうございます",
	"ありがとうございました", "お願いいたします", "お願いします", "手伝ってください", "助けてください", "こんにちは", "おはようございます", "こんばんは",
	"お疲れ様です", "ありがとう", "すみません", "よろしく", "非常感谢", "非常感謝", "十分感谢", "多谢", "多謝", "感谢", "感謝", "谢谢", "謝謝", "麻烦",
	"麻煩", "你们", "你好", "您好", "大家好", "请帮忙", "請幫忙", "请帮我", "請幫我", "帮帮我", "帮我", "幫我", "请问", "請問", "请", "請", "拜托", "拜託",
	"早上好", "下午好", "晚上好", "一下", "你的帮助", "您的帮助", "的", "你", "您", "了", "大家", "吗",
	"ขอบคุณมาก", "ขอบคุณล่วงหน้า", "ขอบคุณ", "สวัสดี", "ช่วยด้วย", "กรุณา", "ครับ", "ค่ะ", "คะ", "มาก",
	"ล่วงหน้า", "ຂອບໃຈ", "ສະບາຍດີ",
	"សូមអរគុណ", "អរគុណ", "សួស្តី", "ច្រើន", "ကျေးဇူးတင်ပါတယ်", "မင်္ဂလာပါ",
}

// abbreviations are followed by a full stop that ends no sentence.
const abbreviations = `
mr mrs ms dr prof st vs no nr approx inc ltd co corp fig eq ca cf ed eds vol pp jr sr dept est ext tel min max
gen col lt rev hon eg ie
bzw usw ggf evtl inkl zzgl abs str bspw sog vgl mme mlle mm av bd ex env sra srta dra ud uds núm pág art sig
dott avv ing pag
ул гл стр рис им тел руб тыс млн млрд напр наприклад вул грн см тис godz ul np tzn m.in tj č tzv např bl.a t.ex
dvs f.eks pl stb
`

// determiners begin a thing and not an action: after a plain "and" they make it
// one that joins two things.
const determiners = `
the a an its my your his her their our these those any every both der die das den dem ein eine einen mein meine meinen
le la les un une des mon ma mes son sa ses ses leur leurs el los las una unos unas mis sus il lo gli o os as um
uma de het een
mijn ett den det en alla mina
`

// conditions begin a sentence whose "then" joins no second action.
const conditions = `if when whenever unless wenn falls sofern`

const monthWords = `
january february march april may june july august september october november december jan feb mar apr jun jul
aug sep sept oct nov dec
janvier février fevrier mars avril mai juin juillet août aout septembre octobre novembre décembre
januar februar märz juni juli oktober dezember enero febrero marzo abril mayo junio julio agosto septiembre
octubre noviembre diciembre
gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre janeiro fevereiro março maio junho julho
setembro outubro
novembro dezembro januari februari maart mei augustus января февраля марта апреля мая июня июля августа сентября
октября ноября декабря
січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня
stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia
ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık januar februar marts maj
`

const unitWords = `
mm cm m km ft yd inch inches foot feet yard yards mile miles meter meters metre metres kilometer
kilometers kilometre kilometres
mg g kg t lb lbs oz gram grams kilogram kilograms kilo kilos pound pounds ounce ounces ton tons ml cl dl l liter
liters litre litres
b kb mb gb tb pb kib mib gib tib bytes byte bit bits kbps mbps gbps hz khz mhz ghz px pt dpi fps w kw kwh
v mv ma °c °f °
ms sec secs second seconds min mins minute minutes h hr hrs hour hours day days week weeks month months year
years am pm uhr
secondes seconde heure heures jour jours semaine semaines mois an ans sekunde sekunden minuten stunde stunden
tag tage tagen woche wochen
monat monate jahr jahre segundo segundos minuto minutos hora horas día días dia dias semana semanas mes meses
año años mês anos
secondi minuti ora ore giorno giorni settimana settimane mesi anno anni seconden uur uren dagen weken maanden
jaar
секунд секунды минут минуты минуту час часа часов день дня дней недели недель месяц месяца месяцев год года лет
руб рублей км кг м г
секунди хвилин хвилини година години годин днів дні тижні грн złotych zł godzin godziny minut minuty dni sekund
saniye dakika saat gün hafta ay yıl tl dollars dollar euros euro usd eur gbp rub percent prozent procent
процентов
दिन घंटे मिनट रुपये সেকেন্ড মিনিট ঘণ্টা দিন menit jam hari minggu bulan tahun phút giờ ngày tuần tháng năm 분 시간
일 주 개월 원
دقيقة دقائق ساعة ساعات يوم أيام دقیقه ساعت روز דקות שעות ימים
`
