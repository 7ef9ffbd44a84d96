/** The wording of consent banners, in the languages most pages are written in. Runs in the page. */

/** Cookies by name, or words that only consent banners use. */
export const ABOUT_COOKIES =
  /cookie|kakor\b|informasjonskaps|evästeit|eväste|süti|μπισκότ|çerez|куки|кукі|бисквитк|kolačić|piškotk|колачић|galetes|slapuk|sīkdat|küpsis|vafrakök|ملفات تعريف الارتباط|كوكيز|עוגיות|קוקיז|कुकी|คุกกี้|クッキー|쿠키|\bgdpr\b|\brgpd\b|\bdsgvo\b|\blgpd\b|we value your privacy|(store|access)[^.]{0,40} information on (a|your) device/i;

/** Consent and privacy, which login forms and newsletters mention as well. */
const ABOUT_CONSENT =
  /consent|your privacy|privacy (choices|preference|settings)|einwilligung|zustimmung|datenschutz|consentement|vie privée|consentimiento|privacidad|consenso|toestemming|consentimento|privacidade|zgod[ayę]|prywatno|samtyck|samtykke|suostumus|souhlas|hozzájárul|consimț|συγκατάθεση|согласи|конфиденциальн|同意|개인정보|ความยินยอม|الخصوصية|פרטיות/i;

/** Personal data and policies, which count only in a box that can be declined as well as accepted. */
const ABOUT_DATA =
  /personal (data|info)|privacy polic|information that we collect|persönlichen? (daten|info)|personenbezogen|informations? personnelle|données (à caractère )?personnel|politique de confidentialit|(datos|información) personal|política de privaci|(dati|informazioni) personali|informativa sulla privacy|persoonlijke (gegevens|informatie)|persoonsgegevens|(dados|informações) pessoais|dane osobowe|danych osobowych|personlig(a|e|t)? (data|info|uppgift|opplysning|oplysning)|personuppgift|personoplysning|personopplysning|henkilötie|osobní(ch)? údaj|osobné údaje|osobných údajov|személyes adat|dvs\. personale|date(le)? (cu caracter )?personal|informació personal|informacions personalas|isikuandme|персональн|προσωπικ[άώ]|kişisel veri|個人(情報|データ)|个人(信息|数据)|個人資料/iu;

/** A site's statements about itself or its use of cookies. */
const SITE_COOKIE_USE =
  /\bus(e|es|ing)( [\p{L}’',-]+){0,6} (cookies|technologies)|cookies (to|that|help|allow|are)\b|cookie (policy|notice|settings|preferences|consent|control)|(use|usage) of cookies|necessary|essential|\b(web)?sites?\b|web ?page|browser|browsing|analytics|third[- ]part|personali[sz]e|verwend|benutz|nutz(en|t)\b|seite\b|utilis|utiliz|usiamo|usamos|\busa\b|página|pagina|\bsito\b|sitio|gebruik|używa|stron|använd|bruger|bruker|käyt|sivust|použív|stránk|\bweb\b|haszn|oldal|folose|χρησιμοπ|ιστ[όο]|kullan|использ|використ|използ|сайт|sajt|koristi|uporablja|stranic|naudoj|svetain|izmanto|vietn|kasuta|veeb|使用|利用|サイト|网站|網站|사용|사이트|ใช้|เว็บ|sử dụng|menggunakan|situs|نستخدم|يستخدم|موقع|משתמש|אתר|उपयोग|वेबसाइट/iu;

/** Edible cookies, or a shop's offer. */
const FOR_SALE =
  /chocolate|oatmeal|bake|bakery|baking|recipe|dough|delicious|flavou?r|crunch|gluten|\bsale\b|discount|coupon|\bcode\b|% off|[$€£] ?\d|\d ?[$€£]|shipping|basket|\bcart\b|checkout/i;

const NO_THANKS = 'no,? thanks?( you)?';

/** Labels that decline, or allow only necessary cookies: the only controls that are ever clicked. */
const REFUSALS = [
  // English
  'reject( all| cookies| everything)*( cookies)?',
  'reject (optional|additional|non[- ]?essential|all non[- ]?essential|unnecessary|analytics|tracking)( cookies)?',
  '(i )?decline( all| optional| cookies| apps| services)*',
  'deny( all| cookies)*',
  'refuse( all| cookies)*',
  '(i )?disagree',
  '(do not|don.?t) (accept|consent|agree|allow)( all)?( cookies)?',
  'i (do not|don.?t) (accept|consent|agree)',
  // Offers are declined in the same words, so this label alone does not make a box a banner.
  NO_THANKS,
  'continue without (accepting|agreeing|consent)',
  '(accept|allow|use|keep)? ?(only )?(the )?(strictly )?(necessary|essential|required|functional)( cookies)?( only)?',
  'only (accept |allow |use )?(the )?(strictly )?(necessary|essential|required)( cookies)?',
  'opt[- ]?out( of all)?',
  'do not sell( or share)? my (personal )?(information|data|info)',
  // German
  '(alle(s)? |cookies |optionale )*(ablehnen|verweigern|abweisen)',
  'nur (technisch |unbedingt )?(notwendige|erforderliche|essenzielle|essentielle|funktionale)( cookies)?( akzeptieren| zulassen| erlauben| verwenden)?',
  '(weiter )?ohne (zustimmung|einwilligung|akzeptieren)( fortfahren)?',
  'nicht (zustimmen|akzeptieren)',
  'ich lehne ab',
  // French
  '(tout |je )?(refuser|refuse|rejeter)( tout| tous les cookies| les cookies)?',
  'continuer sans accepter',
  '(accepter )?(uniquement|seulement) les (cookies )?(nécessaires|essentiels)',
  'interdire( tous les cookies)?',
  // Spanish
  '(rechazar|rechazo|denegar|no acepto|no aceptar)( todo| todas| todos| cookies| las cookies| todas las cookies)*',
  '(aceptar )?(solo|sólo|únicamente) (las )?(cookies )?(necesarias|esenciales)',
  'continuar sin aceptar',
  // Italian
  '(rifiuta|rifiuto|nega|declina)(re)?( tutto| tutti| i cookie| tutti i cookie)*',
  '(accetta )?(solo|soltanto) (i )?(cookie )?(necessari|essenziali|tecnici)',
  'continua senza accettare',
  // Dutch
  '(alles |alle cookies |cookies )*(weigeren|afwijzen)',
  '(alleen|enkel) (de )?(noodzakelijke?|functionele?|essenti[eë]le)( cookies)?( accepteren| toestaan)?',
  // Portuguese
  '(rejeitar|recusar|negar)( tudo| todos| cookies| os cookies| todos os cookies)*',
  '(aceitar )?(apenas|somente|só) (os )?(cookies )?(necessários|essenciais)',
  // Polish
  '(odrzuć|odmawiam|nie zgadzam się|odrzucam)( wszystkie| wszystko| cookies| pliki cookie)*',
  '(akceptuj )?tylko (niezbędne|wymagane|konieczne)( pliki cookie| cookies)?',
  // Swedish, Danish, Norwegian, Finnish
  '(avvisa|neka|avböj)( alla| alla kakor| kakor| cookies)*',
  '(afvis|nej tak|afslå)( alle| alle cookies| cookies)*',
  '(avvis|avslå)( alle| alle informasjonskapsler)*',
  '(tillåt |acceptera |godkänn |accepter |tillad |godta |tillat )?(endast|bara|kun|bare) (nödvändiga|nødvendige)( kakor| cookies| informasjonskapsler)?',
  '(hylkää|kiellä)( kaikki| kaikki evästeet)?',
  '(hyväksy )?vain (välttämättömät|pakolliset)( evästeet)?',
  // Czech, Slovak, Hungarian, Romanian, Bulgarian, Croatian, Slovene
  '(odmítnout|odmietnuť|zamítnout)( vše| všetko| všechny| všetky)?',
  '(pouze|jen|len|iba) (nezbytné|nutné|nevyhnutné|technické)( cookies)?',
  '(az összes |mindet )?(elutasít(om|ása)?)( mindet)?',
  'csak a szükséges(ek)?( sütik)?',
  '(respinge|refuză|refuz)( tot| toate| toate cookie-urile)?',
  'отхвърл(и|яне)( всички)?',
  '(odbij|zavrni)( sve| vse)?',
  // Greek, Turkish, Russian, Ukrainian
  '(απόρριψη|δεν συμφωνώ|απορρίπτω)( όλων)?',
  '(tümünü |hepsini |çerezleri )?(reddet|reddediyorum)',
  'sadece (gerekli|zorunlu)( çerezler)?',
  '(отклонить|отказаться|отказываюсь|запретить|не принимать)( все| всё| всех)?',
  'только (необходимые|обязательные)( файлы cookie| cookies)?',
  '(відхилити|відмовитися)( всі| все)?',
  // Croatian, Bulgarian, Lithuanian, Latvian, Estonian, Catalan
  '(odbijam|odbaci|odbijte|zavrnem|zavrnite)( sve| vse| kolačiće)*',
  '(отказвам|отказ|отхвърлям)( всички)?',
  '(atmesti|nesutinku|noraidīt|keeldu[n]?)( visus| visas| kõigist)?',
  '(rebutja|rebutjar|denega)( totes?| tot| tots| les galetes)*',
  // Arabic, Hebrew, Thai, Vietnamese, Indonesian and Malay, Hindi
  '(رفض|أرفض|ارفض)( الكل| الجميع| جميع ملفات تعريف الارتباط)?',
  '(דחייה|דחה|דחיית|סירוב|אני מסרב)( הכל| הכול)?',
  '(ปฏิเสธ|ไม่ยอมรับ)(ทั้งหมด|คุกกี้)*',
  '(từ chối|không đồng ý)( tất cả| cookie)*',
  '(tolak|menolak)( semua| cookie)*',
  '(सभी )?(अस्वीकार|अस्वीकृत)( करें)?',
  // Japanese, Korean, Chinese
  '(すべて|全て)?(の ?(cookie|クッキー))?(を)?(拒否|拒否する|同意しない)',
  '必要な(cookie|クッキー)?のみ.*',
  '(모두 )?(거부|거절)(하기)?',
  '필수( 쿠키)?만.*',
  '(全部|一律)?(拒绝|拒絕)(全部|所有|所有 ?cookie)?',
  '(仅|僅|只)(接受)?(必要|必需).*',
];

const REFUSAL = new RegExp(`^(?:${REFUSALS.join('|')})$`, 'iu');
const DECLINES_OFFER = new RegExp(`^(?:${NO_THANKS})$`, 'iu');

/** Labels that agree, which distinguish a banner from a box that mentions consent. */
const AGREES =
  /accept|agree|allow|consent|confirm my choices|akzeptieren|zustimmen|erlauben|einverstanden|accepter|j.accepte|autoriser|aceptar|acepto|permitir|accett|consenti|accepteren|akkoord|toestaan|aceitar|aceito|concordo|akceptuj|zgadzam|zezwól|acceptera|godkänn|tillåt|tillad|godta|tillat|hyväksy|salli|přijmout|souhlasím|prijať|súhlas|elfogad|sunt de acord|αποδοχή|αποδέχομαι|συμφωνώ|kabul|onayla|принять|принимаю|приемам|соглас|прийняти|погоджу|prihvać|prihvat|sprejm|strinjam|sutinku|piekr|nõustu|accepta|permet|قبول|أوافق|موافق|אישור|מאשר|מסכים|קבל|ยอมรับ|chấp nhận|đồng ý|terima|setuju|स्वीकार|सहमत|同意|承認|許可|受け入れ|동의|허용|수락|接受|允许|允許/iu;

/** Other controls of a banner. Since many other boxes have them, they count only in a box about the site's own cookies. */
const OTHER_CONTROLS =
  /got it|\bok(ay)?\b|understood|i understand|manage|preferences|settings|customi[sz]e|options|choices|continue|close|dismiss|verstanden|einstellungen|schlie(ß|ss)en|compris|paramétrer|personnaliser|gérer|fermer|entendido|configurar|gestionar|cerrar|capito|impostazioni|personalizza|gestisci|chiudi|begrepen|instellingen|sluiten|entendi|definições|fechar|rozumiem|ustawienia|zamknij|jag förstår|inställningar|stäng|forstået|asetukset|rozumím|nastavení|zavřít|rendben|beállítás|înțeles|setări|ρυθμίσεις|ayarlar|kapat|понятно|хорошо|настро|закрыть|設定|閉じる|설정|닫기|设置|設置|关闭/iu;

/** Names of frames that only a consent platform uses. */
export const CONSENT_FRAME =
  /consent|cookie[-_ ]?(banner|notice|wall|bar|popup)|\bcmp\b|gdpr|sp_message|privacy-mgmt|trustarc|truste|privacy[-_ ]?(center|manager|notice|choice)/i;

/** A longer label is a sentence in a link, not a control. */
const LABEL_MAX = 80;

export function refuses(label: string): boolean {
  return label.length <= LABEL_MAX && REFUSAL.test(label);
}

export function talksOfConsent(text: string): boolean {
  return ABOUT_COOKIES.test(text) || ABOUT_CONSENT.test(text) || ABOUT_DATA.test(text);
}

/** Whether a small control on its own opens a banner again; the name of a shop or of a game is none. */
export function opensBanner(words: string): boolean {
  return (ABOUT_COOKIES.test(words) || ABOUT_CONSENT.test(words)) && !FOR_SALE.test(words);
}

/**
 * Whether a box asks for consent, judged by its own words and its controls. Logins, offers and recipes mention consent and
 * cookies too.
 * @param labels of its controls
 * @param isNamed whether it has the name of a banner
 */
export function asksForConsent(words: string, labels: readonly string[], isNamed = false): boolean {
  const short = labels.filter((label) => label.length <= LABEL_MAX);
  const refuses = (label: string) => REFUSAL.test(label) && !DECLINES_OFFER.test(label);
  const agrees = (label: string) => AGREES.test(label) && !refuses(label);
  const answers = short.some((label) => agrees(label) || refuses(label));
  if ((isNamed || ABOUT_DATA.test(words)) && !FOR_SALE.test(words) && short.some(agrees) && short.some(refuses))
    return true;
  if (!ABOUT_COOKIES.test(words)) return ABOUT_CONSENT.test(words) && answers;
  const isAboutSite = SITE_COOKIE_USE.test(words) || ABOUT_CONSENT.test(words);
  if (FOR_SALE.test(words)) return isAboutSite && answers;
  return answers || (isAboutSite && short.some((label) => OTHER_CONTROLS.test(label)));
}
