import type { Log } from '../log.js';
import { BucketError } from './bucket-error.js';

/** The time for which an answer is taken as the state of the storage. */
const FRESH_MS = 5_000;

/** Tracks whether a storage answers, by its last call. Logs when that changes. */
export class StorageHealth {
  readonly #log: Log;
  /** Time of the last success, by the monotonic clock. */
  #succeededAt = Number.NEGATIVE_INFINITY;
  #isFailing = false;
  /** The reason why no call can succeed at the moment; null after any other failure. */
  #refusal: string | null = null;
  #refusesWrites = false;

  constructor(log: Log) {
    this.#log = log;
  }

  get isFailing(): boolean {
    return this.#isFailing;
  }

  /** Whether it answered a moment ago. */
  get isFresh(): boolean {
    return !this.#isFailing && performance.now() - this.#succeededAt < FRESH_MS;
  }

  get refusal(): string | null {
    return this.#refusal;
  }

  /** Whether the bucket refuses to store, whatever else it allows; only a write can show when that has ended. */
  get refusesWrites(): boolean {
    return this.#refusesWrites;
  }

  recordSuccess({ isWrite }: { isWrite: boolean }): void {
    if (this.#refusesWrites && !isWrite) return;
    if (this.#isFailing) this.#log.info('the bucket can be used again');
    this.#isFailing = false;
    this.#refusal = null;
    this.#refusesWrites = false;
    this.#succeededAt = performance.now();
  }

  recordFailure(error: unknown, { isWrite }: { isWrite: boolean }): void {
    const isRefusal = error instanceof BucketError && error.isRefusal;
    if (isRefusal && this.#refusal === null) {
      this.#log.error(
        { err: error },
        'the bucket refuses access: captures are answered with 503 until its operator corrects that',
      );
    } else if (!this.#isFailing) {
      this.#log.error({ err: error }, 'the bucket cannot be used: captures are answered with 503 until it can');
    }
    this.#isFailing = true;
    this.#refusal = isRefusal ? describeRefusal(error) : null;
    this.#refusesWrites ||= isRefusal && isWrite;
  }
}

function describeRefusal({ status, code }: BucketError): string {
  const reason = [status, code].filter((part) => part !== '').join(' ');
  return `The bucket refuses access (${reason}). The operator has to correct its name, the credentials or the policy; \`stillframe doctor\` says which.`;
}
