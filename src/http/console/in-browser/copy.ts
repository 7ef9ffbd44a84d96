const SAID_MS = 2_000;

/** Makes a button copy a text, and say so. */
export function copyOnClick(button: HTMLButtonElement, text: () => string): void {
  const label = button.textContent;
  button.addEventListener('click', async () => {
    button.textContent = await navigator.clipboard.writeText(text()).then(
      () => 'Copied',
      () => 'Could not be copied',
    );
    setTimeout(() => {
      button.textContent = label;
    }, SAID_MS);
  });
}
