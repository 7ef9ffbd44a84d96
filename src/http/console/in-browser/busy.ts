/** Says that a form is being sent, and keeps it from being sent twice. */
export function showBusyForms(page: Document): void {
  for (const form of page.querySelectorAll<HTMLFormElement>('form[data-busy]')) {
    const button = form.querySelector<HTMLButtonElement>('button.primary');
    const said = form.querySelector<HTMLElement>('[data-busy-status]');
    const label = button?.textContent ?? '';
    const set = (busy: boolean) => {
      form.toggleAttribute('data-sending', busy);
      if (button !== null) button.textContent = busy ? (form.dataset.busy ?? label) : label;
      if (said !== null) said.textContent = busy ? (form.dataset.busy ?? '') : '';
    };
    form.addEventListener('submit', (event) => {
      if (form.hasAttribute('data-sending')) event.preventDefault();
      else set(true);
    });
    // A page that comes back from the browser's cache is as it was left.
    addEventListener('pageshow', () => set(false));
  }
}
