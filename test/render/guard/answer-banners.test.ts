import { describe, expect, it } from 'vitest';
import { asksForConsent, refuses } from '../../../src/render/in-page/consent/words.js';
import { guardedWeb } from './guarded-web.js';

const ARTICLE = `<main><h1>Bread</h1>${'<p>Flour, water, salt and time make bread that keeps for days.</p>'.repeat(60)}</main>`;
/** Leaves a trace of each click in the page. */
const TRACE = `<script>window.clicks = []; addEventListener('click', (e) => clicks.push(e.target.id || e.target.textContent.trim()), true)</script>`;

const { web, visit } = await guardedWeb();

let visits = 0;

/** Serves a page, and answers its banners. */
async function answered(html: string, headers: Record<string, string> = {}) {
  // Each test has a page of its own, since the tests run concurrently.
  const url = `http://page.test/${++visits}`;
  web.page(url, `<html><head>${TRACE}</head>${html}</html>`, headers);
  const visited = await visit(url, { block_cookie_banners: true });
  const report = await visited.guard.answerBanners(AbortSignal.timeout(20_000));
  /** A variable of the page. */
  const globalOf = (name: string): Promise<unknown> =>
    visited.page.evaluate((key) => Reflect.get(globalThis, key), name);
  return { ...visited, report, globalOf, clicks: await globalOf('clicks') };
}

const FIXED = 'position:fixed;left:0;right:0;bottom:0;padding:20px;background:#eee;z-index:99';
const gone = `this.closest('.b').remove()`;
/** A banner with this content. */
const box = (content: string) => `<div class="b" style="${FIXED}">${content}</div>`;
const BAR = box('<p>We use cookies to improve our site.</p><button>Accept all</button>');

describe.concurrent('known platforms', () => {
  it('decline OneTrust by its own button', async () => {
    await using page = await answered(`<body>${ARTICLE}
      <div id="onetrust-consent-sdk"><div id="onetrust-banner-sdk" class="otFlat" style="${FIXED}">
        <div id="onetrust-policy"><p>We use cookies to improve our site.</p></div>
        <div id="onetrust-button-group"><button id="onetrust-accept-btn-handler">Accept All Cookies</button>
        <button id="onetrust-reject-all-handler" onclick="document.cookie='OptanonAlertBoxClosed=1';document.getElementById('onetrust-consent-sdk').remove()">Reject All</button></div>
      </div></div></body>`);
    expect(page.report).toMatchObject({ outcome: 'rejected', platform: 'Onetrust' });
    expect(page.clicks).toEqual(['onetrust-reject-all-handler']);
    expect(await page.page.isVisible('#onetrust-banner-sdk')).toBe(false);
  });

  it('decline Cookiebot by its own interface', async () => {
    await using page = await answered(`<body>${ARTICLE}<div id="CybotCookiebotDialog" role="dialog" style="${FIXED}">
      <p>This website uses cookies</p><button id="CybotCookiebotDialogBodyLevelButtonLevelOptinAllowAll">Allow all</button></div>
      <script>window.Cookiebot = { hasResponse: false, declined: true, dialog: { visible: true },
        withdraw() { window.withdrawn = true; }, hide() { document.getElementById('CybotCookiebotDialog').remove(); } }</script></body>`);
    expect(page.report).toMatchObject({ outcome: 'rejected', platform: 'Cybotcookiebot' });
    expect(page.clicks).toEqual([]);
    expect(await page.globalOf('withdrawn')).toBe(true);
    expect(await page.page.isVisible('#CybotCookiebotDialog')).toBe(false);
  });

  it('are declined by a button if their interface is missing, under a content policy', async () => {
    await using page = await answered(
      `<body>${ARTICLE}<div id="CybotCookiebotDialog" name="CybotCookiebotDialog" role="dialog" style="${FIXED}">
        <p>This website uses cookies</p>
        <a id="CybotCookiebotDialogBodyLevelButtonLevelOptinAllowAll" href="#">Allow all</a>
        <button id="CybotCookiebotDialogBodyButtonDecline">Deny</button></div></body>`,
      { 'content-security-policy': "default-src 'self' 'unsafe-inline'; script-src 'unsafe-inline'" },
    );
    expect(page.report.outcome).toBe('rejected');
    expect(page.clicks).toEqual(['CybotCookiebotDialogBodyButtonDecline']);
    expect(await page.page.isVisible('#CybotCookiebotDialog')).toBe(false);
  });

  it('keep an answer that a page forges, by a promise of its own, out of the report and the log', async () => {
    const forged = `{ platform: 'x'.repeat(200_000), outcome: 'rejected' }`;
    await using page = await answered(`<body>${ARTICLE}
      <script>globalThis.Promise = class { then(done) { done(${forged}); } catch() { return this; } static resolve() { return new this(); } };</script>
      ${BAR}</body>`);
    expect(page.report).toMatchObject({ platform: null, outcome: 'hidden' });
  });

  it('are declined inside their frame', async () => {
    web.page(
      'http://cmp.site.test/message.html',
      `<body><p>We and our partners use cookies. Your privacy matters.</p>
       <button>Accept all</button><button onclick="parent.postMessage('refused', '*')">Reject all</button></body>`,
    );
    await using page = await answered(`<body style="overflow:hidden">${ARTICLE}
      <div id="wall" style="position:fixed;inset:0;background:#0008"><iframe title="Consent message" src="http://cmp.site.test/message.html" style="width:600px;height:400px"></iframe></div>
      <script>addEventListener('message', (e) => { if (e.data === 'refused') { window.refused = true; document.getElementById('wall').remove(); } })</script></body>`);
    expect(page.report.outcome).toBe('rejected');
    expect(await page.globalOf('refused')).toBe(true);
    expect(await page.page.locator('#wall').count()).toBe(0);
  });
});

describe.concurrent('frames without a telling name', () => {
  it.each([
    ['are hidden when they cannot be declined', '<p>We use cookies.</p><button>Accept</button>', 'hidden'],
    ['are left alone when they are something else', '<p>3 cookies in your basket</p><button>Options</button>', 'none'],
  ])('%s', async (_what, content, outcome) => {
    const frame = `<iframe id="f" srcdoc="${content}" style="position:fixed;left:300px;top:200px;width:600px;height:300px"></iframe>`;
    await using page = await answered(`<body>${ARTICLE}${frame}</body>`);
    expect(page.report.outcome).toBe(outcome);
    expect(await page.page.isVisible('#f')).toBe(outcome === 'none');
  });
});

describe('the words of a banner', () => {
  it.each([
    ['English', 'We use cookies to make this site better.', 'Accept all', 'Reject all'],
    ['necessary only', 'This site uses cookies.', 'Accept', 'Only necessary cookies'],
    ['German', 'Wir verwenden Cookies, um unsere Website zu verbessern.', 'Alle akzeptieren', 'Ablehnen'],
    ['French', 'Nous utilisons des cookies pour améliorer le site.', 'Tout accepter', 'Continuer sans accepter'],
    ['Spanish', 'Utilizamos cookies para mejorar.', 'Aceptar', 'Rechazar todas'],
    ['Italian', 'Questo sito utilizza i cookie.', 'Accetta tutto', 'Rifiuta tutto'],
    ['Dutch', 'Wij gebruiken cookies op deze site.', 'Accepteren', 'Weigeren'],
    ['Portuguese', 'Este site usa cookies.', 'Aceitar', 'Recusar'],
    ['Polish', 'Ta strona używa plików cookie.', 'Akceptuję', 'Odrzuć wszystkie'],
    ['Swedish', 'Vi använder kakor på webbplatsen.', 'Godkänn', 'Endast nödvändiga kakor'],
    ['Russian', 'Мы используем файлы cookie.', 'Принять', 'Отклонить'],
    ['Arabic', 'نستخدم ملفات تعريف الارتباط لتحسين تجربتك', 'قبول', 'رفض'],
    ['Hebrew', 'אתר זה משתמש בעוגיות', 'אישור', 'דחייה'],
    ['Vietnamese', 'Trang web này sử dụng cookie', 'Chấp nhận', 'Từ chối'],
    ['Croatian', 'Ova stranica koristi kolačiće', 'Prihvaćam', 'Odbijam'],
    ['Bulgarian', 'Този сайт използва бисквитки', 'Приемам', 'Отказвам'],
    ['Thai', 'เว็บไซต์นี้ใช้คุกกี้', 'ยอมรับ', 'ปฏิเสธ'],
    [
      'English without the word cookie',
      'We collect and process your personal information for the following purposes:',
      'Accept',
      'Decline',
    ],
    [
      'Finnish without the word cookie',
      'Keräämme ja käsittelemme henkilötietoja seuraaviin tarkoituksiin:',
      'Hyväksy',
      'Hylkää',
    ],
    ['Japanese', '当サイトはクッキーを使用します。', '同意する', 'すべて拒否'],
  ])('are recognised in %s', (_language, text, acceptance, refusal) => {
    expect([asksForConsent(text, [acceptance, refusal]), refuses(acceptance), refuses(refusal)]).toEqual([
      true,
      false,
      true,
    ]);
  });
});

describe.concurrent('unknown banners', () => {
  it.each([
    [
      'an acceptance and a cross',
      '<p>We use cookies. By using this site you agree.</p><button>OK</button><button>×</button>',
    ],
    ['a cross', `<p>By continuing to use this site you agree to our use of cookies.</p><button>×</button>`],
    ['boxes that are made to be clicked', `<p>We use cookies.</p><div class="btn" tabindex="0">Accept</div>`],
    [
      'buttons that are scrolled to',
      `<div style="height:150px;overflow:auto"><h2>Your privacy</h2>${'<p>These cookies count visits.</p>'.repeat(30)}<button>Allow all</button></div>`,
    ],
  ])('are hidden, not clicked, when they have no more than %s', async (_, content) => {
    await using page = await answered(`<body>${ARTICLE}${box(content)}</body>`);
    expect(page.report.outcome).toBe('hidden');
    expect(page.clicks).toEqual([]);
    expect(await page.page.isVisible('.b')).toBe(false);
  });

  it.each([
    ['that is a button', `<button>Accept</button><button onclick="${gone}">Decline</button>`],
    ['that is a box', `<div class="btn">Accept</div><div class="btn" onclick="${gone}">Decline</div>`],
    ['that does nothing', '<button>Accept</button><button>Decline</button>'],
  ])('are gone after a click on a refusal %s', async (_what, buttons) => {
    await using page = await answered(`<body>${ARTICLE}${box(`<p>We use cookies.</p>${buttons}`)}</body>`);
    expect(page.report).toMatchObject({ outcome: 'rejected', platform: null });
    expect(page.clicks).toEqual(['Decline']);
    expect(await page.page.isVisible('.b')).toBe(false);
  });

  it.each([
    ['are declined inside an open shadow root', 'host', 'open', 'rejected'],
    [
      'are hidden by their host when they are in a closed shadow root and its name identifies them',
      'cookie-consent',
      'closed',
      'hidden',
    ],
  ])('%s', async (_what, id, mode, outcome) => {
    await using page = await answered(`<body>${ARTICLE}<div id="${id}"></div><script>
      const host = document.getElementById('${id}'), root = host.attachShadow({ mode: '${mode}' });
      root.innerHTML = '<div style="${FIXED}"><p>We use cookies for statistics.</p><button id="yes">Accept</button><button id="no">Reject</button></div>';
      for (const button of root.querySelectorAll('button')) button.onclick = () => { window.said = button.id; host.style.display = 'none'; };
    </script></body>`);
    expect(page.report.outcome).toBe(outcome);
    expect(await page.globalOf('said')).toBe(mode === 'open' ? 'no' : undefined);
    expect(await page.page.evaluate((of) => document.getElementById(of)?.style.display, id)).toBe('none');
  });

  it('are declined when they speak of services, but have the name of a banner', async () => {
    const modal = `<div class="b cookie-modal" style="${FIXED}"><h1>Services we would like to use</h1><button onclick="${gone}">I decline</button><button>Accept selected</button></div>`;
    await using page = await answered(`<body>${ARTICLE}${modal}</body>`);
    expect(page.clicks).toEqual(['I decline']);
  });

  it('are declined in the flow of the page when their name identifies them', async () => {
    const notice = `<div class="b cookie-notice"><p>We use cookies.</p><button onclick="${gone}">Reject</button><button>Accept</button></div>`;
    await using page = await answered(`<body>${notice}${ARTICLE}</body>`);
    expect(page.clicks).toEqual(['Reject']);
  });
});

describe.concurrent('banners that appear after the last inspection', () => {
  it.each([
    ['are hidden when the page is stopped', '<p>We use cookies.</p><button>Accept</button>', false],
    ['leave everything else unchanged', 'Your basket: 3 cookies <button>OK</button>', true],
  ])('%s', async (_, content, isLeft) => {
    await using page = await answered(`<body>${ARTICLE}</body>`);
    await page.page.evaluate(
      (added) => document.body.insertAdjacentHTML('beforeend', added),
      `<div>${box(content)}</div>`,
    );
    await page.session.world.call('freeze.freezePage', { motion: true, beyondView: false });
    expect(await page.page.isVisible('.b')).toBe(isLeft);
    expect(page.clicks).toEqual([]);
  });
});

describe.concurrent('small controls at the edges of the view', () => {
  const at = (place: string) => `position:fixed;${place}`;
  const ROUND = 'width:48px;height:48px;border-radius:24px';
  const LATER = `<div style="display:none"><p>This site uses cookies.</p></div>`;
  it.each([
    [
      'are hidden if they open a banner again',
      `<div class="tab" style="${at('left:48px;bottom:-20px')};cursor:pointer;padding:4px 12px">Cookie Policy</div>
       <div class="tab cookie-icon" style="${at('left:24px;bottom:24px')};${ROUND}"><button><img alt=""></button></div>
       <button class="tab" aria-label="Open privacy settings" style="${at('right:16px;bottom:16px')};${ROUND}"></button>
       <div>${LATER}<div class="tab" style="${at('right:0;top:200px')}"><button>Manage services</button></div></div>`,
      false,
    ],
    [
      'are left alone if they do something else',
      `<div class="tab" style="${at('left:0;top:0')}">Cookies: 12</div>
       <button class="tab" style="${at('left:0;bottom:0')}">Add cookies to the basket</button>
       <div class="tab" style="${at('right:0;bottom:0')}"><a href="/imprint">Imprint</a> <a href="/cookies">Cookie policy</a></div>
       <button class="tab" aria-label="Back to top" style="${at('right:16px;bottom:80px')};${ROUND}"></button>
       <div class="tab" style="position:sticky;top:0;width:200px"><a href="#cookies">Cookies</a></div>
       <div>${LATER}<p>An app.</p><button class="tab" style="${at('right:0;top:200px')}">Help</button></div>`,
      true,
    ],
  ])('%s', async (_, body, areLeft) => {
    await using page = await answered(`<body style="margin:0">${body}${ARTICLE}</body>`);
    await page.session.world.call('freeze.freezePage', { motion: true, beyondView: false });
    const shown = await page.page.evaluate(() =>
      [...document.querySelectorAll('.tab')].map((tab) => getComputedStyle(tab).display !== 'none'),
    );
    expect(shown).toEqual(shown.map(() => areLeft));
    expect(page.clicks).toEqual([]);
  });
});

describe.concurrent('scroll locks and backdrops', () => {
  it('are removed together with the banner, and the page is sharp again', async () => {
    await using page = await answered(`<body class="modal-open" style="overflow:hidden;position:fixed;width:100%">
      <div id="app" inert style="filter:blur(4px)">${ARTICLE}</div><div id="shade" style="position:fixed;inset:0;background:#000a"></div>
      ${BAR}</body>`);
    expect(page.report).toMatchObject({ outcome: 'hidden', scrollFreed: true });
    expect(await page.page.isVisible('#shade')).toBe(false);
    await page.page.evaluate(() => scrollTo(0, 500));
    expect(await page.page.evaluate(() => scrollY)).toBe(500);
    expect(await page.page.evaluate(() => getComputedStyle(document.getElementById('app') as HTMLElement).filter)).toBe(
      'none',
    );
  });

  const FULL = 'position:absolute;inset:0;';
  const sheet = (style: string) => `<div id="sheet" style="${style}"></div>`;
  const CURTAIN = 'position:fixed;inset:0;background:#223';
  const HERO = 'position:relative;height:100vh';
  const WELCOME = '<div style="position:absolute;left:40px;bottom:140px"><h1>Welcome</h1></div>';
  const UPON = '<h1 style="position:fixed;left:40px;top:60px;margin:0">Welcome</h1>';
  it.each([
    [
      'a hero picture',
      `<section style="${HERO}">${sheet(`${FULL}background:url(/s.png) center/cover`)}${WELCOME}</section>`,
    ],
    ['a hero of one color', sheet(`${FULL}background:#036`)],
    [
      'the shade of a hero',
      `<section style="${HERO};background:url(/s.png)">${sheet(`${FULL}background:#0008`)}${WELCOME}</section>`,
    ],
    ['a curtain that words are shown upon', ARTICLE + sheet(CURTAIN) + UPON],
    ['a curtain that the page lies in', `<div id="sheet" style="${CURTAIN}">${ARTICLE}</div>`],
    [
      'an app in a shadow tree',
      `<x-app id="sheet" style="${FULL}"></x-app><script>sheet.attachShadow({ mode: 'open' }).innerHTML = '<h1>Welcome</h1>'</script>`,
    ],
  ])('leave %s', async (_name, html) => {
    await using page = await answered(`<body style="margin:0">${html}${BAR}</body>`);
    expect([await page.page.isVisible('.b'), await page.page.isVisible('#sheet')]).toEqual([false, true]);
  });

  const header = '<header style="position:absolute;z-index:999;top:0"><a href="/">Home</a></header>';
  it.each([
    ['a header above it', header + ARTICLE + sheet('position:fixed;inset:0;background:#000a')],
    ['one color', ARTICLE + sheet(CURTAIN)],
    ['an opaque color and half its opacity', ARTICLE + sheet(`${FULL}background:#000;opacity:.5`)],
    ['a gradient', ARTICLE + sheet(`${FULL}background:linear-gradient(#0004,#000a)`)],
    ['a blur', ARTICLE + sheet('position:fixed;inset:0;background:#fff;backdrop-filter:blur(4px)')],
  ])('include the backdrop with %s', async (_name, html) => {
    await using page = await answered(`<body style="margin:0">${html}${BAR}</body>`);
    expect(await page.page.isVisible('#sheet')).toBe(false);
  });

  it('stay unchanged without a banner', async () => {
    await using page = await answered(`<body style="overflow:hidden">${ARTICLE}</body>`);
    expect(page.report).toMatchObject({ outcome: 'none', scrollFreed: false });
    expect(await page.page.evaluate(() => getComputedStyle(document.body).overflow)).toBe('hidden');
  });
});

describe.concurrent('pages that only mention cookies', () => {
  const header = (links: string) =>
    `<header style="position:sticky;top:0;background:#fff"><a href="/">Home</a> ${links}</header>`;
  it.each(
    Object.entries({
      'an article with its own buttons': `<article><h1>How websites use cookies</h1><p>We use cookies, says every site. You may accept or reject all of them.</p><button id="x">Reject all</button><button>Accept all</button>${ARTICLE}</article>`,
      'a privacy policy': `<main><h1>Cookie policy</h1>${'<p>We use cookies and ask for your consent. You can decline.</p>'.repeat(80)}<button id="x">Decline</button></main>`,
      'an app that lives in a fixed box': `<div style="position:fixed;inset:0;overflow:auto"><p>We use cookies in our kitchen.</p><button id="x">Reject</button>${ARTICLE}</div>`,
      'a log-in dialog': `${ARTICLE}<div role="dialog" style="position:fixed;top:100px;left:100px;background:#fff"><h2>Log in</h2><input><button id="x">No thanks</button><button>OK</button></div>`,
      'a log-in dialog that names its cookie policy': `${ARTICLE}<div role="dialog" style="${FIXED}"><h2>Sign in</h2><input type="password"><p>By continuing you agree to our cookie policy and consent to data processing.</p><button id="x">No thanks</button><button>Sign in</button></div>`,
      'a newsletter that may be left again': `${ARTICLE}<div role="dialog" style="${FIXED}"><h2>Our newsletter</h2><p>By subscribing you agree to our privacy policy. You may withdraw your consent at any time.</p><input type="email"><button>Subscribe</button><button id="x">No thanks</button></div>`,
      'a bakery with an offer': `<div style="position:sticky;top:0">Free shipping on all chocolate chip cookies this week! <button>OK</button> <button>×</button></div>${ARTICLE}`,
      'a fixed header of links, one of them about cookies': `${header('<a href="/cookies">Cookies</a> <a href="/settings">Settings</a>')}${ARTICLE}`,
      'a picture box named for cookies': `<div class="cookie-box" style="height:200px;background:#c96">&nbsp;</div><div class="cookie-info" style="height:200px;background:#963"></div>${ARTICLE}`,
      "a patient's consent form": `<h1>Consent</h1><form class="consent-form" onsubmit="return false"><p>I consent to the processing of my medical data.</p><button>I agree</button><button id="x">Decline</button></form>${ARTICLE}`,
      'a dialog that asks for something else': `${ARTICLE}<div role="dialog" style="${FIXED}"><p>Anna would like to share her calendar with you.</p><button>Accept</button><button id="x">Decline</button></div>`,
      'a footer with a cookie settings link': `${ARTICLE}<footer><a href="/privacy">Privacy</a> <a href="/cookies">Cookie settings</a></footer>`,
    }),
  )('are left alone: %s', async (_, body) => {
    await using page = await answered(`<body>${body}</body>`);
    const before = await page.page.evaluate(() => document.body.innerText.length);
    expect(page.report).toMatchObject({ outcome: 'none' });
    expect(page.clicks).toEqual([]);
    expect(before).toBeGreaterThan(50);
  });
});

describe.concurrent('a page about cookies', () => {
  const POLICY = '<h1>Cookie policy</h1><p>We use cookies on this website. You can accept or reject them.</p>';
  const BUTTONS = '<div class="box"><button>Accept all</button> <button>Reject all</button></div>';
  const RULES = '##.cookie-policy:not(body):not(html)\n##.gdpr';

  it.each([
    ['has the name of a banner', `<main class="cookie-policy gdpr">${POLICY}${BUTTONS}</main>`],
    [
      'has its buttons elsewhere',
      `<main class="cookie-policy gdpr">${POLICY}</main><div style="${FIXED}"><p>We use cookies.</p>${BUTTONS}</div>`,
    ],
    ['is fixed', `<main class="cookie-policy gdpr" style="position:fixed;inset:0">${POLICY}${BUTTONS}</main>`],
    ['is sticky', `<main class="cookie-policy gdpr" style="position:sticky;top:0">${POLICY}${BUTTONS}</main>`],
    ['is no main element', `<div class="cookie-policy gdpr">${POLICY}${BUTTONS}</div>`],
  ])('is shown whole if it %s, also with rules of a list that hide such boxes', async (_what, body) => {
    const url = `http://page.test/${++visits}`;
    web.page(url, `<body>${body}</body>`);
    for (const lists of [undefined, { cookies: RULES }]) {
      await using visited = await visit(url, { block_cookie_banners: true }, lists === undefined ? {} : { lists });
      // A banner that appears later, or rules that arrive later, find the same page.
      for (let times = 0; times < 2; times++) {
        await visited.guard.answerBanners(AbortSignal.timeout(20_000));
        expect(await visited.page.isVisible('h1')).toBe(true);
      }
    }
  });
});

const NAV = '<header><nav><a href="/">Home</a></nav></header>';
const FORM = `<h2>Join our newsletter</h2><p>Get 10% off your first order.</p><input type="email"><button>Subscribe</button>`;
const X = `<button aria-label="Close" onclick="this.closest('.w').remove()">×</button>`;
/** A window over the whole view. */
const over = (content: string, more = '') =>
  `<style>body{overflow:hidden}</style><div class="w" ${more} style="position:fixed;inset:0;background:#0009;z-index:9"><div style="background:#fff;width:400px;margin:90px auto">${content}</div></div>`;
const bar = (content: string) =>
  `<div class="w" style="position:fixed;bottom:0;left:0;right:0;height:80px;background:#eee">${content}</div>`;
const long = '<p>Flour, water, salt and time make bread that keeps for days.</p>'.repeat(60);
const PAYWALL = over(`<h2>Subscribe to keep reading</h2><p>You have 2 free articles left.</p>${X}`);

describe.concurrent('popups', () => {
  const opened = async (body: string, wish: Record<string, unknown> = { block_popups: true }) => {
    const url = `http://page.test/${++visits}`;
    web.page(url, `<body>${NAV}${body}</body>`);
    const visited = await visit(url, wish);
    const before = await visited.page.screenshot();
    await visited.guard.closePopups();
    const isChanged = !before.equals(await visited.page.screenshot());
    const overflow = await visited.page.evaluate(() => getComputedStyle(document.body).overflowY);
    const { popups } = await visited.guard.explain();
    await visited[Symbol.asyncDispose]();
    return { told: popups?.map(({ kind, outcome }) => `${kind} ${outcome}`).join(), isChanged, overflow };
  };

  it.each([
    ['a newsletter with a button', `${ARTICLE}${over(FORM + X)}`, 'newsletter closed'],
    ['a newsletter without one', `${ARTICLE}${over(FORM)}`, 'newsletter hidden'],
    [
      'a dialog in the top layer',
      `${ARTICLE}<dialog id="d">${FORM}<button onclick="d.close()">No thanks</button></dialog><script>d.showModal()</script>`,
      'newsletter closed',
    ],
    ['an account', `${ARTICLE}${over(`<p>Create a free account</p><a href="/up">Sign up</a>${X}`)}`, 'login closed'],
    [
      'an app',
      `${ARTICLE}${bar(`Plus simple dans l’appli <a href="https://apps.apple.com/fr/app/x/id1">Ouvrir</a>${X}`)}`,
      'app_install closed',
    ],
    [
      'a banner of an app at the top',
      `<div class="smartbanner w" style="height:80px">Bread, in Google Play <a href="https://play.google.com/store/apps/details?id=x">View</a>${X}</div>${ARTICLE}`,
      'app_install closed',
    ],
    [
      'a survey',
      `${ARTICLE}${over(`<p>How likely are you to recommend us?</p><button>9</button>${X}`)}`,
      'survey closed',
    ],
    [
      'a survey with a text area',
      `${ARTICLE}${over(`<p>A quick question: what is missing?</p><textarea></textarea>${X}`)}`,
      'survey closed',
    ],
    [
      'an offer with a cross that only its id names',
      `${ARTICLE}${over(`<p>Wait! Here is a special discount.</p><div id="offer_close" style="width:9px;height:9px"></div><script>offer_close.addEventListener('click', () => document.querySelector('.w').remove())</script>`)}`,
      'newsletter closed',
    ],
    [
      'an account in a frame of the page, by an icon',
      `${ARTICLE}<iframe class="w" style="position:fixed;inset:0;width:100%;height:100%" srcdoc="<p>Create an account</p><input type='email'><button>Sign up</button><svg class='closeicon' width='20' height='20' onclick='frameElement.remove()'></svg>"></iframe>`,
      'login closed',
    ],
    ['a notice over the whole article', `${ARTICLE}${PAYWALL}`, 'paywall_notice closed'],
    ['a notice before another', `${ARTICLE}${over(FORM + X)}${PAYWALL}`, 'paywall_notice closed,newsletter closed'],
  ])('close %s, and let the page scroll', async (_name, body, told) => {
    expect(await opened(body)).toMatchObject({ told, isChanged: true, overflow: expect.not.stringMatching(/hidden/) });
  });

  it.each([
    ['a tour of an application', `${ARTICLE}${over(FORM + X, 'id="driver-popover-content"')}`],
    ['a question of an application', `${ARTICLE}${over(`<p>Delete this newsletter?</p><button>Delete</button>${X}`)}`],
    [
      'a form of an application',
      `${ARTICLE}${over(`<p>Edit profile</p><input type="email"><button>Save</button>${X}`)}`,
    ],
    [
      'a comment in an application',
      `${ARTICLE}${over(`<p>Sign up for updates</p><textarea></textarea><button>Post</button>${X}`)}`,
    ],
    ['a login page', over(`<h1>Sign in</h1><input type="email"><input type="password"><button>Log in</button>${X}`)],
    ['a newsletter as the whole page', over(FORM + X)],
    [
      'a wall before a short text',
      `<main>${'<p>Flour, water, salt and time make bread that keeps for days.</p>'.repeat(3)}</main>${PAYWALL}`,
    ],
    [
      'a wall before a cut text',
      `<main><p>Flour.</p><div style="max-height:90px;overflow:hidden">${long}</div></main>${PAYWALL}`,
    ],
    ['a wall before a blurred text', `<main><p>Flour.</p><div style="filter:blur(6px)">${long}</div></main>${PAYWALL}`],
    [
      'a wall that the page declares',
      `<script type="application/ld+json">{"isAccessibleForFree": false}</script>${ARTICLE}${PAYWALL}`,
    ],
    [
      'a header that sticks',
      `<header style="position:sticky;top:0;background:#fff"><nav>Bread</nav><a href="/up">Sign up</a></header>${ARTICLE}`,
    ],
    ['a consent banner', `${ARTICLE}${bar('We use cookies. <button>Accept all</button><button>Reject all</button>')}`],
  ])('leave %s as it is', async (_name, body) => {
    expect(await opened(body)).toMatchObject({ told: '', isChanged: false });
  });

  it('are hidden by a list as well, if all kinds are, and let the page scroll', async () => {
    const url = `http://page.test/${++visits}`;
    web.page(
      url,
      `<body style="overflow:hidden">${ARTICLE}<div class="promo-modal">Words that no rule of ours knows</div>`,
    );
    for (const wish of [true, ['newsletter']]) {
      const lists = { popups: '##.promo-modal' };
      await using visited = await visit(url, { block_popups: wish }, { lists });
      await visited.guard.answerBanners(AbortSignal.timeout(20_000));
      await visited.guard.closePopups();
      expect(await visited.page.isVisible('.promo-modal')).toBe(wish !== true);
      expect(await visited.page.evaluate(() => getComputedStyle(document.body).overflowY)).toBe(
        wish === true ? 'auto' : 'hidden',
      );
    }
  });

  it('are closed only on request, and no login that a step may have opened', async () => {
    const account = `${ARTICLE}${over(`<p>Create a free account</p><a href="/up">Sign up</a>${X}`)}`;
    expect(await opened(account, {})).toMatchObject({ told: undefined, isChanged: false });
    expect(await opened(account, { block_popups: ['newsletter'] })).toMatchObject({ told: '', isChanged: false });
    const steps = [{ action: 'click', selector: 'a' }];
    expect(await opened(account, { block_popups: true, steps })).toMatchObject({ told: '', isChanged: false });
  });
});
