import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Category } from './engines.js';

/** Metadata of one fetched list. */
export interface KeptList {
  url: string;
  file: string;
  /** For a list from npm, the version of the package. */
  etag: string | null;
  rules: number;
  /** The list's source: its own URL, or the npm package. */
  origin: 'address' | 'package';
  /** When its text last changed, in Unix ms. */
  fetchedAt: number;
  /** When its URL last confirmed that it is current, in Unix ms. */
  checkedAt: number;
}

/** Metadata of one engine built from built-in rules and lists. */
export interface KeptEngine {
  file: string;
  /** A key of the engine's inputs. An engine with another key must be rebuilt. */
  key: string;
  /** The CRC-32 of the file. */
  crc: number;
}

export interface Manifest {
  lists: Record<string, KeptList | undefined>;
  engines: Partial<Record<Category, KeptEngine>>;
}

const MANIFEST = 'lists.json';

/** The directory of lists and engines in the data directory. Files are written atomically and named after their content. */
export class ListStore {
  private constructor(readonly dir: string) {}

  static async open(dataDir: string): Promise<ListStore> {
    const dir = join(dataDir, 'lists');
    await mkdir(dir, { recursive: true, mode: 0o700 });
    return new ListStore(dir);
  }

  /** An unreadable manifest counts as empty, since everything can be fetched again. */
  async readManifest(): Promise<Manifest> {
    try {
      const parsed = JSON.parse(await readFile(join(this.dir, MANIFEST), 'utf8')) as Partial<Manifest>;
      return { lists: parsed.lists ?? {}, engines: parsed.engines ?? {} };
    } catch {
      return { lists: {}, engines: {} };
    }
  }

  /** When any process last changed the manifest, in Unix ms; 0 if there is none. */
  async changedAt(): Promise<number> {
    return await stat(join(this.dir, MANIFEST)).then(
      (info) => info.mtimeMs,
      () => 0,
    );
  }

  /** Completes a change, and removes unused files. */
  async writeManifest(manifest: Manifest): Promise<void> {
    await this.#put(MANIFEST, Buffer.from(JSON.stringify(manifest, null, 1)));
    const named = new Set([
      MANIFEST,
      ...[manifest.lists, manifest.engines].flatMap((kept) => Object.values(kept).map((one) => one?.file)),
    ]);
    for (const name of await readdir(this.dir)) {
      if (/\.(txt|bin)$/.test(name) && !named.has(name)) await rm(join(this.dir, name), { force: true });
    }
  }

  /** @returns the file's name */
  async save(name: string, extension: 'txt' | 'bin', content: Uint8Array): Promise<string> {
    const file = `${name}-${createHash('sha256').update(content).digest('hex').slice(0, 12)}.${extension}`;
    await this.#put(file, content);
    return file;
  }

  /** @returns null if the file is missing */
  async read(file: string): Promise<Buffer | null> {
    return await readFile(join(this.dir, file)).catch(() => null);
  }

  async #put(file: string, content: Uint8Array): Promise<void> {
    const temporary = join(this.dir, `.${randomUUID()}`);
    try {
      await writeFile(temporary, content, { mode: 0o600, flush: true });
      await rename(temporary, join(this.dir, file));
    } finally {
      await rm(temporary, { force: true });
    }
  }
}
