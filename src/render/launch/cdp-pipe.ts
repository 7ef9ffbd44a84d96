import type { Readable, Writable } from 'node:stream';
import {
  ANSWER_MAX_BYTES,
  answerLimit,
  classifyMessage,
  HEAD_BYTES,
  type MessageClass,
  tooLongMessage,
} from './message-limits.js';

/** One message of the DevTools protocol. */
export interface CdpMessage {
  id?: number;
  method?: string;
  sessionId?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: unknown;
}

/** Handlers of the pipe's messages. */
interface PipeReader {
  /** Called for each message, in order, in a separate turn of the event loop, so that promises settle between two messages. */
  deliver(message: CdpMessage, bytes: number): void;
  /** Called for each large event before it is decoded. @returns false to drop it */
  admits(sessionId: string, bytes: number): boolean;
  closed(): void;
  /** Called once, when the pipe has failed. Nothing more is read from it. */
  failed(reason: string): void;
}

/** Larger messages are assembled in one buffer, since joining parts would take twice the memory. */
const LARGE_BYTES = 1024 * 1024;
/** Larger events are offered to their session's rules before they are decoded. */
const EVENT_ASKED_BYTES = 4 * 1024;
const PAUSED_AT_BYTES = 1024 * 1024;
/** Matches the beginning of a screenshot's result: one long base64 string that needs no JSON parser. */
const DATA_ANSWER = /^\{"id":\d+,"result":\{"data":"/;
const SESSION_AT_END = /"sessionId":"([0-9A-F]+)"\}$/;
const SESSION_TAIL_BYTES = 64;
const QUOTE = 0x22;

/**
 * Chromium's --remote-debugging-pipe, whose messages end in NUL. Pages control the length of parts of them, so a message is
 * judged by its first bytes and its length before it is decoded. No error here is thrown into the process.
 */
export class CdpPipe {
  #parts: Buffer[] = [];
  #bytes = 0;
  /** The buffer of the current message, once it is large. */
  #buffer: Buffer | null = null;
  /** The verdict on the current message; null until enough of it has been received. */
  #verdict: MessageClass | null = null;
  /** The end of the current message, if it is an answer that is too long. */
  #tail: Buffer | null = null;
  /** Whether that answer reports an exception. */
  #threw = false;
  /** The length of the messages that wait for their turn. */
  #waitingBytes = 0;
  #over = false;
  /** The limits, in bytes, of pending answers that are below the usual one, by command id. */
  readonly #limits = new Map<number, number>();
  /** The sessions that read the console of their page. */
  readonly #consoleReaders = new Set<string>();
  /** Text that has not been written yet. */
  #outgoing = '';

  constructor(
    private readonly output: Writable,
    private readonly input: Readable,
    private readonly reader: PipeReader,
  ) {
    input.on('data', (chunk: Buffer) => this.#guard(() => this.#take(chunk)));
    input.on('close', () => this.reader.closed());
    // A crashing browser breaks the pipe, which `close` reports.
    input.on('error', () => {});
    output.on('error', () => {});
  }

  /** Messages of one turn of the event loop are sent in one write, since each write wakes Chromium's reading thread. */
  send(message: CdpMessage): void {
    const limit = answerLimit(message);
    if (message.id !== undefined && limit < ANSWER_MAX_BYTES) this.#limits.set(message.id, limit);
    if (this.#outgoing === '') process.nextTick(() => this.#flush());
    this.#outgoing += `${JSON.stringify(message)}\0`;
  }

  /** Whether a session receives the messages and exceptions of its page's console, which are dropped otherwise. */
  readConsole(sessionId: string, reads: boolean): void {
    if (reads) this.#consoleReaders.add(sessionId);
    else this.#consoleReaders.delete(sessionId);
  }

  #flush(): void {
    const text = this.#outgoing;
    this.#outgoing = '';
    if (this.output.writable) this.output.write(text);
  }

  #guard(work: () => void): void {
    if (this.#over) return;
    try {
      work();
    } catch (error) {
      this.#fail(`a message of the browser could not be handled: ${(error as Error).message}`);
    }
  }

  #fail(reason: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#forget();
    // Further data is discarded.
    this.input.resume();
    this.reader.failed(reason);
  }

  #take(chunk: Buffer): void {
    for (let start = 0; start < chunk.length && !this.#over; ) {
      const end = chunk.indexOf(0, start);
      this.#add(chunk.subarray(start, end === -1 ? chunk.length : end));
      if (end === -1) return;
      this.#finish();
      start = end + 1;
    }
  }

  #add(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#tail !== null) {
      this.#threw ||= containsException([this.#tail, part]);
      this.#tail = endOf([this.#tail, part]);
    }
    if (this.#verdict?.kept === false) return;
    if (this.#buffer === null) this.#parts.push(part);
    else if (this.#bytes <= this.#buffer.length) part.copy(this.#buffer, this.#bytes - part.length);
    if (this.#verdict === null && this.#bytes >= HEAD_BYTES) this.#judge();
    this.#checkSize(part);
  }

  #judge(): MessageClass {
    if (this.#parts.length > 1) this.#parts = [Buffer.concat(this.#parts)];
    const head = this.#parts[0]?.toString('latin1', 0, HEAD_BYTES) ?? '';
    this.#verdict = classifyMessage(
      head,
      (id) => this.#limits.get(id) ?? ANSWER_MAX_BYTES,
      this.#consoleReaders.size > 0,
    );
    if (this.#verdict.id !== null) this.#limits.delete(this.#verdict.id);
    if (!this.#verdict.kept) this.#parts = [];
    return this.#verdict;
  }

  #checkSize(part: Buffer): void {
    const verdict = this.#verdict;
    if (verdict === null || !verdict.kept) return;
    if (this.#bytes > verdict.maxBytes) {
      if (verdict.id !== null) {
        const soFar = this.#buffer === null ? this.#parts : [this.#buffer.subarray(0, this.#bytes - part.length), part];
        this.#threw = containsException(soFar);
        this.#tail = endOf(soFar);
      }
      this.#parts = [];
      this.#buffer = null;
      this.#verdict = { ...verdict, kept: false };
    } else if (this.#buffer === null && this.#bytes > LARGE_BYTES) {
      // The system allocates memory only when it is written to.
      this.#buffer = Buffer.allocUnsafeSlow(verdict.maxBytes);
      let at = 0;
      for (const part of this.#parts) at += part.copy(this.#buffer, at);
      this.#parts = [];
    }
  }

  #finish(): void {
    if (this.#over) return;
    const verdict = this.#verdict ?? this.#judge();
    const content =
      this.#tail === null
        ? this.#wholeMessage(verdict)
        : tooLong(verdict, { sessionId: sessionOf(this.#tail), threw: this.#threw });
    this.#forget();
    if (content === null || content.length === 0) return;
    if (verdict.isConsole && !this.#consoleReaders.has(sessionOf(content))) return;
    this.#waitingBytes += content.length;
    if (this.#waitingBytes >= PAUSED_AT_BYTES) this.input.pause();
    setImmediate(() => this.#guard(() => this.#deliver(content, verdict)));
  }

  #wholeMessage({ kept }: MessageClass): Buffer | null {
    if (!kept) return null;
    return this.#buffer?.subarray(0, this.#bytes) ?? Buffer.concat(this.#parts);
  }

  #forget(): void {
    this.#tail = null;
    this.#threw = false;
    this.#parts = [];
    this.#bytes = 0;
    this.#buffer = null;
    this.#verdict = null;
  }

  #deliver(content: Buffer, { id }: MessageClass): void {
    this.#waitingBytes -= content.length;
    if (this.#waitingBytes < PAUSED_AT_BYTES && this.input.isPaused()) this.input.resume();
    if (id === null && content.length >= EVENT_ASKED_BYTES && !this.reader.admits(sessionOf(content), content.length))
      return;
    this.reader.deliver(decode(content), content.length);
  }
}

/** Chromium puts the session id at the end of a message, after all content of a page. */
function sessionOf(content: Buffer): string {
  return SESSION_AT_END.exec(content.toString('latin1', Math.max(0, content.length - SESSION_TAIL_BYTES)))?.[1] ?? '';
}

function endOf(parts: readonly Buffer[]): Buffer {
  return Buffer.concat(parts.map((part) => part.subarray(-SESSION_TAIL_BYTES))).subarray(-SESSION_TAIL_BYTES);
}

/** In a page's string, the quotes would be escaped. */
const EXCEPTION = '"exceptionDetails":{';

function containsException(parts: readonly Buffer[]): boolean {
  return Buffer.concat(parts).includes(EXCEPTION);
}

/** The answer that replaces one that is too long, and makes its command fail. */
function tooLong({ id, maxBytes }: MessageClass, { sessionId, threw }: { sessionId: string; threw: boolean }): Buffer {
  const error = { message: tooLongMessage(maxBytes, threw) };
  return Buffer.from(JSON.stringify({ id, error, sessionId: sessionId || undefined }));
}

function decode(content: Buffer): CdpMessage {
  const start =
    content.length < LARGE_BYTES ? undefined : DATA_ANSWER.exec(content.toString('latin1', 0, HEAD_BYTES))?.[0].length;
  if (start === undefined) return JSON.parse(content.toString('utf8')) as CdpMessage;
  const end = content.indexOf(QUOTE, start);
  const message = JSON.parse(`${content.toString('latin1', 0, start)}${content.toString('utf8', end)}`) as CdpMessage;
  return { ...message, result: { ...message.result, data: content.toString('latin1', start, end) } };
}
