import { readHost } from '../egress/host-name.js';

const KEPT_MAX = 100;
const SHOWN_MAX = 5;

/** The hosts that a local page requested and was refused, with the reasons. */
export class RefusedHosts {
  readonly #reasons = new Map<string, string>();

  add(host: string, port: number, reason: string): void {
    // The page chooses the name, and the user may paste it into a shell.
    if (readHost(host).kind === 'nonsense' || this.#reasons.size >= KEPT_MAX) return;
    const name = port === 80 || port === 443 ? host : `${host}:${port}`;
    if (!this.#reasons.has(name)) this.#reasons.set(name, reason);
  }

  /** Describes them in one line, with the flags that allow them; null if there are none. */
  describe(): string | null {
    const shown = [...this.#reasons].slice(0, SHOWN_MAX);
    if (shown.length === 0) return null;
    const more = this.#reasons.size > SHOWN_MAX ? ` and ${this.#reasons.size - SHOWN_MAX} more` : '';
    const flags = shown.map(([name]) => `--allow-network ${name}`).join(' ');
    return `The local page was refused: ${shown.map(([name, reason]) => `${name} (${reason})`).join(', ')}${more}. To allow: ${flags}`;
  }
}
