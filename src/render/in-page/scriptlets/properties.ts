import { patternTest, type Test } from './pattern.js';
import { trapAt } from './trap.js';

const noop = () => {};

/** The only values that a list may set. */
const CONSTANTS: Record<string, () => unknown> = {
  undefined: () => undefined,
  null: () => null,
  true: () => true,
  false: () => false,
  '': () => '',
  emptyStr: () => '',
  yes: () => 'yes',
  no: () => 'no',
  emptyObj: () => ({}),
  '{}': () => ({}),
  emptyArr: () => [],
  '[]': () => [],
  noopFunc: () => noop,
  trueFunc: () => () => true,
  falseFunc: () => () => false,
  throwFunc: () => () => {
    throw new Error();
  },
  noopCallbackFunc: () => () => noop,
  noopPromiseResolve: () => () => Promise.resolve(new Response('{}')),
  noopPromiseReject: () => () => Promise.reject(),
};
const NUMBER_MAX = 32_767;

/** `set-constant`: a property has one of a few values, whatever the page sets it to. */
export function setConstant(chain = '', value = ''): void {
  const constant = constantOf(value);
  if (constant === null) return;
  trapAt(chain, { read: () => constant.value, write: () => constant.value });
}

function constantOf(name: string): { value: unknown } | null {
  const make = Object.hasOwn(CONSTANTS, name) ? CONSTANTS[name] : undefined;
  if (make !== undefined) return { value: make() };
  const number = /^-?\d+(?:\.\d+)?$/.test(name) ? Number(name) : Number.NaN;
  return Math.abs(number) <= NUMBER_MAX ? { value: number } : null;
}

/** `abort-on-property-read`: a script that reads the property ends there. */
export function abortOnPropertyRead(chain = ''): void {
  trapAt(chain, { read: abort });
}

/** `abort-on-property-write` */
export function abortOnPropertyWrite(chain = ''): void {
  trapAt(chain, { write: abort });
}

/** `abort-current-script`: an inline script that touches the property ends there, if its source fits the pattern. */
export function abortCurrentScript(chain = '', search = ''): void {
  const fits = patternTest(search);
  const check = (value: unknown) => {
    if (isCurrent(fits)) abort();
    return value;
  };
  trapAt(chain, { read: check, write: check });
}

function isCurrent(fits: Test): boolean {
  const script = document.currentScript;
  return script instanceof HTMLScriptElement && script.src === '' && fits(script.textContent ?? '');
}

function abort(): never {
  throw new ReferenceError(Math.random().toString(36).slice(2));
}
