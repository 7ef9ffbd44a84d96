const EVERY_MS = 2_000;
const LONGEST_WAIT_MS = 30_000;

/** Reads the parts of the page that are marked as live from the server again, while the page is visible. */
export function followServer(page: Document): void {
  const addresses = new Set(livePartsOf(page).map((part) => part.dataset.live ?? ''));
  if (addresses.size === 0) return;
  const status = page.querySelector('[data-live-status]');
  const control = page.querySelector<HTMLButtonElement>('[data-live-switch]');
  const isPaused = () => control?.getAttribute('aria-pressed') === 'true';
  if (control !== null) {
    control.hidden = false;
    control.setAttribute('aria-pressed', 'false');
    control.addEventListener('click', () => control.setAttribute('aria-pressed', String(!isPaused())));
  }
  const say = (text: string) => {
    if (status !== null && status.textContent !== text) status.textContent = text;
  };
  for (const address of addresses) void follow(page, address, { say, isPaused });
}

interface Follower {
  say(text: string): void;
  isPaused(): boolean;
}

async function follow(page: Document, address: string, { say, isPaused }: Follower): Promise<void> {
  for (let wait = EVERY_MS; ; ) {
    await new Promise((resolve) => setTimeout(resolve, wait));
    const ids = livePartsOf(page).flatMap((part) => (part.dataset.live === address ? [part.id] : []));
    if (ids.length === 0) return;
    if (page.hidden || isPaused()) continue;
    const next = await read(address);
    if (next === 'locked') return say('This session has ended. Make a new link with: stillframe console');
    wait = next === null ? Math.min(LONGEST_WAIT_MS, wait * 2) : EVERY_MS;
    if (next === null) say('The server does not answer. Trying again.');
    else if (!isPaused()) say(put(page, next, ids));
  }
}

function livePartsOf(page: Document): HTMLElement[] {
  return [...page.querySelectorAll<HTMLElement>('[data-live]')];
}

async function read(address: string): Promise<Document | 'locked' | null> {
  try {
    const response = await fetch(address, { headers: { accept: 'text/html' } });
    if (response.status === 401) return 'locked';
    return response.ok ? new DOMParser().parseFromString(await response.text(), 'text/html') : null;
  } catch {
    return null;
  }
}

/** Replaces the parts with these ids. @returns what they say of themselves */
function put(page: Document, next: Document, ids: readonly string[]): string {
  let summary = '';
  for (const id of ids) {
    const [before, after] = [page.getElementById(id), next.getElementById(id)];
    if (before === null || after === null) continue;
    summary ||= after.dataset.summary ?? '';
    replace(before, after);
  }
  return summary;
}

/** Leaves the reader where they are: with what is open opened, and the focus on the same control. */
function replace(before: HTMLElement, after: HTMLElement): void {
  const known = [...before.querySelectorAll('details')];
  after.querySelectorAll('details').forEach((details, i) => {
    details.open = known[i]?.open ?? details.open;
  });
  if (before.outerHTML === after.outerHTML) return;
  const focused = selectorOf(before, before.ownerDocument.activeElement);
  before.replaceWith(after);
  if (focused !== null) after.querySelector<HTMLElement>(focused)?.focus({ preventScroll: true });
}

/** A selector for the focused control, by what it leads to. */
function selectorOf(part: HTMLElement, focused: Element | null): string | null {
  if (focused === null || !part.contains(focused)) return null;
  if (focused.id !== '') return `#${CSS.escape(focused.id)}`;
  const href = focused.getAttribute('href');
  return href === null ? focused.localName : `${focused.localName}[href="${CSS.escape(href)}"]`;
}
