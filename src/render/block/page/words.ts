/** What consent banners say, in the languages most pages are written in. Runs in the page. */

/** A banner talks of cookies, consent or privacy. */
export const ABOUT_CONSENT =
  /cookie|kakor\b|informasjonskaps|evästeit|eväste|süti|μπισκότ|çerez|куки|кукі|クッキー|쿠키|\bgdpr\b|\brgpd\b|\bdsgvo\b|\blgpd\b|consent|we value your privacy|your privacy|privacy choices|einwilligung|zustimmung|datenschutz|consentement|vie privée|consentimiento|privacidad|consenso|toestemming|consentimento|privacidade|zgod[ayę]|prywatno|samtyck|samtykke|suostumus|souhlas|hozzájárul|consimț|συγκατάθεση|согласи|конфиденциальн|同意|개인정보/i;

/** What refuses, or leaves only what is needed: the only kind of control that is ever clicked. */
const REFUSALS = [
  // English
  'reject( all| cookies| everything)*( cookies)?',
  'reject (optional|additional|non[- ]?essential|all non[- ]?essential|unnecessary|analytics|tracking)( cookies)?',
  '(i )?decline( all| optional| cookies)*',
  'deny( all| cookies)*',
  'refuse( all| cookies)*',
  '(i )?disagree',
  '(do not|don.?t) (accept|consent|agree|allow)( all)?( cookies)?',
  'i (do not|don.?t) (accept|consent|agree)',
  'no,? thanks?( you)?',
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
  // Japanese, Korean, Chinese
  '(すべて|全て)?(の ?(cookie|クッキー))?(を)?(拒否|拒否する|同意しない)',
  '必要な(cookie|クッキー)?のみ.*',
  '(모두 )?(거부|거절)(하기)?',
  '필수( 쿠키)?만.*',
  '(全部|一律)?(拒绝|拒絕)(全部|所有|所有 ?cookie)?',
  '(仅|僅|只)(接受)?(必要|必需).*',
];

const REFUSAL = new RegExp(`^(?:${REFUSALS.join('|')})$`, 'iu');

/** What any control of a consent banner says: agreeing, refusing, choosing. Tells a banner from a box that mentions cookies. */
const CHOICE =
  /accept|agree|allow|consent|got it|\bok(ay)?\b|understood|i understand|manage|preferences|settings|customi[sz]e|options|choices|akzeptieren|zustimmen|erlauben|einverstanden|verstanden|einstellungen|accepter|j.accepte|autoriser|compris|paramétrer|personnaliser|gérer|aceptar|acepto|permitir|entendido|configurar|gestionar|accett|consenti|capito|impostazioni|personalizza|gestisci|accepteren|akkoord|toestaan|begrepen|instellingen|aceitar|aceito|concordo|entendi|definições|akceptuj|zgadzam|zezwól|rozumiem|ustawienia|acceptera|godkänn|tillåt|jag förstår|inställningar|accepter|tillad|forstået|godta|tillat|hyväksy|salli|asetukset|přijmout|souhlasím|rozumím|nastavení|súhlas|elfogad|rendben|beállítás|accept|înțeles|sunt de acord|setări|αποδοχή|συμφωνώ|ρυθμίσεις|kabul|onayla|ayarlar|принять|принимаю|соглас|понятно|хорошо|настро|прийняти|погоджу|同意|承認|許可|設定|동의|허용|설정|接受|同意|允许|允許|设置|設置/iu;

/** A frame that only a consent platform would name so. */
export const CONSENT_FRAME =
  /consent|cookie[-_ ]?(banner|notice|wall|bar|popup)|\bcmp\b|gdpr|sp_message|privacy-mgmt|trustarc|truste|privacy[-_ ]?(center|manager|notice|choice)/i;

/** A script that would put a banner up. */
export const CONSENT_SCRIPT =
  /cookie-?(consent|notice|banner|bar|law|bot|first|script|yes|hub|info)|consent|\bcmp\b|gdpr|onetrust|otsdk|didomi|usercentrics|iubenda|osano|tarteaucitron|klaro|axeptio|termly|truste|quantcast|privacy-mgmt|complianz|borlabs|civic/i;

export function refuses(text: string): boolean {
  return text.length <= 80 && REFUSAL.test(text);
}

export function choosesOrRefuses(text: string): boolean {
  return text.length <= 80 && (CHOICE.test(text) || REFUSAL.test(text));
}
