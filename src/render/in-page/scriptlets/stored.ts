/** The values that a list may store. Those that give consent are not among them: banners are declined, or not shown. */
const VALUES =
  /^(?:true|t|false|f|yes|y|no|n|ok|on|off|1st|reject|rejected|deny|denied|decline|declined|necessary|required|essential|hide|hidden|closed?|dismiss(?:ed)?|seen|done|none|-1|\d{1,4}|[12]\d{4}|3[01]\d{3})$/i;
const LITERALS: Record<string, string> = {
  '': '',
  emptyStr: '',
  emptyObj: '{}',
  '{}': '{}',
  emptyArr: '[]',
  '[]': '[]',
  null: 'null',
  undefined: 'undefined',
};

/** `set-cookie`: for this host, until the capture ends. */
export function setCookie(name = '', value = '', path = '/'): void {
  if (!/^[^\s;=,]{1,200}$/.test(name) || !VALUES.test(value)) return;
  const where = path === 'none' ? '' : '; path=/';
  const secure = /^__(?:secure|host)-/i.test(name) ? '; secure' : '';
  // biome-ignore lint/suspicious/noDocumentCookie: the page's scripts read it at once.
  document.cookie = `${name}=${value}${where}${secure}`;
}

/** `set-local-storage-item`, `set-session-storage-item`; `$remove$` takes an item away. */
export function setItem(area: 'localStorage' | 'sessionStorage', key = '', value = ''): void {
  const stored = Object.hasOwn(LITERALS, value) ? LITERALS[value] : VALUES.test(value) ? value : undefined;
  if (key === '') return;
  if (value === '$remove$') window[area].removeItem(key);
  else if (stored !== undefined) window[area].setItem(key, stored);
}
