/** The scripts of the documentation: buttons that copy examples, the current page in the contents, and a key that leads to the search. */

import { copyOnClick } from '../../console/in-browser/copy.js';

for (const example of document.querySelectorAll<HTMLElement>('.prose pre')) {
  const code = example.querySelector('code');
  if (code === null || navigator.clipboard === undefined) continue;
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'quiet';
  button.textContent = 'Copy';
  copyOnClick(button, () => code.textContent.trimEnd());
  example.append(button);
}

const contents = document.querySelector('#contents');
const current = contents?.querySelector('[aria-current]');
if (contents && current instanceof HTMLElement) contents.scrollTop = current.offsetTop - contents.clientHeight / 3;

addEventListener('keydown', (event) => {
  const isTyping =
    event.target instanceof Element && event.target.closest('input, textarea, select, [contenteditable]') !== null;
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  document.querySelector<HTMLInputElement>('input[type=search]')?.focus();
});
