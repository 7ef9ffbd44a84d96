import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const HOSTS_FILE = process.platform === 'win32' ? join('C:', 'Windows', 'System32', 'drivers', 'etc', 'hosts') : '/etc/hosts';

/** Whether the machine's hosts file contains a name. Reloaded when it changes. */
export class SystemHosts {
  readonly #file: string;
  #names = new Set<string>();
  #readAt = -1;

  constructor(file = HOSTS_FILE) {
    this.#file = file;
  }

  has(name: string): boolean {
    const changedAt = statSync(this.#file, { throwIfNoEntry: false })?.mtimeMs ?? -1;
    if (changedAt !== this.#readAt) {
      this.#names = changedAt < 0 ? new Set() : readNames(this.#file);
      this.#readAt = changedAt;
    }
    return this.#names.has(name.toLowerCase());
  }
}

function readNames(file: string): Set<string> {
  const lines = readFileSync(file, 'utf8').toLowerCase().split('\n');
  return new Set(lines.flatMap((line) => (line.split('#', 1)[0] ?? '').trim().split(/\s+/).slice(1)));
}
