import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Every remote end, as `tcp 127.0.0.1:80`, that the browsers under this process talk to now (Linux; elsewhere none is seen). */
export function remoteEndsOfBrowsers(): string[] {
  const inodes = new Set(descendants(process.pid).flatMap(socketInodes));
  return ['tcp', 'tcp6', 'udp', 'udp6'].flatMap((table) =>
    connected(table)
      .filter((row) => inodes.has(row.inode))
      .map((row) => row.remote),
  );
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

function connected(table: string): { remote: string; inode: string }[] {
  const rows = read(`/proc/net/${table}`).split('\n').slice(1);
  return rows.flatMap((row) => {
    const [, , remote = '', , , , , , , inode = ''] = row.trim().split(/\s+/);
    const [address = '', port = ''] = remote.split(':');
    return /^0*$/.test(port) ? [] : [{ remote: `${table} ${readable(address)}:${Number.parseInt(port, 16)}`, inode }];
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
