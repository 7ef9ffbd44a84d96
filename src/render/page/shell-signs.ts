import type { PageKit } from './page-kit.js';

export interface Completeness {
  /** What makes it look like a shell, as words for a message; null when nothing does. */
  seen: string | null;
  /** Images in view or fonts that are not there yet, likewise. */
  unfinished: string | null;
  /** Characters in the document and its open shadow trees: while it grows, the page is being made. */
  text: number;
}

interface Words {
  text: string;
  parent: Element;
  bottom: number;
}

/** Runs in the page: whether what is in view looks like a page still to be filled. */
export function lookForShell(kit: PageKit): Completeness {
  const LOADING =
    /^\W*(loading|please wait|one moment|just a moment|laden|l[äa]dt|wird geladen|bitte warten|chargement|veuillez patienter|cargando|carregando|caricamento|загрузка|yükleniyor|ładowanie|読み込み中|加载中|正在加载|載入中|로딩|불러오는)/i;
  const PICTURES = 'img,picture,svg,canvas,video,iframe,object,embed';
  const view = innerWidth * innerHeight;
  const trees = kit.trees();
  const range = document.createRange();
  let hitTests = 0;
  const texts = textsInView();
  const words = texts.map(({ text }) => text).join(' ');
  const chars = lengthOf(words);
  const pictures = pictureShare();
  return { seen: shellSign(), unfinished: unfinishedSign(), text: textLength() };

  function shellSign(): string | null {
    if (chars < 80 && LOADING.test(words)) return `"${words.slice(0, 60).trim()}" instead of content`;
    const alone = loadingAlone();
    if (alone !== null) return `"${alone}" instead of content`;
    const busy = share('[aria-busy="true" i]');
    if (busy >= 0.25 && chars < 600) return 'a part that is marked busy (aria-busy)';
    const skeletons = share(
      '[class*="skeleton" i],[class*="shimmer" i],[class*="placeholder-glow" i],[class*="placeholder-wave" i],[class*="content-loader" i],[data-testid*="skeleton" i]',
    );
    if (skeletons >= 0.1 && chars < 600) return 'skeletons in place of content';
    if (chars < 200 && pictures < 0.2 && spins()) return 'a spinner in place of content';
    if (isCovered()) return 'an opaque cover over the view';
    if (chars < 16 && pictures < 0.05 && kit.runsScript()) return 'next to no visible text';
    return null;
  }

  /** A "Loading…" that is all that a page says and holds between its header and its footer. */
  function loadingAlone(): string | null {
    if (chars >= 300 || pictures >= 0.2) return null;
    const main = texts.filter(({ parent, bottom }) => isInMain(parent, bottom));
    const [only] = main;
    if (only === undefined || main.length > 1 || only.text.length > 40 || !LOADING.test(only.text)) return null;
    const saysMore = /\p{L}/u.test(only.text.replace(LOADING, '')) && !/(\.\.\.|…)$/.test(only.text);
    // What is in fields is no text.
    const holdsMore = all('input,textarea,select').some(
      (field) => kit.isVisible(field) && isInMain(field, field.getBoundingClientRect().bottom),
    );
    return saysMore || holdsMore ? null : only.text;
  }

  function isInMain(element: Element, bottom: number): boolean {
    const around = 'header,nav,footer,[role="banner"],[role="navigation"],[role="contentinfo"]';
    return bottom > innerHeight * 0.15 && !ancestry(element).some((at) => at.matches(around));
  }

  /** The element and all that it is rendered in. */
  function ancestry(element: Element): Element[] {
    const found: Element[] = [];
    for (let at: Element | null = element; at !== null; at = kit.parentOf(at)) found.push(at);
    return found;
  }

  function unfinishedSign(): string | null {
    const images = kit.imagesInView().filter((image) => !image.complete).length;
    if (images > 0) return `${images} ${images === 1 ? 'image' : 'images'} in view not loaded yet`;
    return kit.documentProperty('fonts').status === 'loading' ? 'text whose web font is not loaded yet' : null;
  }

  /** Text in view that can be told from what is behind it. */
  function textsInView(): Words[] {
    const found: Words[] = [];
    let looked = 0;
    let length = 0;
    for (const top of tops()) {
      const walker = document.createTreeWalker(top, NodeFilter.SHOW_TEXT);
      for (; looked < 5_000 && length < 1_500 && walker.nextNode(); looked++) {
        const words = wordsOf(walker.currentNode);
        if (words === null) continue;
        found.push(words);
        length += words.text.length + 1;
      }
    }
    return found;
  }

  /** null when they cannot be seen. */
  function wordsOf(node: Node): Words | null {
    const text = (node.nodeValue ?? '').trim();
    const root = node.parentNode;
    const parent = root instanceof ShadowRoot ? root.host : node.parentElement;
    if (text === '' || parent === null || /^(script|style|noscript|template)$/i.test(parent.tagName)) return null;
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (kit.areaInView(box) <= 4 || !isShown(parent) || !standsOut(parent, box)) return null;
    return { text, parent, bottom: box.bottom };
  }

  function textLength(): number {
    return tops().reduce((sum, top) => sum + (top.textContent ?? '').length, 0);
  }

  function tops(): Node[] {
    return trees.map((tree) => (tree instanceof ShadowRoot ? tree : kit.body())).filter((top) => top !== null);
  }

  function all(selector: string): Element[] {
    return trees.flatMap((tree) => kit.allIn(tree, selector));
  }

  function lengthOf(text: string): number {
    return text.replace(/\s+/g, '').length;
  }

  function standsOut(element: Element, box: DOMRect): boolean {
    const colour = getComputedStyle(element).color;
    if (kit.alphaOf(colour) < 0.05)
      return getComputedStyle(element).backgroundClip === 'text' || getComputedStyle(element).webkitTextFillColor !== colour;
    for (const at of ancestry(element)) {
      const differs = differsFrom(colour, getComputedStyle(at));
      if (differs !== null) return differs || liesOnLayer(element, box, colour);
    }
    return colour !== 'rgb(255, 255, 255)' || liesOnLayer(element, box, colour);
  }

  /** null when the background can be seen through. */
  function differsFrom(colour: string, { backgroundImage, backgroundColor }: CSSStyleDeclaration): boolean | null {
    if (backgroundImage !== 'none') return true;
    return kit.alphaOf(backgroundColor) > 0.5 ? backgroundColor !== colour : null;
  }

  /** Whether what is painted between text and its ancestors' background, as a dark layer of its own, sets it off. */
  function liesOnLayer(element: Element, box: DOMRect, colour: string): boolean {
    if (hitTests++ >= 100) return false;
    const x = (Math.max(box.left, 0) + Math.min(box.right, innerWidth)) / 2;
    const y = (Math.max(box.top, 0) + Math.min(box.bottom, innerHeight)) / 2;
    const root = element.getRootNode();
    const stack = root instanceof ShadowRoot ? root.elementsFromPoint(x, y) : Document.prototype.elementsFromPoint.call(document, x, y);
    for (const at of stack.slice(Math.max(0, stack.indexOf(element)))) {
      if (at.matches(PICTURES) || ['::before', '::after'].some((part) => isLayer(getComputedStyle(at, part), colour))) return true;
      // Theirs are painted on the canvas, behind all layers.
      if (at === kit.body() || at === kit.documentProperty('documentElement')) continue;
      const differs = differsFrom(colour, getComputedStyle(at));
      if (differs !== null) return differs;
    }
    return false;
  }

  function isLayer(style: CSSStyleDeclaration, colour: string): boolean {
    return style.content !== 'none' && /^(absolute|fixed)$/.test(style.position) && differsFrom(colour, style) === true;
  }

  function share(selector: string): number {
    return shareOf(all(selector));
  }

  function shareOf(elements: Element[]): number {
    let area = 0;
    for (const element of elements.slice(0, 500)) {
      if (kit.isVisible(element)) area += kit.areaInView(element.getBoundingClientRect());
    }
    return area / view;
  }

  function pictureShare(): number {
    return share(PICTURES) + (hasBackgroundPicture() ? 1 : 0);
  }

  function hasBackgroundPicture(): boolean {
    const middle = Document.prototype.elementsFromPoint.call(document, innerWidth / 2, innerHeight / 2);
    return middle.some((element) => getComputedStyle(element).backgroundImage.includes('url('));
  }

  function spins(): boolean {
    const spinners =
      '[class*="spinner" i],[class*="loader" i],[class*="loading" i],[id*="spinner" i],[id*="loader" i],[role="progressbar" i]:not([aria-valuenow])';
    return all(spinners)
      .slice(0, 200)
      .some((element) => kit.areaInView(element.getBoundingClientRect()) > 0 && isShown(element) && isAnimated(element));
  }

  function isShown(element: Element): boolean {
    return element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  }

  function isAnimated(element: Element): boolean {
    const named = /^(spinner|loader)$|spin/i.test(element.getAttribute('class') ?? '');
    return named || element.getAnimations({ subtree: true }).length > 0 || element.getAttribute('role') === 'progressbar';
  }

  /** One layer with next to nothing on it, on top of everything, with content behind it. */
  function isCovered(): boolean {
    const cover = kit.coverOnTop();
    return cover !== null && isBare(cover) && hidesContent(cover);
  }

  /** A logo at most: what asks something of a visitor, has a heading or shows a picture is meant to be seen. */
  function isBare(layer: Element): boolean {
    const inside = Array.from(layer.querySelectorAll('*'));
    if (layer.shadowRoot !== null || inside.some((element) => element.shadowRoot !== null)) return false;
    if (inside.some((element) => element.matches('a[href],button,input,select,textarea,h1,h2,h3'))) return false;
    if (shareOf(inside.filter((element) => element.matches(PICTURES))) >= 0.2) return false;
    return layer instanceof HTMLElement && layer.innerText.trim().length < 40;
  }

  function hidesContent(layer: Element): boolean {
    const behind = texts.filter(({ parent }) => !layer.contains(parent)).map(({ text }) => text);
    if (lengthOf(behind.join('')) >= 16) return true;
    return shareOf(all(PICTURES).filter((element) => !layer.contains(element))) >= 0.2;
  }
}
