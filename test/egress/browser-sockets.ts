import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { descendantsOf } from '../fixtures/process-tree.js';

/** Watches whom the browsers under this process talk to (Linux; elsewhere nothing is seen). */
export class BrowserSockets {
  /** As `tcp 127.0.0.1:80`: every remote end so far. */
  readonly ends = new Set<string>();
  #known = new Set<string>();

  /** Looks once more. Whose a socket is costs a walk over all processes, and does not change: it is asked for new ones only. */
  look(): void {
    const rows = ['tcp', 'tcp6', 'udp', 'udp6'].flatMap(connected);
    const fresh = rows.filter(({ key }) => !this.#known.has(key));
    this.#known = new Set(rows.map(({ key }) => key));
    if (fresh.length === 0) return;
    const inodes = new Set(descendantsOf(process.pid).flatMap(socketInodes));
    for (const { inode, remote } of fresh) if (inodes.has(inode)) this.ends.add(remote);
  }
}

function socketInodes(pid: number): string[] {
  const dir = `/proc/${pid}/fd`;
  const links = attempt(() => readdirSync(dir), []).map((fd) => attempt(() => readlinkSync(`${dir}/${fd}`), ''));
  return links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []);
}

/** @returns the sockets of a table that have a remote end; the key identifies a socket with that end */
function connected(table: string): { remote: string; inode: string; key: string }[] {
  const rows = attempt(() => readFileSync(`/proc/net/${table}`, 'utf8'), '')
    .split('\n')
    .slice(1);
  return rows.flatMap((row) => {
    const [, , remote = '', , , , , , , inode = ''] = row.trim().split(/\s+/);
    const [address = '', port = ''] = remote.split(':');
    // A connection that nobody has accepted yet, or that its owner has closed, is nobody's: inode 0.
    if (/^0*$/.test(port) || inode === '0') return [];
    // The kernel writes IPv4 addresses as one little-endian word.
    const readable = address.length === 8 ? [...Buffer.from(address, 'hex')].reverse().join('.') : address;
    const end = `${table} ${readable}:${Number.parseInt(port, 16)}`;
    return [{ remote: end, inode, key: `${inode} ${end}` }];
  });
}

/** Processes end while they are looked at. */
function attempt<Value>(look: () => Value, otherwise: Value): Value {
  try {
    return look();
  } catch {
    return otherwise;
  }
}
