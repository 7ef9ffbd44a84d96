import { wrap } from './calls.js';
import { patternTest, type Test } from './pattern.js';

const BODIES: Record<string, string> = { emptyObj: '{}', emptyArr: '[]', emptyStr: '', '': '{}' };

/** Implements `prevent-fetch`: matching requests are not made, and get an empty response. */
export function preventFetch(wanted = '', body = '', type = ''): void {
  const fits = requestTest(wanted);
  const text = BODIES[body];
  if (fits === null || text === undefined) return;
  wrap(window, 'fetch', (call, given) => {
    const [target, init] = given as [unknown, RequestInit | undefined];
    const request = target instanceof Request ? target : null;
    const url = absolute(request?.url ?? String(target));
    if (!fits({ url, method: init?.method ?? request?.method ?? 'GET' })) return call(...given);
    const response = new Response(text, { status: 200, statusText: 'OK', headers: { 'content-type': 'application/json' } });
    Object.defineProperties(response, { url: { value: url }, type: { value: type === '' ? 'basic' : type } });
    return Promise.resolve(response);
  });
}

/** Implements `prevent-xhr`, which does the same for XMLHttpRequest. */
export function preventXhr(wanted = ''): void {
  const fits = requestTest(wanted);
  if (fits === null) return;
  const refused = new WeakMap<XMLHttpRequest, string>();
  const { prototype } = XMLHttpRequest;
  const { open, send } = prototype;
  prototype.open = new Proxy(open, {
    apply(_, self: XMLHttpRequest, given: [string, string | URL]) {
      const [method, url] = given;
      refused.delete(self);
      if (fits({ url: absolute(String(url)), method: String(method) })) refused.set(self, absolute(String(url)));
      return Reflect.apply(open, self, given);
    },
  });
  prototype.send = new Proxy(send, {
    apply(_, self: XMLHttpRequest, given: [Document | XMLHttpRequestBodyInit | null]) {
      const url = refused.get(self);
      if (url === undefined) return Reflect.apply(send, self, given);
      queueMicrotask(() => answer(self, url));
    },
  });
}

function answer(request: XMLHttpRequest, url: string): void {
  const { responseType } = request;
  const response =
    responseType === 'json' ? {} : responseType === 'arraybuffer' ? new ArrayBuffer(0) : responseType === 'blob' ? new Blob() : '';
  const answered = { readyState: 4, status: 200, statusText: 'OK', response, responseURL: url, responseText: '' };
  for (const [name, value] of Object.entries(answered)) Object.defineProperty(request, name, { value, configurable: true });
  request.dispatchEvent(new Event('readystatechange'));
  for (const name of ['load', 'loadend']) request.dispatchEvent(new ProgressEvent(name));
}

interface Asked {
  url: string;
  method: string;
}

/** Parses `pattern` or `url:pattern method:pattern`; null if it is empty or has unsupported conditions. */
function requestTest(wanted: string): ((asked: Asked) => boolean) | null {
  const text = wanted.trim();
  if (text === '') return null;
  const tests: [keyof Asked, Test][] = [];
  for (const part of text.split(/\s+/)) {
    const [, name = 'url', pattern = part] = /^([a-z]+):(?!\/\/)(.*)$/i.exec(part) ?? [];
    if (name !== 'url' && name !== 'method') return null;
    tests.push([name, patternTest(pattern)]);
  }
  return (asked) => tests.every(([name, test]) => test(asked[name]));
}

function absolute(url: string): string {
  try {
    return new URL(url, document.baseURI).href;
  } catch {
    return url;
  }
}
