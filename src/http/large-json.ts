/** JSON bodies that may be large: they are parsed in a thread, since a megabyte takes about 15 ms. */
import type { Context } from 'hono';
import { CaptureError } from '../contract/capture-error.js';
import { BODY_LIMIT_BYTES } from '../contract/limits.js';
import { bodyTooLarge, readRequestJson } from '../contract/request-json.js';
import { runInThread } from '../thread.js';
import type { AppEnv, AppServices } from './app-services.js';
import { clientOf } from './exchange.js';
import { principalOf } from './guard.js';
import type { JsonTask } from './json-thread.js';
import { readChunks, requireJson } from './read-body.js';

const TIMEOUT_MS = 30_000;
const THREAD_MEMORY_MB = 512;

/**
 * The JSON value of a request's body. In a body of more than BODY_LIMIT_BYTES, the members that `long` names are bytes.
 * @throws CaptureError `invalid_request`, also if anything else than these members makes the body larger
 */
export async function readLargeJson(
  { threads, config }: AppServices,
  c: Context<AppEnv>,
  { limitBytes, long, valuesMax }: Omit<JsonTask, 'chunks'>,
): Promise<unknown> {
  const { incoming } = c.env;
  requireJson(incoming);
  const chunks = await readChunks(incoming, limitBytes, () => bodyTooLarge(limitBytes));
  if (chunks.reduce((sum, { length }) => sum + length, 0) <= BODY_LIMIT_BYTES)
    return readRequestJson(Buffer.concat(chunks), undefined, undefined, valuesMax);
  const signal = clientOf(c);
  using _turn = await threads.take(principalOf(c).accountId, signal);
  const task: JsonTask = { chunks, limitBytes, long, ...(valuesMax === undefined ? {} : { valuesMax }) };
  return await runInThread({
    file: config.jsonThread,
    task,
    memoryMb: THREAD_MEMORY_MB,
    timeoutMs: TIMEOUT_MS,
    signal,
    failed: (cause) =>
      new CaptureError({
        code: 'internal_error',
        status: 503,
        message: 'The body could not be parsed in time.',
        retryAfterSeconds: 5,
        cause,
      }),
  });
}
