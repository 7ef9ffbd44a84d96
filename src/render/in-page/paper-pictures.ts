import { type ElementBox, onPage, pageStart } from './boxes.js';
import { notePositions } from './change-log.js';
import {
  ancestry,
  eachElement,
  flatTreeChildren,
  force,
  forceAll,
  framesAround,
  isElement,
  isInside,
  isPage,
  isVisible,
  nameOf,
  pageBoxes,
  pageScroller,
  type Tree,
  trees,
} from './dom.js';
import { queryTrees } from './dom-cache.js';
import { isShowable } from './readiness.js';

/**
 * Elements that Chromium 156 prints otherwise than it shows them, and the pictures of the view that are printed instead: of canvases whose
 * drawing cannot be read (puppeteer#1731), of what is seen through `backdrop-filter` (gotenberg#1491), of masks of several layers
 * (homebrewery#4829), of shadows whose filter would make a picture of the text (homebrewery#3563), and of other filtered text, which is
 * kept invisible. All other text stays as it is.
 */

type Kind = 'canvas' | 'backdrop-filter' | 'mask-composite' | 'drop-shadow' | 'filter';

/** An element that has got a picture, named as `nav#top.bar`. */
export interface Pictured {
  element: string;
  reason: Kind;
}

type Edges = [top: number, right: number, bottom: number, left: number];

interface Wanted {
  kind: Kind;
  element: HTMLElement;
  /** Empty for the element itself. */
  pseudo: '' | '::before' | '::after';
  /** The distances that the picture reaches beyond the border box, in CSS px. */
  edges?: Edges;
}

/** The place of a picture that is to be taken. */
export interface PicturePlace {
  box: ElementBox;
  /** The px per CSS px that it has; null if it can have any number. */
  density: number | null;
  isTransparent: boolean;
}

const WANTED_MAX = 40;
const ELEMENTS_MAX = 20_000;
const LOOK_MAX_MS = 400;
const CANVAS_MIN_PX = 16;
const FILTERED_MAX_PX = 700_000;
const VALUE_MAX_CHARS = 10_000;
const MARK = 'data-stillframe-paper';
/** Marks what is shown while a picture is taken. */
const ALONE = 'data-stillframe-alone';
/** Elements that paint a content of their own over their background. */
const REPLACED = /^(img|video|canvas|iframe|frame|object|embed|svg)$/;

let wanted: Wanted[] = [];
let shown: Wanted[] = [];
/** Fixed and sticky elements, which would be in some part of a picture that is taken in several. */
let pinned: HTMLElement[] = [];
/** Removes what the page has only while a picture is taken. */
let passing: Disposable[] = [];

/**
 * Finds the elements.
 * @param options.backgrounds whether backgrounds are printed
 * @returns their number
 */
export function find({ backgrounds }: { backgrounds: boolean }): number {
  shown = [];
  const drawn = queryTrees('canvas', { frames: true }) as HTMLCanvasElement[];
  wanted = drawn
    .filter(({ clientWidth, clientHeight }) => Math.min(clientWidth, clientHeight) >= CANVAS_MIN_PX)
    .filter((canvas) => canvas.style.content === '' && isVisible(canvas))
    .map((element) => ({ kind: 'canvas', element, pseudo: '' }));
  pinned = [];
  const until = performance.now() + LOOK_MAX_MS;
  eachElement(ELEMENTS_MAX, (element) => {
    if (!(element instanceof HTMLElement) || performance.now() > until) return;
    for (const pseudo of ['', '::before', '::after'] as const) {
      const style = styleOf({ element, pseudo });
      if (pseudo !== '' && /^(none|normal)$/.test(style.content)) continue;
      if (pseudo === '' && /^(fixed|sticky)$/.test(style.position)) pinned.push(element);
      // The others are shown as backgrounds.
      for (const kind of kindsOf(element, pseudo, style))
        if (backgrounds || kind === 'mask-composite') wanted.push({ kind, element, pseudo });
    }
  });
  const filtered = wanted.filter(({ kind }) => kind === 'filter').map(({ element }) => element);
  const isPart = ({ element }: Wanted) => filtered.some((outer) => outer !== element && isInside(element, outer));
  wanted = wanted.filter((one) => !isPart(one)).slice(0, WANTED_MAX);
  return wanted.length;
}

/** The elements that have got a picture. */
export function pictured(): Pictured[] {
  return shown.map(({ kind, element, pseudo }) => ({ element: nameOf(element) + pseudo, reason: kind }));
}

function styleOf({ element, pseudo }: Pick<Wanted, 'element' | 'pseudo'>): CSSStyleDeclaration {
  return getComputedStyle(element, pseudo === '' ? null : pseudo);
}

function kindsOf(element: HTMLElement, pseudo: string, style: CSSStyleDeclaration): Kind[] {
  const kinds: Kind[] = [];
  if (hasComposedMask(style)) kinds.push('mask-composite');
  const isBox = style.display !== 'inline' && !isPage(element) && !REPLACED.test(element.localName);
  if (!isBox) return kinds;
  if (style.backdropFilter !== 'none' && isUpright(element) && (pseudo === '' || hasOwnPlace(element, style)))
    kinds.push('backdrop-filter');
  const isFiltered = pseudo === '' && style.filter !== 'none' && showsOverflow(style);
  if (isFiltered && freePseudo(element) !== null && hasText(element)) {
    if (shadowsOf(style).length > 0) kinds.push('drop-shadow');
    else if (isSmall(element) && trees(element).length === 1) kinds.push('filter');
  }
  return kinds;
}

/** One layer is printed as it is shown, as are layers that add up. */
function hasComposedMask({ maskImage, maskComposite, maskClip }: CSSStyleDeclaration): boolean {
  if (maskImage === 'none' || /no-clip/.test(maskClip) || !/exclude|intersect|subtract/.test(maskComposite))
    return false;
  let depth = 0;
  for (const char of maskImage.slice(0, VALUE_MAX_CHARS)) {
    if (char === '(') depth++;
    else if (char === ')') depth--;
    else if (char === ',' && depth === 0) return true;
  }
  return false;
}

/** Whether its box is a picture's: neither turned nor skewed. */
function isUpright(element: HTMLElement): boolean {
  return (
    isVisible(element) &&
    ancestry(element).every((at) => {
      const { transform, rotate } = getComputedStyle(at);
      const { b, c, is2D } = new DOMMatrix(transform);
      return rotate === 'none' && is2D && Math.abs(b) + Math.abs(c) < 1e-3;
    })
  );
}

/** Whether the picture of an element has the density of print, as that which Chromium makes of it by itself has. */
function isSmall({ offsetWidth, offsetHeight }: HTMLElement): boolean {
  return offsetWidth * offsetHeight < FILTERED_MAX_PX;
}

/** Whether a pseudo-element can be beside the element. */
function showsOverflow({ display, overflowX, overflowY, contain }: CSSStyleDeclaration): boolean {
  return (
    overflowX === 'visible' &&
    overflowY === 'visible' &&
    !/^table/.test(display) &&
    !/paint|strict|content/.test(contain)
  );
}

/** Whether the place of a pseudo-element is known: its used values are relative to its element. */
function hasOwnPlace(element: HTMLElement, { position }: CSSStyleDeclaration): boolean {
  return position === 'absolute' && getComputedStyle(element).position !== 'static';
}

type Shadow = [color: string, x: string, y: string, blur: string];

/** The shadows of a filter that consists of nothing else; none for another filter. */
function shadowsOf({ filter }: CSSStyleDeclaration): Shadow[] {
  if (!filter.startsWith('drop-shadow(') || filter.length > VALUE_MAX_CHARS) return [];
  const shadows: Shadow[] = [];
  const rest = filter.replace(SHADOW, (_all, ...[color, x, y, blur]: string[]) => {
    shadows.push([color ?? '', x ?? '', y ?? '', blur ?? '']);
    return '';
  });
  return rest.trim() === '' ? shadows : [];
}

const SHADOW =
  /drop-shadow\(([a-z]{1,20}(?:\([^()]{1,100}\))?) (-?[\d.e-]{1,20})px (-?[\d.e-]{1,20})px ([\d.e-]{1,20})px\)/g;

function hasText(element: HTMLElement): boolean {
  return element.innerText.trim() !== '';
}

/** A pseudo-element that the element does not have, and which can show a picture. */
function freePseudo(element: HTMLElement): '::before' | '::after' | null {
  const isFree = (pseudo: string) => /^(none|normal)$/.test(getComputedStyle(element, pseudo).content);
  return (['::after', '::before'] as const).find(isFree) ?? null;
}

/**
 * Prepares the page for one of the pictures. `undo.restore` and `rejoin` undo that.
 * @returns null if there is nothing to be pictured
 */
export function isolate(index: number): PicturePlace | null {
  const one = wanted[index];
  if (one === undefined) return null;
  notePositions(() => [pageScroller(), ...ancestry(one.element)]);
  addSheet(document, '*, ::before, ::after { transition: none !important }');
  if (one.kind === 'backdrop-filter') return showThrough(one);
  if (one.kind === 'mask-composite') return showMask(one);
  if (one.kind === 'canvas') return showCanvas(one.element as HTMLCanvasElement);
  return one.kind === 'filter' ? showFiltered(one) : showShadow(one);
}

export function rejoin(): void {
  for (const one of passing) one[Symbol.dispose]();
  passing = [];
}

/** @param lasts whether it stays after the picture */
function addSheet(tree: Tree, css: string, lasts = false): void {
  // A style sheet belongs to the document that has made it.
  const { defaultView } = tree.ownerDocument ?? (tree as Document);
  const sheet = new (defaultView as typeof globalThis & Window).CSSStyleSheet();
  sheet.replaceSync(css);
  tree.adoptedStyleSheets = [...tree.adoptedStyleSheets, sheet];
  const remove = () => {
    tree.adoptedStyleSheets = tree.adoptedStyleSheets.filter((one) => one !== sheet);
  };
  if (!lasts) passing.push({ [Symbol.dispose]: remove });
}

function markAlone(element: HTMLElement): void {
  element.setAttribute(ALONE, '');
  passing.push({ [Symbol.dispose]: () => element.removeAttribute(ALONE) });
}

/** Appends an element that is removed after the picture. */
function append<Added extends Element>(added: Added, to: ParentNode = document.documentElement): Added {
  to.append(added);
  passing.push({ [Symbol.dispose]: () => added.remove() });
  return added;
}

/** Effects that the picture would have twice, since what it is shown in has them as well. */
const NO_EFFECTS = {
  opacity: '1',
  filter: 'none',
  transform: 'none',
  translate: 'none',
  rotate: 'none',
  scale: 'none',
  perspective: 'none',
  'mix-blend-mode': 'normal',
  mask: 'none',
};
const NO_BOX = {
  background: 'none',
  'box-shadow': 'none',
  'border-color': 'transparent',
  outline: 'none',
  'border-radius': '0',
};

/** Shows an element with what is in it alone, in all frames around it. @returns where its box is on the page */
function showAlone(element: HTMLElement): ElementBox {
  const frames = framesAround(element);
  for (const at of [element, ...frames]) {
    markAlone(at);
    addSheet(at.ownerDocument, `:not([${ALONE}], [${ALONE}] *) { visibility: hidden !important }`);
    force(at, 'visibility', 'visible');
    for (const around of ancestry(at)) forceAll(around as HTMLElement, NO_EFFECTS);
  }
  for (const box of pageBoxes()) force(box, 'background', 'none');
  let box: ElementBox = element.getBoundingClientRect();
  for (const frame of frames.toReversed()) {
    const at = frame.getBoundingClientRect();
    box = moved(box, { left: at.left + frame.clientLeft, top: at.top + frame.clientTop });
  }
  return onPage(box);
}

function moved({ left, top, right, bottom }: ElementBox, by: { left: number; top: number }): ElementBox {
  return { left: left + by.left, top: top + by.top, right: right + by.left, bottom: bottom + by.top };
}

function showCanvas(canvas: HTMLCanvasElement): PicturePlace | null {
  const { left, top, right, bottom } = showAlone(canvas);
  forceAll(canvas, NO_BOX);
  const style = getComputedStyle(canvas);
  const edge = (side: string) => px(style, `border-${side}-width`) + px(style, `padding-${side}`);
  const box = {
    left: left + edge('left'),
    top: top + edge('top'),
    right: right - edge('right'),
    bottom: bottom - edge('bottom'),
  };
  const [width, height] = [box.right - box.left, box.bottom - box.top];
  if (width < 1 || height < 1) return null;
  return { box, density: Math.max(canvas.width / width, canvas.height / height), isTransparent: true };
}

function px(style: CSSStyleDeclaration, property: string): number {
  return Number.parseFloat(style.getPropertyValue(property)) || 0;
}

const SIDES = ['top', 'right', 'bottom', 'left'];
const OF_MASK = [
  ...['image', 'mode', 'repeat', 'position', 'clip', 'origin', 'size', 'composite'].map((name) => `mask-${name}`),
  ...SIDES.flatMap((side) => [`padding-${side}`, `border-${side}-width`]),
  ...['top-left', 'top-right', 'bottom-right', 'bottom-left'].map((corner) => `border-${corner}-radius`),
  'box-sizing',
];

/** Shows a black box with the mask: its opacity is that of the mask. */
function showMask(one: Wanted): PicturePlace | null {
  const style = styleOf(one);
  const [width, height] = [Number.parseFloat(style.width), Number.parseFloat(style.height)];
  if (!(width > 0 && height > 0)) return null;
  const probe = append(document.createElement('div'));
  showAlone(probe);
  forceAll(probe, {
    all: 'initial',
    display: 'block',
    position: 'absolute',
    left: '0',
    top: '0',
    visibility: 'visible',
  });
  forceAll(probe, { border: 'solid transparent', background: '#000 border-box' });
  for (const name of OF_MASK) force(probe, name, style.getPropertyValue(name));
  forceAll(probe, { width: `${width}px`, height: `${height}px` });
  return { box: onPage(probe.getBoundingClientRect()), density: null, isTransparent: true };
}

const NO_TEXT = { color: 'transparent', '-webkit-text-fill-color': 'transparent', 'text-shadow': 'none' };

/** Shows what is behind an element through its filter, with its background, and without what is in front of that. */
function showThrough(one: Wanted): PicturePlace | null {
  const { element, pseudo } = one;
  element.scrollIntoView({ block: 'center', inline: 'nearest', behavior: 'instant' });
  for (const front of inFrontOf(element)) force(front as HTMLElement, 'opacity', '0');
  const noBorder = { 'border-color': 'transparent', 'box-shadow': 'none', outline: 'none' };
  forceAll(element, { ...NO_TEXT, ...(pseudo === '' ? { ...noBorder, opacity: '1' } : {}) });
  for (const child of flatTreeChildren(element)) if (isElement(child)) force(child as HTMLElement, 'opacity', '0');
  markAlone(element);
  const others = ['::before', '::after'].filter((one) => one !== pseudo).map((one) => `[${ALONE}]${one}`);
  addSheet(element.getRootNode() as Tree, `${others.join()} { opacity: 0 !important }`);
  const { left, top, right, bottom, width, height } = element.getBoundingClientRect();
  let box: ElementBox = { left, top, right, bottom };
  if (pseudo !== '') {
    const style = styleOf({ element, pseudo });
    const scale = { x: width / (element.offsetWidth || 1), y: height / (element.offsetHeight || 1) };
    const start = {
      left: left + (element.clientLeft + px(style, 'left') + px(style, 'margin-left')) * scale.x,
      top: top + (element.clientTop + px(style, 'top') + px(style, 'margin-top')) * scale.y,
    };
    const size = boxSize(style);
    box = { ...start, right: start.left + size.width * scale.x, bottom: start.top + size.height * scale.y };
    addSheet(
      element.getRootNode() as Tree,
      `[${ALONE}]${pseudo} { border-color: transparent !important; box-shadow: none !important; color: transparent !important }`,
    );
  }
  if (box.right - box.left < 1 || box.bottom - box.top < 1) return null;
  // A blur lacks what is outside of a shot (puppeteer#7392).
  const outer = within(pageBox(), grown(onPage(box), BLUR_REACH * blurOf(styleOf(one))));
  one.edges = edgesOf(outer, onPage(box), width / (element.offsetWidth || width));
  // Chromium 156 lets what is around an element shine through at the edges of a blur at another density.
  return { box: outer, density: blurOf(styleOf(one)) > 0 ? 1 : null, isTransparent: false };
}

function blurOf({ backdropFilter }: CSSStyleDeclaration): number {
  const [, blur = '0'] = /blur\(([\d.]{1,20})px\)/.exec(backdropFilter.slice(0, VALUE_MAX_CHARS)) ?? [];
  return Number(blur);
}

/** @param by CSS px, of which at most REACH_MAX_PX count */
function grown({ left, top, right, bottom }: ElementBox, by: number): ElementBox {
  const reach = Math.min(REACH_MAX_PX, Math.ceil(by));
  return { left: left - reach, top: top - reach, right: right + reach, bottom: bottom + reach };
}

function pageBox(): ElementBox {
  const { scrollWidth, scrollHeight } = pageScroller();
  const { left, top } = pageStart();
  return { left, top, right: left + scrollWidth, bottom: top + scrollHeight };
}

function within(outer: ElementBox, inner: ElementBox): ElementBox {
  return {
    left: Math.max(outer.left, inner.left),
    top: Math.max(outer.top, inner.top),
    right: Math.min(outer.right, inner.right),
    bottom: Math.min(outer.bottom, inner.bottom),
  };
}

/** The distance that one box reaches beyond another one, whose CSS px may be larger than the page's. */
function edgesOf(outer: ElementBox, inner: ElementBox, zoom = 1): Edges {
  const edges = [
    inner.top - outer.top,
    outer.right - inner.right,
    outer.bottom - inner.bottom,
    inner.left - outer.left,
  ];
  return edges.map((edge) => edge / zoom) as Edges;
}

/** The size of the border box of an absolutely positioned pseudo-element. */
function boxSize(style: CSSStyleDeclaration): { width: number; height: number } {
  const around = (sides: string[]) =>
    style.boxSizing === 'border-box'
      ? 0
      : sides.reduce((sum, side) => sum + px(style, `padding-${side}`) + px(style, `border-${side}-width`), 0);
  return {
    width: px(style, 'width') + around(['left', 'right']),
    height: px(style, 'height') + around(['top', 'bottom']),
  };
}

/** The points of an element, in each direction, at which what is in front of it is looked for. */
const LOOKS = 7;

/** Finds elements in front of another, also those that may be there once the page is scrolled. */
function inFrontOf(element: HTMLElement): Set<Element> {
  const [front, behind] = [new Set<Element>(), new Set<Element>()];
  addSheet(document, '* { pointer-events: auto !important }');
  const { left, top, width, height } = element.getBoundingClientRect();
  const root = element.getRootNode() as Document | ShadowRoot;
  for (let at = 0; at < LOOKS ** 2; at++) {
    const x = left + (width * ((at % LOOKS) + 0.5)) / LOOKS;
    const y = top + (height * (Math.floor(at / LOOKS) + 0.5)) / LOOKS;
    const stack = [...document.elementsFromPoint(x, y), ...(root === document ? [] : root.elementsFromPoint(x, y))];
    const place = stack.findIndex((one) => isInside(element, one));
    for (const [nth, one] of stack.entries()) if (!isInside(one, element)) (nth < place ? front : behind).add(one);
  }
  for (const one of pinned) if (!isInside(one, element) && !isInside(element, one) && !behind.has(one)) front.add(one);
  return front;
}

const SVG = 'http://www.w3.org/2000/svg';
/** A blur is seen up to three times as far as its standard deviation. */
const BLUR_REACH = 3;
const REACH_MAX_PX = 200;
const PARTS_MAX = 500;
const REFERENCE_REACH_PX = 50;

/** Shows the shadows alone, as far as they are beside the element and what is in it. */
function showShadow(one: Wanted): PicturePlace | null {
  const { element } = one;
  const shadows = shadowsOf(getComputedStyle(element));
  showAlone(element);
  const root = element.getRootNode();
  const svg = append(
    document.createElementNS(SVG, 'svg'),
    root instanceof ShadowRoot ? root : document.documentElement,
  );
  forceAll(svg as unknown as HTMLElement, { position: 'absolute', width: '0', height: '0' });
  const filter = document.createElementNS(SVG, 'filter');
  const reaches = shadows.map(
    ([, x, y, blur]) => Math.max(Math.abs(Number(x)), Math.abs(Number(y))) + BLUR_REACH * Number(blur),
  );
  const reach = reaches.reduce((sum, one) => sum + one, 0);
  const { own, around } = boxesOf(element, reach);
  const attributes = {
    id: `${MARK}-shadow`,
    filterUnits: 'userSpaceOnUse',
    x: around.left - own.left,
    y: around.top - own.top,
    width: around.right - around.left,
    height: around.bottom - around.top,
    'color-interpolation-filters': 'sRGB',
  };
  for (const [name, value] of Object.entries(attributes)) filter.setAttribute(name, String(value));
  for (const [color, dx, dy, blur] of shadows)
    addPrimitive(filter, 'feDropShadow', { dx, dy, stdDeviation: blur, 'flood-color': color });
  addPrimitive(filter, 'feComposite', { operator: 'out', in2: 'SourceAlpha' });
  svg.append(filter);
  force(element, 'filter', `url(#${MARK}-shadow)`);
  return placeOf(one, { own, around });
}

/** Shows a filtered element alone. */
function showFiltered(one: Wanted): PicturePlace | null {
  const { filter } = getComputedStyle(one.element);
  showAlone(one.element);
  force(one.element, 'filter', filter);
  const lengths = [...filter.slice(0, VALUE_MAX_CHARS).matchAll(/([\d.]{1,20})px/g)].map(([, length]) =>
    Number(length),
  );
  const reach = lengths.reduce(
    (sum, length) => sum + BLUR_REACH * length,
    filter.includes('url(') ? REFERENCE_REACH_PX : 0,
  );
  return placeOf(one, boxesOf(one.element, reach));
}

/** The box of an element, and the one around it and what is in it, with as much more on each side. */
function boxesOf(element: HTMLElement, reach: number): { own: DOMRect; around: ElementBox } {
  const own = element.getBoundingClientRect();
  const parts = [...element.querySelectorAll('*')]
    .slice(0, PARTS_MAX)
    .map((part) => part.getBoundingClientRect())
    .filter(({ width, height }) => width > 0 && height > 0);
  const all = [own, ...parts];
  const around = grown(
    {
      left: Math.min(...all.map(({ left }) => left)),
      top: Math.min(...all.map(({ top }) => top)),
      right: Math.max(...all.map(({ right }) => right)),
      bottom: Math.max(...all.map(({ bottom }) => bottom)),
    },
    reach,
  );
  return { own, around };
}

function placeOf(one: Wanted, { own, around }: { own: ElementBox; around: ElementBox }): PicturePlace | null {
  const box = within(pageBox(), onPage(around));
  if (box.right - box.left < 1 || box.bottom - box.top < 1) return null;
  one.edges = edgesOf(box, onPage(own));
  return { box, density: null, isTransparent: true };
}

function addPrimitive(filter: SVGFilterElement, name: string, attributes: Record<string, string>): void {
  const primitive = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) primitive.setAttribute(key, value);
  filter.append(primitive);
}

/** Shows a picture in place of an element, of what is seen through it, of its mask or of its shadow. */
export async function show(index: number, picture: string, density: number): Promise<void> {
  const one = wanted[index];
  if (one === undefined) return;
  const { kind, element } = one;
  if (!(await isShowable(picture))) return;
  if (kind === 'canvas') force(element, 'content', `image-set(url(${picture}) ${density}x)`);
  else if (kind === 'drop-shadow' || kind === 'filter') addBeside(one, picture, index);
  else restyle(one, kind === 'mask-composite' ? maskOf(picture) : backgroundOf(picture, one.edges), index);
  shown.push(one);
}

function restyle({ element, pseudo }: Wanted, properties: Record<string, string>, index: number): void {
  if (pseudo === '') {
    forceAll(element, properties);
    return;
  }
  const rule = `[${MARK}="${markOf(element, index)}"]${pseudo} { ${forced(properties)} }`;
  addSheet(element.getRootNode() as Tree, rule, true);
}

function forced(properties: Record<string, string>): string {
  return Object.entries(properties)
    .map(([property, value]) => `${property}: ${value} !important`)
    .join(';');
}

/** An element may have several pictures. */
function markOf(element: HTMLElement, index: number): string {
  const name = element.getAttribute(MARK) ?? String(index);
  element.setAttribute(MARK, name);
  return name;
}

function maskOf(picture: string): Record<string, string> {
  return { mask: `url(${picture}) 0 0 / 100% 100% no-repeat border-box border-box alpha` };
}

function backgroundOf(picture: string, [top, right, bottom, left]: Edges = [0, 0, 0, 0]): Record<string, string> {
  const size = `calc(100% + ${left + right}px) calc(100% + ${top + bottom}px)`;
  return {
    'backdrop-filter': 'none',
    background: `url(${picture}) ${-left}px ${-top}px / ${size} no-repeat border-box border-box`,
    'background-blend-mode': 'normal',
  };
}

const INVISIBLE = {
  ...NO_TEXT,
  background: 'none',
  'border-color': 'transparent',
  'border-image': 'none',
  'box-shadow': 'none',
  outline: 'none',
  'text-decoration-color': 'transparent',
};

/** A shadow is beside the element's content, so that it may as well be in front of it. The text of a filtered element is kept invisible. */
function addBeside({ kind, element, edges = [0, 0, 0, 0] }: Wanted, picture: string, index: number): void {
  const pseudo = freePseudo(element);
  if (pseudo === null) return;
  if (getComputedStyle(element).position === 'static') force(element, 'position', 'relative');
  forceAll(element, { filter: 'none', isolation: 'isolate' });
  const style = getComputedStyle(element);
  const inset = SIDES.map((side, nth) => `${-(edges[nth] ?? 0) - px(style, `border-${side}-width`)}px`).join(' ');
  if (kind === 'filter') {
    forceAll(element, INVISIBLE);
    const within = `[${MARK}="${markOf(element, index)}"]`;
    const all = `${within}::before, ${within}::after, ${within} *, ${within} *::before, ${within} *::after`;
    const drawn = `${within} :is(img, svg, video, canvas, iframe, object, embed, input, progress, meter)`;
    addSheet(element.getRootNode() as Tree, `${all} { ${forced(INVISIBLE)} } ${drawn} { opacity: 0 !important }`, true);
  }
  restyle(
    { kind, element, pseudo },
    {
      all: 'initial',
      content: "''",
      display: 'block',
      position: 'absolute',
      inset,
      background: `url(${picture}) 0 0 / 100% 100% no-repeat`,
    },
    index,
  );
}
