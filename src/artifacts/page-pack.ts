/**
 * The files of one request as one encrypted file. Its key is kept elsewhere, with the secrets of the job: once that is deleted, whatever is
 * left of the file cannot be read.
 */
import {
  type Cipher,
  createCipheriv,
  createDecipheriv,
  createHash,
  type Decipher,
  type Hash,
  randomBytes,
} from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { asStorageError } from './storage-error.js';

/** AES in counter mode can be read from any block. */
const CIPHER = 'aes-256-ctr';
const KEY_BYTES = 32;
const BLOCK_BYTES = 16;
const MODE = 0o600;
const CHUNK_BYTES = 256 * 1024;

/** Content that can be read several times. */
export interface PackSource {
  bytes: number;
  /** SHA-256 in hex. */
  sha256: string;
  read(): Readable;
}

/** A pack that is being received. Its file has no name, so that not even a killed process leaves it behind. */
export class NewPack implements AsyncDisposable, PackSource {
  /** Key and first counter block, in base64. */
  readonly key: string;
  bytes = 0;
  readonly #file: FileHandle;
  readonly #cipher: Cipher;
  readonly #hash: Hash = createHash('sha256');
  #sha256: string | null = null;

  /**
   * @param dir created if missing
   * @throws CaptureError `internal_error` (503) if the directory cannot be written to
   */
  static async open(dir: string): Promise<NewPack> {
    const path = join(dir, randomBytes(16).toString('hex'));
    try {
      await mkdir(dir, { recursive: true, mode: 0o700 });
      const file = await open(path, constants.O_CREAT | constants.O_EXCL | constants.O_RDWR, MODE);
      await unlink(path);
      return new NewPack(file);
    } catch (error) {
      throw asStorageError(error);
    }
  }

  private constructor(file: FileHandle) {
    this.#file = file;
    const secret = randomBytes(KEY_BYTES + BLOCK_BYTES);
    this.key = secret.toString('base64');
    this.#cipher = createCipheriv(CIPHER, secret.subarray(0, KEY_BYTES), secret.subarray(KEY_BYTES));
  }

  /** @throws CaptureError `internal_error` (503) for a full disk */
  async write(chunk: Buffer): Promise<void> {
    const sealed = this.#cipher.update(chunk);
    this.#hash.update(sealed);
    try {
      for (let at = 0; at < sealed.length; ) at += (await this.#file.write(sealed, at)).bytesWritten;
    } catch (error) {
      throw asStorageError(error);
    }
    this.bytes += chunk.length;
  }

  /** To be read once everything is written. */
  get sha256(): string {
    this.#sha256 ??= this.#hash.digest('hex');
    return this.#sha256;
  }

  read(): Readable {
    return this.#file.createReadStream({ start: 0, autoClose: false });
  }

  /** A part of what was written, which can be read as often as wanted. */
  async *content(start = 0, bytes = this.bytes): AsyncGenerator<Buffer> {
    const decipher = decipherAt(this.key, start);
    const end = start + bytes;
    for (let at = start; at < end; ) {
      const { buffer, bytesRead } = await this.#file.read(Buffer.alloc(Math.min(CHUNK_BYTES, end - at)), {
        position: at,
      });
      if (bytesRead === 0) throw new Error('The file of a request is shorter than what was written.');
      yield decipher.update(buffer.subarray(0, bytesRead));
      at += bytesRead;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }
}

/** Decrypts a stored pack from an offset on. @param key of NewPack */
export function unpack(sealed: Readable, key: string, at: number): Readable {
  const decipher = decipherAt(key, at);
  sealed.once('error', (error) => decipher.destroy(error));
  decipher.once('close', () => sealed.destroy());
  return sealed.pipe(decipher);
}

function decipherAt(key: string, at: number): Decipher {
  const secret = Buffer.from(key, 'base64');
  const decipher = createDecipheriv(CIPHER, secret.subarray(0, KEY_BYTES), counterAt(secret.subarray(KEY_BYTES), at));
  decipher.update(Buffer.alloc(at % BLOCK_BYTES));
  return decipher;
}

/** The counter of the block that an offset is in. */
function counterAt(first: Buffer, at: number): Buffer {
  const counter = (BigInt(`0x${first.toString('hex')}`) + BigInt(Math.floor(at / BLOCK_BYTES))) % (1n << 128n);
  return Buffer.from(counter.toString(16).padStart(2 * BLOCK_BYTES, '0'), 'hex');
}
