/** What happens at a property; each may throw. */
export interface Trap {
  /** In place of the value that the property has. */
  read?: (value: unknown) => unknown;
  /** @returns the value to keep */
  write?: (value: unknown, former: unknown) => unknown;
}

/** Sets a trap at the end of a chain such as `ads.config.enabled`, also if the objects before it come later. */
export function trapAt(chain: string, trap: Trap): void {
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
