import { expect, it } from 'vitest';
import { browserOfFile } from './a-page-session.js';
import { type Blot, blotOf } from './blots.js';
import { SHELL_ROWS } from './shell-pages.js';
import { take } from './take.js';

const browser = await browserOfFile();

const MARK = [1, 2, 3] as const;
const RED = [255, 0, 0] as const;
const FULL_PAGE = { full_page: true };
const VIEW_PX = 600;
const END = `<div style="height:40px;background:rgb(${MARK})"></div>`;
const page = (css: string, body: string) => `<!doctype html><style>${css}</style>${body}`;

const list = `<div id=s>${SHELL_ROWS}${END}</div>`;
const bordered = page('#s{height:100vh;overflow:auto;border:1px solid}', list);
const footer = page('body{margin:0}#s{height:100vh;overflow:auto}', `${list}<footer style="height:40px"></footer>`);
const fields = '<input name="children" hidden><input name="style" hidden>';
const form = `<form style="height:100vh;overflow:hidden">${fields}<div style="height:100%;overflow:auto">${SHELL_ROWS}</div></form>`;
const inner = (box: number, hides: number, below: number) =>
  page(
    'body{margin:0}',
    `<div style="height:${box}px;overflow:auto"><div style="height:${box + hides}px;background:red"></div></div><div style="height:${below}px"></div>`,
  );

const FIXED = 'html,body{margin:0;height:100%;overflow:hidden}';
const inFrame = (html: string, css = `${FIXED}iframe{border:0;width:100%;height:100%}`, attributes = '') =>
  page(css, `<iframe${attributes} srcdoc='<!doctype html><style>body{margin:0}</style>${html}'></iframe>`);
const frame = (css?: string) => inFrame(SHELL_ROWS + END, css);
const pinned = 'body{margin:0}iframe{position:fixed;inset:0;width:100%;height:100%;border:0}';
const asHigh = 'body{margin:0}iframe{width:100vw;height:100vh;border:0;display:block}';
const shown = { top: 3_200, height: 40, pixels: 40 * 800 };
const beside = `<div style="float:left;width:40%;height:100%;overflow:auto">${SHELL_ROWS}</div>`;
const rigid = `<style>body{padding-bottom:100vh}</style>${SHELL_ROWS}`;
const frameBeside = inFrame(rigid, `${FIXED}iframe{border:0;float:right;width:60%;height:100%}`).replace(
  '<iframe',
  `${beside}<iframe`,
);

const shell = `<div style="height:100vh;overflow:auto">${SHELL_ROWS}${END}</div>`;
const ownBar = page(
  `${FIXED}#s{height:100%;overflow:hidden}`,
  `<div id=s>${SHELL_ROWS}${END}<div class="ps__rail-y"></div></div>`,
);
const narrow = page(`${FIXED}#s{height:100%;width:120px;overflow:auto}`, list);
const chapters = page(
  'nav{position:fixed;top:0;bottom:0;width:200px;overflow:auto}p{margin-left:220px}',
  `<nav>${SHELL_ROWS}</nav><p>A short page</p>`,
);
const mail = (css: string) =>
  page(
    `${FIXED}#s,#t{position:absolute;top:0;bottom:0;overflow:auto}#s{width:120px}#t{left:120px;right:0}${css}`,
    `${list}<div id=t><div style="height:4000px"></div></div>`,
  );

const slides = '<div style="height:100vh;background:red"></div><div style="height:100vh;background:blue"></div>';
const moved = (style: string, below = '') =>
  page(
    'html,body{margin:0;height:100%}#box{height:100vh;overflow:hidden;position:relative}',
    `<div id=box><div style="${style}">${slides}</div></div>${below}`,
  );
const centered = moved('position:absolute;left:0;right:0;top:50%;transform:translateY(-50%)');
const clipped = moved('transform:translate3d(0,0,0)', END.replace('40px', '700px'));
const half = moved('transform:scale(.5);transform-origin:0 0');

/** The slides of impress.js, over which the page moves its view. */
const stage = page(
  `${FIXED}div{position:absolute;left:0;top:0}p{margin:0;width:200px;height:200px;background:rgb(${MARK})}`,
  `<div style="top:50%;left:50%;transform:perspective(1000px) scale(.6)"><div style="transform:translate3d(0,900px,0)">
    <div style="transform:translate(-50%,-50%) translate3d(0,-900px,0)"><p></p></div>
    <div style="transform:translate(-50%,-50%) rotate(90deg) scale(4)"><p></p></div></div></div>`,
);
/** A page behind an open drawer of vaul, which makes it smaller. */
const behind = page(
  'body{margin:0;overflow:hidden}#box{transform:scale(.5);transform-origin:0 0;height:4000px;background:red}',
  '<div id=box></div><div style="position:absolute;top:0;transform:rotate(90deg)">Menu</div>',
);

const sections = Array.from({ length: 5 }, () => '<section><p>Words</p></section>').join('');
const turned = (script: string) =>
  page(
    `html,body{margin:0;height:100%}html{overflow:hidden}section{height:${VIEW_PX}px;overflow:hidden;transform:translate3d(0,0,0)}
      p{margin:0;height:50px;opacity:0;color:transparent;background:rgb(${MARK});transition:opacity .2s}p.in{opacity:1}`,
    `<main>${sections}</main><script>const all = [...document.querySelectorAll('section')], end = ${4 * VIEW_PX};
      let at = 0, to = 0, calm = true;
      const move = () => all.forEach((one, nth) => { one.style.transform = 'translate3d(0,' + -at + 'px,0)';
        one.firstChild.classList.toggle('in', Math.abs(nth * ${VIEW_PX} - at) < 300 || nth % 2 && one.firstChild.className) });
      move(); ${script}</script>`,
  );
const eased =
  turned(`addEventListener('wheel', ({ wheelDeltaY }) => { to = Math.max(0, Math.min(end, to - wheelDeltaY * .4)) });
  const ease = () => { if (at !== to) { at = Math.abs(to - at) < .1 ? to : at + (to - at) * .1; move() } requestAnimationFrame(ease) }; ease()`);
/** Content that scripts move slowly to where the document was scrolled. */
const followed = page(
  'body{margin:0}main{position:fixed;left:0;right:0}',
  `<main><div style="height:40px;background:red"></div>${SHELL_ROWS}${END}</main>
      <script>const main = document.querySelector('main'); document.body.style.height = main.clientHeight + 'px'; let at = 0;
      (function move() { at += (scrollY - at) * .05; main.style.transform = 'translate3d(0,' + -at + 'px,0)'; requestAnimationFrame(move) })()</script>`,
);
const bySection =
  turned(`addEventListener('wheel', ({ deltaY }) => { if (!calm) return; calm = false; setTimeout(() => { calm = true }, 900);
  if (at === end && deltaY > 0) document.body.textContent = 'The next page';
  at = Math.max(0, Math.min(end, at + Math.sign(deltaY) * ${VIEW_PX})); move(); document.body.style.background = at === 0 ? '' : 'red' })`);

const scroller = page('html,body{margin:0;height:100%}#s{height:100vh;overflow:auto}', '<div id=s></div>');
const adder = (adds: number, later: string) =>
  `${scroller}<script>const add = () => { s.insertAdjacentHTML('beforeend', '<div style="height:400px;background:rgb(${MARK})">'); asked = false };
    let left = ${adds}, asked = false; s.innerHTML = '<div style="height:1800px">';
    s.addEventListener('scroll', () => { if (asked || left === 0 || s.scrollTop + s.clientHeight < s.scrollHeight - 200) return; left--; asked = true; ${later} })</script>`;
const loading = adder(2, 's.append(new Comment()); setTimeout(add, 150)');
const observed = `${scroller}<script>let left = 20; s.innerHTML = '<div style="height:1800px"></div><i id=end style="display:block;height:1px"></i>';
  const more = new IntersectionObserver(([{ isIntersecting }]) => { if (!isIntersecting || left-- <= 0) return; more.unobserve(end); more.observe(end);
    s.insertBefore(document.createElement('div'), end).style.height = '400px' });
  more.observe(end)</script>`;

it.concurrent.each<[string, string, number, Partial<Blot>?, Parameters<typeof blotOf>[1]?]>([
  [
    'a scroller in a document that is higher by a margin and a border is expanded',
    bordered,
    3_240 + 18,
    { height: 40 },
  ],
  ['a scroller in a document that is higher by a footer is expanded', footer, 3_280, { height: 40 }],
  ['a scroller in a form with a field named like a property is expanded', page('body{margin:0}', form), 3_200],
  ['a scroller in a document that scrolls by itself is unchanged', inner(320, 900, 600), 920],
  ['a scroller that hides no more than the document is unchanged', inner(400, 90, 300), 700],
  ['a frame in a document that does not scroll is expanded to all of its content', frame(), 3_240, shown],
  ['a frame pinned to the view is expanded to all of its content', frame(pinned), 3_240, shown],
  ['a frame as high as the view is expanded to all of its content', frame(asHigh), 3_240, shown],
  [
    'a frame of another origin is expanded to all of its content',
    inFrame(SHELL_ROWS + END, undefined, ' sandbox'),
    3_240,
    shown,
  ],
  ['a scroller in a frame is expanded', inFrame(shell), 3_240, shown],
  [
    'a scroller in a frame of another origin is expanded',
    inFrame(shell, undefined, ' sandbox=allow-scripts'),
    3_240,
    shown,
  ],
  ['a scroller with a scroll bar of its own is expanded', ownBar, 3_240, shown],
  [
    'a narrow list in a page in which nothing else scrolls is expanded',
    narrow,
    3_240,
    { top: 3_200, height: 40, width: 120 },
  ],
  ['the chapters beside a short page of a book are unchanged', chapters, VIEW_PX],
  ['a list beside the content that scrolls is expanded', mail(''), 4_000, { top: 3_200, height: 40, width: 120 }],
  ['a scroller beside a frame that cannot be expanded is expanded', frameBeside, 3_200],
  ['a frame that does not scroll is unchanged', inFrame(`<style>html{overflow:hidden}</style>${SHELL_ROWS}`), VIEW_PX],
  ['a frame that is told not to scroll is unchanged', inFrame(SHELL_ROWS, undefined, ' scrolling="no"'), VIEW_PX],
  ['a frame that nobody sees is unchanged', inFrame(SHELL_ROWS, undefined, ' style="opacity:0"'), VIEW_PX],
  ['a list whose end is reached loads more after a sign that it loads', loading, 2_600, { height: 800 }],
  ['a list ends where scrolling the document finds its end', observed, 1_801 + 20 * 400],
  [
    'content moved by a transform stays clipped if the document scrolls by itself',
    clipped,
    VIEW_PX + 700,
    { top: VIEW_PX, height: 700 },
  ],
  ['content that a transform centres is unchanged', centered, VIEW_PX, { top: 0, height: 300 }, RED],
  ['text is shown that scripts fade in as the wheel moves the content', eased, 3_000, { top: 0, pixels: 5 * 50 * 800 }],
  [
    'text is shown that scripts fade in as each turn of the wheel moves the content by a section',
    bySection,
    3_000,
    { top: 0, pixels: 5 * 50 * 800 },
  ],
  ['content that the wheel moves by sections is back at its start', bySection, 3_000, { pixels: 0 }, RED],
  ['content that follows the scrolling slowly begins at its start', followed, 3_280, { top: 0, height: 40 }, RED],
  ['content that follows the scrolling slowly is complete', followed, 3_280, { top: 3_240, height: 40 }],
  ['slides over which a page moves its view stay out of view', stage, VIEW_PX, { top: 240, height: 120 }],
  ['a locked page that is made smaller is scrolled through', behind, 4_000, { top: 0, height: 2_000 }, RED],
  ['content that a transform makes smaller is unchanged', half, VIEW_PX, { top: 0, height: 300 }, RED],
])('%s', async (_title, html, height, seen, color = MARK) => {
  const { content, ...picture } = await take(browser, html, FULL_PAGE);
  expect(picture).toMatchObject({ height, diagnostics: { stoppedReason: 'end_of_page', truncated: false } });
  if (seen !== undefined) expect(await blotOf(content, color)).toMatchObject(seen);
});

it.concurrent('a frame whose content grows with it endlessly is unchanged, which is reported', async () => {
  const { lacksContent, height, diagnostics } = await take(browser, inFrame(rigid), FULL_PAGE);
  expect({ lacksContent, height, truncated: diagnostics.truncated }).toEqual({
    lacksContent: true,
    height: VIEW_PX,
    truncated: true,
  });
});

it.concurrent('a list that loads endlessly is not awaited, which is reported', async () => {
  const { height, diagnostics } = await take(browser, adder(1_000, 'add()'), FULL_PAGE);
  expect(height).toBeGreaterThan(1_800 + 3 * 400);
  expect(height).toBeLessThan(1_800 + 20 * 400);
  expect(diagnostics).toMatchObject({ scrollHeight: height, stoppedReason: 'time_limit', truncated: true });
});

it.concurrent('a frame keeps elements as high as its view, and loads content that waits until it is in view', async () => {
  const hero = `<section style="min-height:100vh;position:relative"><div style="position:absolute;inset:0;height:100%;background:rgb(${MARK})"></div></section>`;
  const lazy = `<p id=p style="height:90px;margin:0"></p><script>new IntersectionObserver(([e]) => { if (e.isIntersecting) p.style.background = "rgb(4,5,6)" }).observe(p)</script>`;
  const { content, height } = await take(browser, inFrame(`${hero}${SHELL_ROWS}${lazy}`), FULL_PAGE);
  expect(height).toBe(VIEW_PX + 3_200 + 90);
  expect(await blotOf(content, MARK)).toMatchObject({ top: 0, height: VIEW_PX, pixels: VIEW_PX * 800 });
  expect(await blotOf(content, [4, 5, 6])).toMatchObject({ top: 3_800, height: 90 });
});

it('a header keeps its share of the height of the box that is scrolled', async () => {
  const html = page(
    'html,body{margin:0;height:100%}main{height:100%;overflow:auto}header{height:560px;max-height:50%;background:red}',
    `<main><header></header>${SHELL_ROWS}${END}</main>`,
  );
  const { content, height } = await take(browser, html, FULL_PAGE);
  expect(await blotOf(content, RED)).toMatchObject({ top: 0, height: VIEW_PX / 2 });
  expect(height).toBe(VIEW_PX / 2 + shown.top + shown.height);
});

it('a header that becomes lower while a box is scrolled, and ignores it meanwhile, has its first height', async () => {
  const html = page(
    `${FIXED}body{display:flex;flex-direction:column}header{flex:none;height:200px;background:red;transition:height .2s}header.low{height:60px}main{flex:1;overflow:auto}`,
    `<header></header><main>${SHELL_ROWS}${END}</main><script>const [header, main] = [document.querySelector('header'), document.querySelector('main')]; let moves = false;
      header.addEventListener('transitionend', () => { moves = false });
      main.addEventListener('scroll', () => { const low = main.scrollTop > 0; if (moves || low === header.classList.contains('low')) return; moves = header.classList.toggle('low', low) || true })</script>`,
  );
  const { content, height } = await take(browser, html, FULL_PAGE);
  expect(await blotOf(content, RED)).toMatchObject({ top: 0, height: 200 });
  expect(height).toBe(200 + shown.top + shown.height);
});
