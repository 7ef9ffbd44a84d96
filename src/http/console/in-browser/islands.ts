/** The scripts of the console's pages, which add to links and forms. Everything works without them, by loading a page again. */

import { runCapturePage } from './capture-page.js';
import { copyOnClick } from './copy.js';
import { addSliders, addZoom } from './pictures.js';

const EVERY_MS = 2_000;
const LONGEST_WAIT_MS = 30_000;

void followServer();
showBusyForms();
addCopyButtons();
addZoom();
addSliders();
runCapturePage();

/** Reads the parts of the page that are marked as live from the server again, while the page is visible. */
async function followServer(): Promise<void> {
  const status = document.querySelector('[data-live-status]');
  const control = document.querySelector<HTMLButtonElement>('[data-live-switch]');
  const isPaused = () => control?.getAttribute('aria-pressed') === 'true';
  const announce = (text: string) => {
    if (status !== null && status.textContent !== text) status.textContent = text;
  };
  if (control !== null) {
    control.hidden = liveParts().length === 0;
    control.setAttribute('aria-pressed', 'false');
    control.addEventListener('click', () => control.setAttribute('aria-pressed', String(!isPaused())));
  }
  for (let wait = EVERY_MS; liveParts().length > 0; ) {
    await new Promise((resolve) => setTimeout(resolve, wait));
    if (document.hidden || isPaused()) continue;
    // All parts of a page are read from the same address.
    const next = await read(liveParts()[0]?.dataset.live ?? '');
    if (next === 'locked') return announce('This session has ended. Make a new link with: stillframe console');
    wait = next === null ? Math.min(LONGEST_WAIT_MS, wait * 2) : EVERY_MS;
    if (next === null) announce('The server does not answer. Trying again.');
    else if (!isPaused()) announce(put(next));
  }
}

function liveParts(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>('[data-live]')];
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

/** Replaces the live parts. @returns what they say of themselves */
function put(next: Document): string {
  let summary = '';
  for (const before of liveParts()) {
    const after = next.getElementById(before.id);
    if (after === null) continue;
    summary ||= after.dataset.summary ?? '';
    replace(before, after);
  }
  return summary;
}

/** Preserves open sections, and the focus on the control that leads to the same page. */
function replace(before: HTMLElement, after: HTMLElement): void {
  const known = [...before.querySelectorAll('details')];
  after.querySelectorAll('details').forEach((details, i) => {
    details.open = known[i]?.open ?? details.open;
  });
  if (before.outerHTML === after.outerHTML) return;
  // A picture that is shown already would flicker if it were loaded again.
  for (const image of after.querySelectorAll('img')) {
    const shown = before.querySelector(`img[src="${CSS.escape(image.getAttribute('src') ?? '')}"]`);
    if (shown !== null) image.replaceWith(shown);
  }
  const focused = before.contains(document.activeElement) ? document.activeElement?.getAttribute('href') : null;
  before.replaceWith(after);
  addZoom(after);
  if (focused) after.querySelector<HTMLElement>(`[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

/** Says that a form is being sent, and keeps it from being sent twice. */
function showBusyForms(): void {
  for (const form of document.querySelectorAll<HTMLFormElement>('form[data-busy]')) {
    const button = form.querySelector<HTMLButtonElement>('button.primary');
    const status = form.querySelector<HTMLElement>('[data-busy-status]');
    const label = button?.textContent ?? '';
    const set = (busy: boolean) => {
      form.toggleAttribute('data-sending', busy);
      if (button !== null) button.textContent = busy ? (form.dataset.busy ?? label) : label;
      if (status !== null) status.textContent = busy ? (form.dataset.busy ?? '') : '';
    };
    form.addEventListener('submit', (event) => {
      if (form.hasAttribute('data-sending')) event.preventDefault();
      else set(true);
    });
    // A page that comes back from the browser's cache is as it was left.
    addEventListener('pageshow', () => set(false));
  }
}

/** Buttons that copy the text of another element. */
function addCopyButtons(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-copy]')) {
    button.hidden = navigator.clipboard === undefined;
    copyOnClick(button, () => document.getElementById(button.dataset.copy ?? '')?.textContent ?? '');
  }
}
