/** The form of a capture: presets, the last options, the request as code while it is filled in, and previews. */

const SNIPPETS_AFTER_MS = 250;
const PREVIEW_AFTER_MS = 1_200;
const KEPT = 'stillframe.capture';

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

export function runCapturePage(): void {
  const form = document.querySelector<HTMLFormElement>('form#capture');
  if (form === null) return;
  const preview = previews(form);
  const followed = followForm(form, preview);
  const changed = () => {
    showSet(form);
    followed();
  };
  form.addEventListener('input', () => showSet(form));
  addFinder(form);
  for (const link of form.querySelectorAll<HTMLAnchorElement>('a[data-preset]')) {
    link.addEventListener('click', (event) => {
      event.preventDefault();
      fill(form, new URL(link.href).searchParams);
      announce(form, `${link.textContent.trim()}: options set.`);
      changed();
    });
  }
  if (form.dataset.fresh !== undefined) {
    const kept = readKept();
    if (kept !== null && [...kept].length > 0) {
      fill(form, kept);
      announce(form, 'Your last options are filled in.');
      changed();
    }
  }
  showSet(form);
  form.addEventListener('submit', () => keep(form));
}

/** Says how many options are set, in the form and in each group, with links to them. */
function showSet(form: HTMLFormElement): void {
  const fields = new Set(
    optionsOf(form)
      .filter(isSet)
      .map((control) => control.closest('.field')),
  );
  const set = [...fields].filter((field) => field !== null);
  const links = set.map((field) => {
    const label = field.querySelector('label, legend');
    const link = document.createElement('a');
    link.href = `#${label?.getAttribute('for') ?? field.id}`;
    link.textContent = label?.textContent ?? '';
    return link;
  });
  const count = set.length === 1 ? '1 option set: ' : `${set.length} options set: `;
  form.querySelector('[data-set]')?.replaceChildren(...(set.length === 0 ? ['No options set'] : [count, ...links]));
  for (const group of form.querySelectorAll('details')) {
    const badge = group.querySelector<HTMLElement>('[data-count]');
    const inside = set.filter((field) => group.contains(field)).length;
    if (badge === null) continue;
    badge.hidden = inside === 0;
    badge.textContent = `${inside} set`;
  }
}

function isSet(control: Control): boolean {
  if (control instanceof HTMLInputElement && control.type === 'checkbox')
    return control.checked !== (control.dataset.default === 'on');
  return control.value.trim() !== '';
}

/** Shows only the options whose label, name or description has all words of a query; an empty one shows the groups as they were. */
function addFinder(form: HTMLFormElement): void {
  const finder = form.querySelector<HTMLInputElement>('[data-find]');
  if (finder === null) return;
  finder.hidden = false;
  const groups = [...form.querySelectorAll<HTMLDetailsElement>('.options details')];
  let opened: HTMLDetailsElement[] | null = null;
  finder.addEventListener('input', (event) => {
    event.stopPropagation();
    const words = finder.value
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== '');
    opened ??= groups.filter(({ open }) => open);
    for (const group of groups) {
      const heading = group.querySelector('h3')?.textContent ?? '';
      const fields = [...group.querySelectorAll<HTMLElement>('.field')];
      for (const field of fields) {
        const text = `${heading} ${field.textContent}`.toLowerCase();
        field.hidden = !words.every((word) => text.includes(word));
      }
      group.hidden = fields.every(({ hidden }) => hidden);
      group.open = words.length > 0 || opened.includes(group);
    }
    if (words.length === 0) opened = null;
  });
  finder.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') event.preventDefault();
  });
}

function announce(form: HTMLFormElement, text: string): void {
  const notice = form.querySelector('[data-restored]');
  if (notice !== null) notice.textContent = text;
}

/** The fields that are options, excluding the URL, the key and controls that are not sent. */
function optionsOf(form: HTMLFormElement): Control[] {
  return [...form.querySelectorAll<Control>('input[name], select[name], textarea[name]')].filter(
    ({ name, type }) => type !== 'hidden' && type !== 'radio' && name !== 'url' && name !== 'key',
  );
}

/** Sets all options, those that are not given to their defaults, and opens the groups of those that are. */
function fill(form: HTMLFormElement, options: URLSearchParams): void {
  for (const control of optionsOf(form)) {
    const values = options.getAll(control.name);
    if (control instanceof HTMLInputElement && control.type === 'checkbox') {
      const byDefault = control.dataset.default === 'on';
      control.checked = values.length === 0 ? byDefault : values.includes(control.value);
      if (control.checked !== byDefault) open(control);
    } else {
      control.value = values[0] ?? '';
      if (values.length > 0) open(control);
    }
  }
}

function open(control: Control): void {
  const group = control.closest('details');
  if (group !== null) group.open = true;
}

/** Options that are set, without private ones: secrets, headers, documents. */
function keep(form: HTMLFormElement): void {
  const isPrivate = new Set((form.dataset.private ?? '').split(' '));
  const kept = new URLSearchParams();
  for (const control of optionsOf(form)) {
    if (isPrivate.has(control.name.split('.')[0] ?? '')) continue;
    if (isSet(control))
      kept.append(
        control.name,
        control instanceof HTMLInputElement && control.type === 'checkbox' && !control.checked ? 'off' : control.value,
      );
  }
  try {
    localStorage.setItem(KEPT, String(kept));
  } catch {
    // A browser may forbid it, or its space is used up.
  }
}

function readKept(): URLSearchParams | null {
  try {
    const text = localStorage.getItem(KEPT);
    return text === null ? null : new URLSearchParams(text);
  } catch {
    return null;
  }
}

/** Writes the request as code while the form changes. @returns to be called after a change that is no event */
function followForm(form: HTMLFormElement, preview: (body: string) => void): () => void {
  let timer = 0;
  let pending = new AbortController();
  const check = async () => {
    const next = await send(form, 'snippets', pending.signal);
    if (next === null) return;
    for (const code of document.querySelectorAll('#snippets code[id]')) {
      const text = next.getElementById(code.id)?.textContent;
      if (text !== undefined) code.textContent = text;
    }
    const [said, problem] = [document, next].map((each) => each.getElementById('snippet-problem'));
    if (said && problem && said.textContent !== problem.textContent)
      said.replaceChildren(...problem.cloneNode(true).childNodes);
    if (problem?.textContent.trim() === '' && hasTarget(form)) preview(next.getElementById('curl')?.textContent ?? '');
  };
  const changed = () => {
    clearTimeout(timer);
    pending.abort();
    pending = new AbortController();
    timer = window.setTimeout(() => void check(), SNIPPETS_AFTER_MS);
  };
  form.addEventListener('input', ({ target }) => {
    if ((target as HTMLInputElement).name !== 'snippet') changed();
  });
  return changed;
}

function hasTarget(form: HTMLFormElement): boolean {
  return ['url', 'html'].some((name) => String(new FormData(form).get(name) ?? '').trim() !== '');
}

/** Previews on a click; and while the reader types, if they have chosen that. @returns called with each valid request */
function previews(form: HTMLFormElement): (body: string) => void {
  const card = form.querySelector<HTMLElement>('[data-preview]');
  const frame = form.querySelector<HTMLElement>('[data-preview-frame]');
  const take = form.querySelector<HTMLButtonElement>('[data-preview-take]');
  const cancel = form.querySelector<HTMLButtonElement>('[data-preview-cancel]');
  const live = form.querySelector<HTMLInputElement>('#live');
  if (card === null || frame === null || take === null || cancel === null || live === null) return () => undefined;
  card.hidden = false;
  let timer = 0;
  let taken = '';
  let current = '';
  let taking: AbortController | null = null;
  const stop = () => {
    clearTimeout(timer);
    taking?.abort();
    taking = null;
    frame.removeAttribute('aria-busy');
    cancel.hidden = true;
  };
  const run = async () => {
    stop();
    if (!hasTarget(form)) return frame.replaceChildren(line('Enter the address of a page first.'));
    const own = new AbortController();
    taking = own;
    taken = current;
    frame.setAttribute('aria-busy', 'true');
    cancel.hidden = false;
    const next = await send(form, 'preview', own.signal);
    if (taking !== own) return;
    stop();
    const result = next?.getElementById('preview-result');
    if (result) frame.replaceChildren(...result.childNodes);
    else frame.replaceChildren(line('The server does not answer, or this session has ended.'));
  };
  take.addEventListener('click', () => void run());
  cancel.addEventListener('click', () => {
    stop();
    taken = '';
  });
  live.addEventListener('change', () => {
    if (live.checked && hasTarget(form)) void run();
    else stop();
  });
  form.addEventListener('submit', stop);
  return (body) => {
    current = body;
    clearTimeout(timer);
    if (live.checked && body !== taken) timer = window.setTimeout(() => void run(), PREVIEW_AFTER_MS);
  };
}

function line(text: string): HTMLElement {
  const made = document.createElement('p');
  made.className = 'hint';
  made.textContent = text;
  return made;
}

/** Sends the form to another page of the console. @returns null if it cannot be read */
async function send(form: HTMLFormElement, path: string, signal: AbortSignal): Promise<Document | null> {
  try {
    const body = new URLSearchParams(
      [...new FormData(form)].map(([name, value]): [string, string] => [name, String(value)]),
    );
    const response = await fetch(path, { method: 'POST', body, signal, headers: { accept: 'text/html' } });
    return response.ok ? new DOMParser().parseFromString(await response.text(), 'text/html') : null;
  } catch {
    return null;
  }
}
