import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

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
    const inodes = new Set(descendants(process.pid).flatMap(socketInodes));
    for (const { inode, remote } of fresh) if (inodes.has(inode)) this.ends.add(remote);
  }
}

function descendants(root: number): number[] {
  const parents = new Map<number, number>();
  for (const name of list('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = read(`/proc/${name}/stat`);
    parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 4).split(' ', 1)[0]));
  }
  const isBelow = (pid: number | undefined): boolean =>
    pid !== undefined && pid > 1 && (parents.get(pid) === root || isBelow(parents.get(pid)));
  return [...parents.keys()].filter(isBelow);
}

function socketInodes(pid: number): string[] {
  return list(`/proc/${pid}/fd`).flatMap((fd) => /^socket:\[(\d+)\]$/.exec(link(`/proc/${pid}/fd/${fd}`))?.[1] ?? []);
}

interface Connected {
  remote: string;
  inode: string;
  /** Identifies this socket with this remote end. */
  key: string;
}

function connected(table: string): Connected[] {
  const rows = read(`/proc/net/${table}`).split('\n').slice(1);
  return rows.flatMap((row) => {
    const [, , remote = '', , , , , , , inode = ''] = row.trim().split(/\s+/);
    const [address = '', port = ''] = remote.split(':');
    // A connection that nobody has accepted yet, or that its owner has closed, is nobody's: inode 0.
    if (/^0*$/.test(port) || inode === '0') return [];
    const end = `${table} ${readable(address)}:${Number.parseInt(port, 16)}`;
    return [{ remote: end, inode, key: `${inode} ${end}` }];
  });
}

/** The kernel writes IPv4 addresses as one little-endian word. */
function readable(hex: string): string {
  return hex.length === 8
    ? (hex.match(/../g) ?? [])
        .reverse()
        .map((byte) => Number.parseInt(byte, 16))
        .join('.')
    : hex;
}

function list(dir: string): string[] {
  return attempt(() => readdirSync(dir), []);
}

function read(file: string): string {
  return attempt(() => readFileSync(file, 'utf8'), '');
}

function link(file: string): string {
  return attempt(() => readlinkSync(file), '');
}

/** Processes end while they are looked at. */
function attempt<Value>(look: () => Value, otherwise: Value): Value {
  try {
    return look();
  } catch {
    return otherwise;
  }
}
