import type { Readable, Writable } from 'node:stream';
import { classifyMessage, HEAD_BYTES, type MessageClass } from './classify-message.js';

/** One message of the DevTools protocol. */
export interface CdpMessage {
  id?: number;
  method?: string;
  sessionId?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: unknown;
}

/** What is done with what comes through the pipe. */
export interface PipeReader {
  /** Called in a turn of its own for each message, in order; a listener's awaits thus settle between two messages. */
  deliver(message: CdpMessage, bytes: number): void;
  /** Asked for each large event before it is decoded. @returns false when it is to be dropped */
  admits(sessionId: string, bytes: number): boolean;
  closed(): void;
  /** The pipe is of no more use, and nothing more is read from it. Called once. */
  failed(why: string): void;
}

/** From so many bytes on a message is put together in one place, instead of from parts that would be held twice. */
const LARGE_BYTES = 1024 * 1024;
/** From so many bytes on an event's session is asked for it. */
const EVENT_ASKED_BYTES = 4 * 1024;
const PAUSED_AT_BYTES = 1024 * 1024;
/** How a picture's answer begins: one long base64 string that needs no parser. */
const DATA_ANSWER = /^\{"id":\d+,"result":\{"data":"/;
const SESSION_AT_END = /"sessionId":"([0-9A-F]+)"\}$/;
const SESSION_TAIL_BYTES = 64;
const QUOTE = 0x22;

interface Whole {
  content: Buffer;
  fate: MessageClass;
}

/**
 * Chromium's --remote-debugging-pipe: messages end in NUL. What a page writes into them may be as long as it likes, so a message is judged by
 * its first bytes and by its length before any of it is decoded; and nothing that happens here throws into the process.
 */
export class CdpPipe {
  private parts: Buffer[] = [];
  private bytes = 0;
  /** The message under way, once it is large. */
  private room: Buffer | null = null;
  /** Of the message under way; null until enough of it has come. */
  private fate: MessageClass | null = null;
  private readonly waiting: Whole[] = [];
  private waitingBytes = 0;
  private over = false;

  constructor(
    private readonly output: Writable,
    private readonly input: Readable,
    private readonly reader: PipeReader,
  ) {
    input.on('data', (chunk: Buffer) => this.guard(() => this.take(chunk)));
    input.on('close', () => this.reader.closed());
    // A dying browser breaks the pipe: `close` tells it.
    input.on('error', () => {});
    output.on('error', () => {});
  }

  send(message: CdpMessage): void {
    if (this.output.writable) this.output.write(`${JSON.stringify(message)}\0`);
  }

  private guard(work: () => void): void {
    if (this.over) return;
    try {
      work();
    } catch (error) {
      this.fail(`a message of the browser could not be handled: ${(error as Error).message}`);
    }
  }

  private fail(why: string): void {
    if (this.over) return;
    this.over = true;
    this.forget();
    this.waiting.length = 0;
    // What still comes is let pass, unread.
    this.input.resume();
    this.reader.failed(why);
  }

  private take(chunk: Buffer): void {
    for (let start = 0; start < chunk.length && !this.over; ) {
      const end = chunk.indexOf(0, start);
      this.add(chunk.subarray(start, end === -1 ? chunk.length : end));
      if (end === -1) return;
      this.finish();
      start = end + 1;
    }
  }

  private add(part: Buffer): void {
    this.bytes += part.length;
    if (this.fate?.kept === false) return;
    if (this.room === null) this.parts.push(part);
    else if (this.bytes <= this.room.length) part.copy(this.room, this.bytes - part.length);
    if (this.fate === null && this.bytes >= HEAD_BYTES) this.judge();
    this.checkSize();
  }

  private judge(): MessageClass {
    if (this.parts.length > 1) this.parts = [Buffer.concat(this.parts)];
    this.fate = classifyMessage(this.parts[0]?.toString('latin1', 0, HEAD_BYTES) ?? '');
    if (!this.fate.kept) this.parts = [];
    return this.fate;
  }

  private checkSize(): void {
    const { fate } = this;
    if (fate === null || !fate.kept) return;
    if (this.bytes > fate.maxBytes) {
      this.fate = { ...fate, kept: false };
      this.parts = [];
      this.room = null;
      if (fate.name === 'answer') this.fail(`an answer of the browser is longer than ${fate.maxBytes} bytes`);
    } else if (this.room === null && this.bytes > LARGE_BYTES) {
      // Memory that is never written to is never taken.
      this.room = Buffer.allocUnsafeSlow(fate.maxBytes);
      let at = 0;
      for (const part of this.parts) at += part.copy(this.room, at);
      this.parts = [];
    }
  }

  private finish(): void {
    if (this.over) return;
    const fate = this.fate ?? this.judge();
    const content = this.room?.subarray(0, this.bytes) ?? (this.parts.length === 1 ? this.parts[0] : Buffer.concat(this.parts));
    this.forget();
    if (!fate.kept || content === undefined || content.length === 0) return;
    this.waiting.push({ content, fate });
    this.waitingBytes += content.length;
    if (this.waitingBytes >= PAUSED_AT_BYTES) this.input.pause();
    setImmediate(() => this.guard(() => this.deliverNext()));
  }

  private forget(): void {
    this.parts = [];
    this.bytes = 0;
    this.room = null;
    this.fate = null;
  }

  private deliverNext(): void {
    const next = this.waiting.shift();
    if (next === undefined) return;
    const { content, fate } = next;
    this.waitingBytes -= content.length;
    if (this.waitingBytes < PAUSED_AT_BYTES && this.input.isPaused()) this.input.resume();
    if (fate.name === 'event' && content.length >= EVENT_ASKED_BYTES && !this.reader.admits(sessionOf(content), content.length)) return;
    this.reader.deliver(decode(content), content.length);
  }
}

/** Chromium puts the session behind all that a page may have written. */
function sessionOf(content: Buffer): string {
  return SESSION_AT_END.exec(content.toString('latin1', Math.max(0, content.length - SESSION_TAIL_BYTES)))?.[1] ?? '';
}

function decode(content: Buffer): CdpMessage {
  const start = content.length < LARGE_BYTES ? undefined : DATA_ANSWER.exec(content.toString('latin1', 0, HEAD_BYTES))?.[0].length;
  if (start === undefined) return JSON.parse(content.toString('utf8')) as CdpMessage;
  const end = content.indexOf(QUOTE, start);
  const message = JSON.parse(`${content.toString('latin1', 0, start)}${content.toString('utf8', end)}`) as CdpMessage;
  return { ...message, result: { ...message.result, data: content.toString('latin1', start, end) } };
}
