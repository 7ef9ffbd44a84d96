/** Sends the messages of a run, one attempt at a time, to a webhook, a mailbox, a chat or a bucket. */
import { buffer } from 'node:stream/consumers';
import type { OpenArtifact } from '../artifacts/artifacts.js';
import { contentTypeOf, formatOf, type UploadResult } from '../contract/capture-data.js';
import type { PublicPlaces } from '../contract/job.js';
import { filledIn, type Place, placesOf, placeText, toWireRun, type WatchMessage } from '../contract/watch.js';
import type { AttemptOutcome, WatchStore } from '../store/store.js';
import { attemptPost, type PostDeps, retryOrFail, SIGNATURE_HEADER, sign } from '../webhook/deliver.js';
import type { UploadTask } from '../webhook/upload-picture.js';
import { chatMessage } from './chat-message.js';
import type { Mailer } from './mail.js';
import type { MessageContext } from './say-message.js';

export interface SendDeps extends PostDeps {
  store: Pick<WatchStore, 'findWatch' | 'findRun' | 'signLink'>;
  openPicture(name: string): Promise<OpenArtifact | 'deleted' | null>;
  upload(task: UploadTask, signal: AbortSignal): Promise<UploadResult>;
  /** Absent if the operator has set no SMTP server. */
  mailer: Mailer | null;
  places: PublicPlaces;
  maxAttempts: number;
  wallNow(): number;
}

/** A larger picture is linked, not attached. */
const ATTACHED_MAX_BYTES = 10_000_000;

/** Makes one attempt. @returns its outcome; null if `signal` aborted it */
export async function sendMessage(
  deps: SendDeps,
  message: WatchMessage,
  signal: AbortSignal,
): Promise<AttemptOutcome | null> {
  const [watch, run] = await Promise.all([deps.store.findWatch(message.watchId), deps.store.findRun(message.runId)]);
  const place = placesOf(watch?.definition.send ?? []).find(
    (one) => deps.store.signLink(placeText(one)) === message.recipient,
  );
  if (watch === null || run === null || place === undefined)
    return { kind: 'failed', status: null, error: 'The watch no longer has this entry of `send`.' };
  const telling = { message, watch, run, historyUrl: `${deps.places.baseUrl}/console/watch?id=${watch.id}` };
  return await sendTo(deps, telling, { place, signal });
}

async function sendTo(
  deps: SendDeps,
  telling: MessageContext,
  { place, signal }: { place: Place; signal: AbortSignal },
): Promise<AttemptOutcome | null> {
  const { message } = telling;
  const { webhook, slack, email, upload } = place.send;
  if (webhook !== undefined) {
    const body = JSON.stringify(payloadOf(deps, telling));
    return await post(
      deps,
      message,
      { url: webhook.url, body, headers: { [SIGNATURE_HEADER]: sign(webhook.secret, body, deps.wallNow()) } },
      signal,
    );
  }
  if (slack !== undefined) {
    const body = JSON.stringify(chatMessage(slack, telling, deps.places));
    return await post(deps, message, { url: slack.url, body, headers: {} }, signal);
  }
  if (upload !== undefined) return await uploadTo(deps, telling, { template: upload.url_template, signal });
  if (email === undefined || deps.mailer === null)
    return {
      kind: 'failed',
      status: null,
      error: 'This server sends no mail: its operator has not set STILLFRAME_SMTP_URL and STILLFRAME_MAIL_FROM.',
    };
  try {
    await deps.mailer.send(telling, { email, to: place.address, picture: (name) => read(deps, name) });
    return { kind: 'delivered', status: 250 };
  } catch (error) {
    if (signal.aborted) return null;
    const { responseCode = null, code = '' } = error as { responseCode?: number | null; code?: string };
    deps.log.warn({ err: error, delivery_id: message.id, watch_id: message.watchId }, 'a mail of a watch was not sent');
    const text =
      responseCode === null ? 'The SMTP server could not be reached.' : `The SMTP server answered ${responseCode}.`;
    if (responseCode === null ? code === 'EENVELOPE' : responseCode >= 500)
      return { kind: 'failed', status: responseCode, error: text };
    return retryOrFail(deps, attemptOf(deps, message), { status: responseCode, error: text, waitMs: 0 });
  }
}

function attemptOf({ maxAttempts }: SendDeps, { attempts }: WatchMessage) {
  return { attempt: attempts + 1, maxAttempts };
}

async function post(
  deps: SendDeps,
  message: WatchMessage,
  request: { url: string; body: string; headers: Record<string, string> },
  signal: AbortSignal,
): Promise<AttemptOutcome | null> {
  const requester = { account: message.accountId };
  return await attemptPost(
    deps,
    { ...request, ...attemptOf(deps, message), deliveryId: message.id, requester },
    signal,
  );
}

/** The payload of a webhook of a watch. */
function payloadOf(
  { places }: Pick<SendDeps, 'places'>,
  { message, watch, run, historyUrl }: MessageContext,
): Record<string, unknown> {
  return {
    event: message.event,
    watch: { id: watch.id, name: watch.definition.name, history_url: historyUrl },
    run: toWireRun(run, watch, places),
    delivery_id: message.id,
    delivery_generation: message.generation,
  };
}

/** Uploads the picture of a run. */
async function uploadTo(
  deps: SendDeps,
  { watch, run }: MessageContext,
  { template, signal }: { template: string; signal: AbortSignal },
): Promise<AttemptOutcome | null> {
  const content = run.picture === null ? null : await read(deps, run.picture);
  if (run.picture === null || content === null)
    return { kind: 'failed', status: null, error: 'The picture has been deleted.' };
  const [date = '', time = ''] = new Date(run.dueAt).toISOString().split('T');
  const format = formatOf(run.picture);
  const url = filledIn(template, {
    watch: watch.id,
    run: run.id,
    date,
    time: time.slice(0, 8).replaceAll(':', '-'),
    format,
  });
  const task = {
    jobId: run.jobId ?? run.id,
    accountId: watch.accountId,
    url,
    content,
    contentType: contentTypeOf(run.picture),
  };
  const { error, status } = await deps.upload(task, signal);
  return error === null ? { kind: 'delivered', status: status ?? 200 } : { kind: 'failed', status, error };
}

/** Reads a stored picture; null if it is deleted, or too large to attach. */
async function read({ openPicture }: Pick<SendDeps, 'openPicture'>, name: string): Promise<Buffer | null> {
  const opened = await openPicture(name);
  if (opened === null || opened === 'deleted' || opened.bytes > ATTACHED_MAX_BYTES) return null;
  return await buffer(await opened.read());
}
