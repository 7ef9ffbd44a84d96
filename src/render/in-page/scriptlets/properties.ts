import { patternTest, type Test } from './pattern.js';

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

/** Implements `set-constant`: a property always has one of a few values, whatever the page sets. */
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

/** Implements `abort-on-property-read`: a script that reads the property is aborted. */
export function abortOnPropertyRead(chain = ''): void {
  trapAt(chain, { read: abort });
}

/** Implements `abort-on-property-write`: a script that sets the property is aborted. */
export function abortOnPropertyWrite(chain = ''): void {
  trapAt(chain, { write: abort });
}

/** Implements `abort-current-script`: an inline script that accesses the property is aborted if its source matches the pattern. */
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

/** Functions called when a property is read or written. Each may throw. */
interface Trap {
  /** @returns the value to read instead of the actual one */
  read?: (value: unknown) => unknown;
  /** @returns the value to store */
  write?: (value: unknown, former: unknown) => unknown;
}

/** Sets a trap at the end of a chain such as `ads.config.enabled`, even if its objects are created later. */
function trapAt(chain: string, trap: Trap): void {
  const names = chain.replace(/^(?:window|self|globalThis)\./, '').split('.');
  if (names.every((name) => name !== '')) descend(window, names, trap);
}

function descend(owner: object, [name = '', ...rest]: string[], trap: Trap): void {
  if (rest.length === 0) {
    setTrap(owner, name, trap);
    return;
  }
  const value: unknown = Reflect.get(owner, name);
  if (isObject(value)) descend(value, rest, trap);
  else if (value === undefined || value === null) setTrap(owner, name, { write: (later) => passOn(later, rest, trap) });
}

function passOn(value: unknown, rest: string[], trap: Trap): unknown {
  if (isObject(value)) descend(value, rest, trap);
  return value;
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

function setTrap(owner: object, name: string, { read, write }: Trap): void {
  const former = descriptorOf(owner, name);
  const own = Object.getOwnPropertyDescriptor(owner, name);
  if ((own !== undefined && !own.configurable) || !Object.isExtensible(owner)) return;
  let value: unknown = former?.value;
  const current = (self: unknown) => (former?.get === undefined ? value : former.get.call(self));
  Object.defineProperty(owner, name, {
    configurable: true,
    enumerable: former?.enumerable ?? true,
    get() {
      const there = current(this);
      return read === undefined ? there : read(there);
    },
    set(given: unknown) {
      const kept = write === undefined ? given : write(given, current(this));
      if (former?.set === undefined) value = kept;
      else former.set.call(this, kept);
    },
  });
}

function descriptorOf(owner: object, name: string): PropertyDescriptor | undefined {
  for (let at: object | null = owner; at !== null; at = Object.getPrototypeOf(at)) {
    const descriptor = Object.getOwnPropertyDescriptor(at, name);
    if (descriptor !== undefined) return descriptor;
  }
  return undefined;
}
