const SAID_MS = 2_000;

/** Buttons that copy the text of another element. */
export function addCopyButtons(page: Document): void {
  for (const button of page.querySelectorAll<HTMLButtonElement>('button[data-copy]')) {
    const label = button.textContent;
    button.hidden = navigator.clipboard === undefined;
    button.addEventListener('click', async () => {
      const text = page.getElementById(button.dataset.copy ?? '')?.textContent ?? '';
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = 'Copied';
      } catch {
        button.textContent = 'Could not be copied';
      }
      setTimeout(() => {
        button.textContent = label;
      }, SAID_MS);
    });
  }
}
