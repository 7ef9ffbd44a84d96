import { trees } from './dom.js';

/** What a page could show of secrets that were typed into it, in a picture for whoever reads an error. */

const NO_TEXT = new Set(['button', 'checkbox', 'image', 'radio', 'reset', 'submit']);

/** Hides every filled field and every frame, and each text that has one of the secrets. */
export function hide(secrets: string[]): void {
  const squeezed = secrets.map(squeeze);
  for (const root of trees()) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      if (node instanceof Text) {
        const text = squeeze(node.data);
        if (node.parentElement !== null && squeezed.some((secret) => text.includes(secret))) conceal(node.parentElement);
      } else if (node instanceof HTMLElement && mayShow(node)) conceal(node);
    }
  }
}

/** Pages group the characters of numbers and codes. */
function squeeze(text: string): string {
  return text.replace(/[\s-]+/g, '');
}

function mayShow(element: HTMLElement): boolean {
  if (element instanceof HTMLInputElement) return !NO_TEXT.has(element.type) && element.value !== '';
  if (element instanceof HTMLTextAreaElement) return element.value !== '';
  return element.isContentEditable || element instanceof HTMLIFrameElement || element instanceof HTMLCanvasElement;
}

function conceal({ style }: HTMLElement): void {
  style.setProperty('visibility', 'hidden', 'important');
  style.setProperty('opacity', '0', 'important');
}
