import type { PopupKind } from '../../../contract/popups.js';
import { hiddenElements } from '../changes.js';
import {
  allIn,
  alphaOf,
  ancestry,
  body,
  documentProperty,
  isPage,
  matches,
  nameOf,
  pageBoxes,
  textBox,
  trees,
} from '../dom.js';
import { queryTrees } from '../dom-cache.js';
import { goesAway, hide, hideBackdrops, restorePage } from './dismiss.js';
import { boxesOnTop, deepControls, deepText, isInView, labelOf, leadsAway } from './overlays.js';
import { asksForConsent } from './words.js';

/**
 * Closes windows before a page that a visitor may read: only those whose words say what they want, and only if enough readable text lies
 * beneath. Runs in the page's isolated world.
 */

export interface ClosedPopup {
  kind: PopupKind;
  element: string;
  /** Whether its own button closed it; otherwise it was hidden. */
  isClosed: boolean;
}

/** A window with more text is content. */
const TEXT_MAX = 2_500;
/** Characters of prose that a page must have beneath. A page that is read by those who pay or sign in shows less of its text to others. */
const PROSE_MIN = { newsletter: 400, app_install: 150, survey: 400, login: 900, paywall_notice: 900 } as const;
const BLOCK_MIN = 40;
const BLOCKS_MAX = 2_000;
const PROSE = 'p,li,blockquote,dd,pre,td,article div,main div';
/** A window that covers less of the view, and not its middle, is a part of the page or a small notice beside it. */
const COVERS_MIN = 0.04;
const POPUPS_MAX = 5;
const LABEL_MAX = 60;

/** Windows that another one covers at the points where boxes are looked for. */
const MODAL = 'dialog[open],[aria-modal="true"]';
/** Banners of applications that are placed at the start of the page. */
const APP_BANNER =
  '[class*="smartbanner" i],[id*="smartbanner" i],[class*="smart-banner" i],[class*="app-banner" i],[id*="app-banner" i]';
const NAMED_MAX = 20;

/** Names of windows that rules of lists hide. */
const POPUP_NAME = /pop-?up|modal|overlay|dialog|lightbox|interstitial|newsletter|subscri|signup|backdrop|wall/i;

const PASSWORD = 'input[type="password"]';
const EMAIL = 'input[type="email"],input[name*="mail" i],input[id*="mail" i],input[placeholder*="mail" i]';
/** Parts of pages and of applications, which no window that is closed here has. */
const OF_THE_PAGE =
  'nav,main,article,[role="navigation"],[role="search"],input[type="search"],[contenteditable="true"]';
/** Only a survey asks for an answer in sentences. */
const SENTENCES = 'textarea';
/** Windows may be in a frame of the page's own origin. */
const IN_FRAMES = { frames: true };
/** Tours of an application, and its own messages. */
const TOUR = /driver-|driverjs|shepherd|introjs|joyride|(?:^|[\s_-])tour(?:$|[\s_-])|hopscotch|coachmark|onboarding/i;
const STORE =
  /^(?:https?:\/\/(?:[a-z-]+\.)?(?:apps\.apple\.com|itunes\.apple\.com|play\.google\.com\/store|appgallery\.huawei\.com|app\.adjust\.com|[a-z0-9-]+\.(?:onelink\.me|app\.link|page\.link))|itms-apps:|market:|intent:)/i;
const SIGN_IN_FRAME = /^https:\/\/accounts\.google\.com\/gsi\//;

const APP =
  /\b(?:get|open|use|try|download|install|switch to|continue in|view in|better in|faster in|available (?:on|in)) (?:it (?:on|in) )?(?:the|our|my|your)? ?(?:free |mobile |official )?(?:[\p{L}\d.]+ )?app\b|\bapp store\b|google play|in der app|app (?:öffnen|herunterladen|installieren|laden)|dans l.(?:app|appli)\b|télécharge[rz] l.app|en la app\b|descarga(?:r)? la app|nell.app|scarica l.app|baixe? o app|アプリ(?:で|を)|앱(?:에서|으로)|(?:打开|下载)\s?app/iu;
const SURVEY =
  /\bsurvey\b|questionnaire|how likely (?:are|is) (?:you|it)|rate (?:your|our|this) (?:experience|visit|site|website)|\b(?:your|quick|short) (?:feedback|questions?)\b|help us improve|tell us what you think|umfrage|ihre meinung|enquête|sondage|votre avis|encuesta|su opinión|sondaggio|enquête|pesquisa de satisfação|アンケート|설문|问卷/iu;
const PAYWALL =
  /(?:free|remaining|complimentary) (?:articles?|stor(?:y|ies))|articles? (?:left|remaining)|(?:keep|continue|to) reading|subscri(?:be|ption)[^.]{0,60}(?:journalism|unlimited|access|support)|(?:unlimited|full|digital) (?:digital )?access|(?:support|become a) (?:our |independent |quality )?(?:journalism|member|subscriber|supporter)|already (?:a )?(?:subscriber|subscribed)|weiterlesen|probeabo|jetzt abonnieren|abonnez-vous|poursuivre (?:la|votre) lecture|suscríb[^.]{0,40}(?:leyendo|acceso)|abbonati|seguir leyendo|continuar lendo/iu;
const LETTERS =
  /newsletter|mailing list|e-?mail list|(?:join|sign up|subscribe|register)[^.!?]{0,80}(?:news|updates?|inbox|emails?|offers?|deals?|tips|list|% off|discount|community)|(?:\d{1,4} ?%|[$€£] ?\d{1,6}|\d{1,6} ?[$€£]) ?(?:off|discount|rabatt|de (?:réduction|descuento)|di sconto|korting)|(?:get|receive|stay|never miss)[^.!?]{0,60}(?:inbox|by email|up to date|in the loop|updates?)|(?:special|exclusive|limited) (?:discount|offer)|rundbrief|neuigkeiten|infolettre|lettre d.information|boletín|bollettino|nieuwsbrief|nyhetsbrev|nyhedsbrev|uutiskirje|メルマガ|ニュースレター|뉴스레터|邮件订阅|рассылк/iu;
const SIGN_IN =
  /\b(?:log|sign) ?(?:in|up)\b|create (?:a |an |your )?(?:free )?account|join (?:for free|now|today)|continue with (?:google|facebook|apple|email)|anmelden|einloggen|registrier|connectez-vous|se connecter|s.inscrire|créer un compte|inici(?:ar|a) sesión|regístrat|crear (?:una )?cuenta|accedi\b|registrati|inloggen|aanmelden|entrar|cadastr|ログイン|로그인|登录|登錄|войти/iu;
/** An application asks so for what its visitor has begun, never a page for its readers. */
const OWN_QUESTION =
  /\b(?:delete|discard|unsaved|are you sure|confirm (?:your|the|password)|session (?:has )?expired|two-factor|verification code|payment|checkout|shipping address|age|18 or older|21 or older)\b/i;
const CLOSES =
  /^(?:(?:close|dismiss|hide|exit|cancel|skip|later|x)\b.*|(?:no|not)\b.*|(?:maybe|remind me|ask me) later.*|i.?m not interested|i don.?t want.*|(?:continue|stay|keep|go|proceed) (?:to|on|in|with|without|reading)\b.*|(?:schließen|schliessen|nein|nicht|später|abbrechen|weiter ohne|ohne)(?:$|\P{L}.*)|(?:fermer|non|plus tard|ignorer|passer|pas maintenant|continuer sans)(?:$|\P{L}.*)|(?:cerrar|no|ahora no|más tarde|omitir|continuar sin)(?:$|\P{L}.*)|(?:chiudi|no|più tardi|non ora|salta)(?:$|\P{L}.*)|(?:sluiten|nee|later|niet nu|overslaan)(?:$|\P{L}.*)|(?:fechar|não|agora não|mais tarde|pular)(?:$|\P{L}.*)|(?:stäng|luk|lukk|sulje|zamknij|zavřít|bezárás|kapat|закрыть|閉じる|닫기|关闭|關閉)(?:$|\P{L}.*)|[×✕✖✗⨯✘╳]$)/iu;
const NAMED_CLOSE =
  /(?:^|[\s_:-])(?:close|dismiss|closer|btn-?close)(?:$|[\s_:-])|(?:close|dismiss)(?:btn|button|icon)/i;

/**
 * Closes what is in front of the page now; its dialogs and whatever is not of these kinds stay.
 * @param options.listed whether rules of lists hide popups, too, which may leave the page locked
 */
export async function close({
  kinds,
  listed,
}: {
  kinds: readonly PopupKind[];
  listed: boolean;
}): Promise<ClosedPopup[]> {
  const closed: ClosedPopup[] = [];
  const seen = new Set<Element>();
  for (let round = 0; round < POPUPS_MAX; round++) {
    const popup = nextPopup(kinds, seen);
    if (popup === null) break;
    seen.add(popup.element);
    const { element, kind } = popup;
    const name = nameOf(element);
    const button = closeButton(element);
    // An icon of SVG has no method `click`.
    button?.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, composed: true }));
    const isClosed = button !== null && (await goesAway({ element }));
    if (!isClosed) {
      hide(element);
      hideBackdrops();
    }
    closed.push({ kind, element: name, isClosed });
  }
  if (closed.length > 0 || (listed && isLocked() && hiddenElements().some((name) => POPUP_NAME.test(name))))
    restorePage();
  return closed;
}

function isLocked(): boolean {
  return pageBoxes().some((box) => {
    const { overflowY, position } = getComputedStyle(box);
    return /hidden|clip/.test(overflowY) || position === 'fixed';
  });
}

interface Popup {
  element: HTMLElement;
  kind: PopupKind;
}

function nextPopup(kinds: readonly PopupKind[], seen: ReadonlySet<Element>): Popup | null {
  const boxes = [...new Set([...boxesOnTop(), ...boxesOf(MODAL), ...boxesOf(APP_BANNER)])].filter(
    (box) => !seen.has(box) && isInView(box) && !isTour(box),
  );
  for (const element of boxes) {
    const kind = kindOf(element);
    if (kind === null || !kinds.includes(kind) || !standsBefore(element, kind)) continue;
    if (proseBeneath(boxes) >= PROSE_MIN[kind] && !isWalled(kind)) return { element, kind };
  }
  return null;
}

function boxesOf(selector: string): HTMLElement[] {
  return queryTrees(selector)
    .filter((element): element is HTMLElement => element instanceof HTMLElement && !isPage(element))
    .slice(0, NAMED_MAX);
}

function isTour(box: HTMLElement): boolean {
  const around = [...ancestry(box), ...box.querySelectorAll('[class]')].slice(0, 100);
  return around.some((element) => TOUR.test(`${element.id} ${element.getAttribute('class') ?? ''}`));
}

/** The kind of a window; null if its words do not say, or it is a part of the page, an application's own dialog or a consent banner. */
function kindOf(element: HTMLElement): PopupKind | null {
  const frame = matches(element, 'iframe') ? element : element.querySelector('iframe');
  if (frame !== null && SIGN_IN_FRAME.test((frame as HTMLIFrameElement).src)) return 'login';
  const text = deepText(element, IN_FRAMES);
  if (text.length < 8 || text.length > TEXT_MAX || OWN_QUESTION.test(text)) return null;
  const parts = SURVEY.test(text) ? OF_THE_PAGE : `${OF_THE_PAGE},${SENTENCES}`;
  if (matches(element, parts) || partsOf(element, parts).some(isInView)) return null;
  const controls = deepControls(element, IN_FRAMES);
  const links = controls.map((control) => control.getAttribute('href') ?? '');
  const hasStore = links.some((href) => STORE.test(href));
  if (hasStore || (APP.test(text) && text.length < 400)) return 'app_install';
  const [hasPassword, hasEmail] = [PASSWORD, EMAIL].map((selector) => partsOf(element, selector).length > 0);
  if (!hasPassword && hasEmail && LETTERS.test(text)) return 'newsletter';
  const labels = controls.map(labelOf);
  if (asksForConsent(text, labels)) return null;
  if (SURVEY.test(text) && !hasPassword) return 'survey';
  if (PAYWALL.test(text) && !hasPassword) return 'paywall_notice';
  if (hasPassword ? SIGN_IN.test(text) : labels.some((label) => SIGN_IN.test(label)) && closeButton(element) !== null)
    return 'login';
  return LETTERS.test(text) && closeButton(element) !== null ? 'newsletter' : null;
}

function partsOf(element: HTMLElement, selector: string): Element[] {
  return trees(element, IN_FRAMES).flatMap((tree) => allIn(tree, selector));
}

/** Whether it stands before the page: over its middle, over much of the view, or, as for an application, along an edge. */
function standsBefore(element: HTMLElement, kind: PopupKind): boolean {
  const { left, top, right, bottom, width, height } = element.getBoundingClientRect();
  const covers = (width * height) / (innerWidth * innerHeight) >= COVERS_MIN;
  const isCentral =
    left < innerWidth / 2 && right > innerWidth / 2 && top < innerHeight / 2 && bottom > innerHeight / 2;
  const isEmptyBox = width * height === 0 && element.localName.includes('-');
  return covers || isCentral || isEmptyBox || kind === 'app_install';
}

function closeButton(element: HTMLElement): HTMLElement | null {
  const controls = deepControls(element, IN_FRAMES).filter((control) => !leadsAway(control));
  const labelled = controls.find((control) => {
    const label = labelOf(control);
    return label.length <= LABEL_MAX && CLOSES.test(label === '' ? deepText(control) : label);
  });
  return (
    labelled ?? controls.find((control) => NAMED_CLOSE.test(namesOf(control)) && deepText(control).length < 3) ?? null
  );
}

function namesOf(control: HTMLElement): string {
  const data = control.getAttributeNames().filter((name) => name.startsWith('data-'));
  return [control.id, control.getAttribute('class'), control.getAttribute('rel'), ...data].join(' ');
}

/** Characters of prose in the page, without windows before it and without what is hidden. */
function proseBeneath(windows: readonly HTMLElement[]): number {
  let chars = 0;
  let left = BLOCKS_MAX;
  const counted = new Set<Element>();
  for (const block of queryTrees(PROSE)) {
    if (left-- <= 0 || chars > 5_000) break;
    if (windows.some((window) => window.contains(block)) || block.querySelector(PROSE) !== null) continue;
    if (ancestry(block).some((at) => counted.has(at))) continue;
    const text = (block.textContent ?? '').replace(/\s+/g, ' ').trim();
    if (text.length < BLOCK_MIN || linkedChars(block) > text.length / 2 || !isReadable(block)) continue;
    counted.add(block);
    chars += text.length;
  }
  return chars;
}

function linkedChars(block: Element): number {
  return [...block.querySelectorAll('a,button')].reduce((sum, link) => sum + (link.textContent ?? '').length, 0);
}

/** Whether the text has a box and is neither transparent, blurred nor cut away, as the rest of an article for those who pay. */
function isReadable(block: Element): boolean {
  const { height } = textBox(block);
  if (height < 5 || alphaOf(getComputedStyle(block).color) < 0.3) return false;
  if (!block.checkVisibility({ visibilityProperty: true })) return false;
  for (const at of ancestry(block)) {
    const { filter, overflowY, userSelect, position } = getComputedStyle(at);
    if (at !== body() && at.parentElement !== body() && filter.includes('blur(')) return false;
    const isPageBox = at === body() || at === documentProperty('documentElement');
    const clips = !isPageBox && /hidden|clip/.test(overflowY) && position !== 'fixed';
    if (clips && textBox(block).top > at.getBoundingClientRect().bottom) return false;
    if (userSelect === 'none' && filter !== 'none') return false;
  }
  return true;
}

/** Whether the page itself says that it is not free, for windows that ask for a subscription or an account. */
function isWalled(kind: PopupKind): boolean {
  if (kind !== 'paywall_notice' && kind !== 'login') return false;
  return queryTrees('script[type="application/ld+json"]')
    .slice(0, 20)
    .some((script) => /"isAccessibleForFree"\s?:\s?"?false/i.test((script.textContent ?? '').slice(0, 200_000)));
}
