const EVERY_MS = 2_000;
const LONGEST_WAIT_MS = 30_000;

/** Reads the parts of the page that are marked as live from the server again, while the page is visible. */
export function followServer(page: Document): void {
  const ids = [...page.querySelectorAll<HTMLElement>('[data-live]')].map(({ id }) => id);
  if (ids.length === 0) return;
  const status = page.querySelector('[data-live-status]');
  const control = page.querySelector<HTMLButtonElement>('[data-live-switch]');
  const isPaused = () => control?.getAttribute('aria-pressed') === 'true';
  if (control !== null) {
    control.hidden = false;
    control.setAttribute('aria-pressed', 'false');
    control.addEventListener('click', () => control.setAttribute('aria-pressed', String(!isPaused())));
  }
  for (const id of ids) {
    const say = (text: string) => {
      if (status !== null && status.textContent !== text) status.textContent = text;
    };
    void follow(page, id, { say, isPaused });
  }
}

interface Follower {
  say(text: string): void;
  isPaused(): boolean;
}

async function follow(page: Document, id: string, { say, isPaused }: Follower): Promise<void> {
  for (let wait = EVERY_MS; ; ) {
    await new Promise((resolve) => setTimeout(resolve, wait));
    const part = page.getElementById(id);
    if (part === null || part.dataset.live === undefined) return;
    if (page.hidden || isPaused()) continue;
    const next = await readPart(part.dataset.live, id);
    if (next === 'locked') return say('This session has ended. Make a new link with: stillframe console');
    if (next === null) {
      say('The server does not answer. Trying again.');
      wait = Math.min(LONGEST_WAIT_MS, wait * 2);
      continue;
    }
    wait = EVERY_MS;
    if (!isPaused()) put(part, next);
    say(next.dataset.summary ?? '');
  }
}

async function readPart(address: string, id: string): Promise<HTMLElement | 'locked' | null> {
  try {
    const response = await fetch(address, { headers: { accept: 'text/html' } });
    if (response.status === 401) return 'locked';
    if (!response.ok) return null;
    return new DOMParser().parseFromString(await response.text(), 'text/html').getElementById(id);
  } catch {
    return null;
  }
}

/** Leaves the reader where they are: with what is open opened, and the focus on the same control. */
function put(part: HTMLElement, next: HTMLElement): void {
  const nodes = [...part.querySelectorAll('details')];
  [...next.querySelectorAll('details')].forEach((details, i) => {
    const known = nodes[i];
    if (known !== undefined) details.open = known.open;
  });
  if (part.outerHTML === next.outerHTML) return;
  const focused = pathTo(part, part.ownerDocument.activeElement);
  part.replaceWith(next);
  if (focused === null) return;
  const again = [...next.querySelectorAll<HTMLElement>(focused)];
  again[0]?.focus({ preventScroll: true });
}

/** A selector for the focused control, by what it leads to. */
function pathTo(part: HTMLElement, focused: Element | null): string | null {
  if (focused === null || !part.contains(focused)) return null;
  if (focused.id !== '') return `#${CSS.escape(focused.id)}`;
  const href = focused.getAttribute('href');
  return href === null ? focused.localName : `${focused.localName}[href="${CSS.escape(href)}"]`;
}
