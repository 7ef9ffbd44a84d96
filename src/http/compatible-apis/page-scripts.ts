/** JavaScript that capture requests of compatible APIs run in their pages. */

/** The default time limit of browserless, in ms. */
export const WAIT_MS = 30_000;

export interface Tag {
  element: 'script' | 'link' | 'style';
  content?: string | undefined;
  url?: string | undefined;
  type?: string | undefined;
  id?: string | undefined;
}

/** Adds the elements one after the other, and waits for those with a URL. A script that throws is no failure, as in any page. */
export function addTags(tags: readonly Tag[]): string {
  return `(async (tags) => {
  for (const { element: name, content, url, type, id } of tags) {
    const element = document.createElement(name);
    if (id !== undefined) element.id = id;
    if (type !== undefined) element.type = type;
    if (content !== undefined) element.textContent = content;
    const loaded = url === undefined ? null : new Promise((resolve, reject) => {
      element.onload = resolve;
      element.onerror = () => reject(new Error('Could not load ' + url));
      if (name === 'link') element.rel = 'stylesheet';
      element[name === 'link' ? 'href' : 'src'] = url;
    });
    (document.head ?? document.documentElement).append(element);
    await loaded;
  }
})(${JSON.stringify(tags)})`;
}

/** A wait: an expression that becomes true, and for how long it is waited for, in ms; null for the default. */
export interface Wait {
  test: string;
  timeout: number | null;
}

/**
 * An expression that is true once each wait is over, in their order.
 * @param goesOn whether a wait is over when its time is, as if it had succeeded; if not, the expression notes that it was late
 */
export function untilAll(waits: readonly Wait[], { goesOn }: { goesOn: boolean }): string {
  const isLimited = ({ timeout }: Wait) => timeout !== 0 && (goesOn || timeout !== null);
  const steps = waits.map((wait, index) =>
    isLimited(wait)
      ? `await within(${index}, ${wait.timeout ?? WAIT_MS}, async () => (${wait.test}\n))`
      : `(await (${wait.test}\n))`,
  );
  if (!waits.some(isLimited)) return `(async () => ${steps.join(' && ')})()`;
  return `(async () => {
  const state = (${STATE} ??= { began: [], late: null });
  const within = async (index, ms, test) => {
    const left = ms - (performance.now() - (state.began[index] ??= performance.now()));
    const over = new Promise((resolve) => setTimeout(resolve, Math.max(0, left), 'over'));
    const held = await Promise.race([Promise.resolve().then(test).catch(() => false), over]);
    if (held === 'over' || (!held && left <= 0)) state.late ??= ms;
    return held || left <= 0;
  };
  return ${steps.join(' && ')};
})()`;
}

const STATE = 'window.__stillframeWaits';
/** Fails if a wait was late. */
export const THROW_IF_LATE = `if (${STATE}?.late != null) throw new Error('Waiting failed: ' + ${STATE}.late + 'ms exceeded')`;
/** The message of that failure. */
export const LATE = /Waiting failed: \d+ms exceeded/;

/** As Puppeteer's \`waitForFunction\`, for a function or an expression. */
export function untilFunction(fn: string): string {
  const isAsync = fn.includes('async') || fn.includes('await');
  if (isAsync) return `(async () => { await (${fn}\n)(); return true; })()`;
  return fn.startsWith('function') || fn.startsWith('()') ? `(${fn}\n)()` : fn;
}

/** As Puppeteer's \`waitForSelector\`: in the document, or visible, or neither. */
export function untilSelector({
  selector,
  visible,
  hidden,
}: {
  selector: string;
  visible: boolean;
  hidden: boolean;
}): string {
  const element = `document.querySelector(${JSON.stringify(selector)})`;
  if (!visible && !hidden) return `${element} !== null`;
  const isSeen = `((element) => element !== null && element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0)(${element})`;
  return hidden ? `!${isSeen}` : isSeen;
}

/** Listens for an event of the document or window from then on, for EVENT_SEEN. */
export function listenFor(event: string): string {
  return `for (const target of [document, window]) target.addEventListener(${JSON.stringify(event)}, () => { ${EVENT_SEEN} = true; }, { once: true });`;
}

export const EVENT_SEEN = 'window.__stillframeEvent';
export const LOADED = `document.readyState === 'complete'`;

/**
 * Scrolls to the end of the page and back, so that lazy content loads.
 * @param boxes selector of elements that are scrolled as well
 */
export function scrollThrough(boxes: string | null): string {
  return `(async () => {
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const scrolled = [document.scrollingElement, ...${boxes === null ? '[]' : `document.querySelectorAll(${JSON.stringify(boxes)})`}];
  for (const box of scrolled.filter((one) => one !== null && one.scrollHeight > one.clientHeight)) {
    for (let top = 0; top < Math.min(30_000, box.scrollHeight); top += Math.max(100, innerHeight / 2)) {
      box.scrollTo({ top, behavior: 'instant' });
      await pause(100);
    }
    box.scrollTo({ top: 0, behavior: 'instant' });
  }
  await pause(500);
})()`;
}

/**
 * True once Grafana shows the panels of the view or of the whole page: nothing is booting, no panel loads, and no query has run for a while.
 * Dashboards of Grafana 11 and later (scenes) count their queries; in older ones, the drawn panels are counted. A page that is not Grafana's
 * is ready at once.
 */
export function panelsLoaded(part: 'view' | 'page'): string {
  return `(() => {
  const FIRST_QUERY_MS = 3000, QUIET_MS = 300;
  const now = performance.now();
  const state = ((window.__stillframePanels ??= {}).${part} ??= { began: now, quietSince: null, asked: false });
  const isShown = (element) => {
    const { top, bottom, width } = element.getBoundingClientRect();
    return width > 0 && (${part === 'page'} || (bottom > 0 && top < innerHeight));
  };
  const some = (selector, test = isShown) => [...document.querySelectorAll(selector)].some(test);
  const isLate = now - state.began >= FIRST_QUERY_MS;
  const isBusy = () => {
    if (some('.preloader, .panel-loading, [aria-label="Panel loading bar"], [data-testid="data-testid Panel loading bar"]')) return true;
    if (window.__grafanaSceneContext !== undefined) {
      if (window.__grafanaRunningQueryCount > 0) state.asked = true;
      return window.__grafanaRunningQueryCount > 0 || !(state.asked || isLate || ${part === 'page'});
    }
    if (some('.panel-solo', () => true)) return !(window.panelsRendered >= 1);
    const isRow = (panel) => panel.querySelector('.dashboard-row, [data-testid="dashboard-row-container"]') !== null;
    const isDrawn = (panel) => [...panel.querySelectorAll('[class$="panel-content"]')].some((content) => content.childElementCount > 0);
    if (some('[data-panelid]', () => true)) return some('[data-panelid]', (panel) => isShown(panel) && !isRow(panel) && !isDrawn(panel));
    return window.grafanaBootData !== undefined && !isLate;
  };
  if (isBusy()) state.quietSince = null;
  else state.quietSince ??= now;
  const isGrafana = window.grafanaBootData !== undefined || window.__grafanaSceneContext !== undefined;
  return state.quietSince !== null && (!isGrafana || now - state.quietSince >= QUIET_MS);
})()`;
}
