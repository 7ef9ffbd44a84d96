import type { Deadline } from './deadline.js';
import { connectionError, invalidArgument } from './stillframe-error.js';
import type { Transport } from './transport.js';

/** A picture, a job that has one, or the picture's address. */
export type Downloadable =
  | string
  | URL
  | { cdn_url?: string | undefined }
  | { result?: { data?: { cdn_url?: string | undefined } | undefined } | undefined };

export interface PictureStream {
  body: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** Media type, such as `image/png`. */
  contentType: string;
  /** Size in bytes; null if the server does not report it. */
  contentLength: number | null;
}

/**
 * Downloads the whole file. A download that breaks off is repeated.
 * @throws StillframeError `invalid_request` with status 410 if the picture has been deleted
 */
export function downloadBytes(
  transport: Transport,
  from: Downloadable,
  deadline: Deadline,
): Promise<Uint8Array<ArrayBuffer>> {
  const read = async (response: Response) => new Uint8Array(await response.arrayBuffer());
  return transport.send({ method: 'GET', to: addressOf(from), repeatable: true, read }, deadline);
}

/** Downloads the file as a stream, which takes over the deadline: it fails when the time is up, and releases the deadline when it ends. */
export function downloadStream(transport: Transport, from: Downloadable, deadline: Deadline): Promise<PictureStream> {
  return streamFrom(transport, addressOf(from), deadline);
}

/** @param to a path of the API, which gets the key, or an address */
export function streamFrom(transport: Transport, to: string, deadline: Deadline): Promise<PictureStream> {
  const read = async ({ headers, body }: Response): Promise<PictureStream> => {
    const length = headers.get('content-length');
    return {
      body: withDeadline((body ?? new Blob([]).stream()) as ReadableStream<Uint8Array<ArrayBuffer>>, deadline),
      contentType: headers.get('content-type') ?? 'application/octet-stream',
      contentLength: length === null ? null : Number(length),
    };
  };
  return transport.send({ method: 'GET', to, repeatable: true, read }, deadline);
}

function addressOf(from: Downloadable): string {
  if (from === null || (typeof from !== 'object' && typeof from !== 'string')) {
    throw invalidArgument('`from` must be a picture, a job that has one, or its address.');
  }
  const address =
    typeof from === 'string' || from instanceof URL
      ? String(from)
      : 'cdn_url' in from
        ? from.cdn_url
        : dataOf(from)?.cdn_url;
  if (address === undefined) throw invalidArgument('There is no picture to download: the job has not completed.');
  if (/^https?:\/\//i.test(address) && URL.canParse(address)) return address;
  throw invalidArgument('The address must be an http or https URL.');
}

function dataOf(from: object): { cdn_url?: string | undefined } | undefined {
  return 'result' in from ? (from.result as { data?: { cdn_url?: string } } | undefined)?.data : undefined;
}

function withDeadline(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  deadline: Deadline,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const { signal } = deadline;
  const { readable, writable } = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>();
  body
    .pipeTo(writable, { signal, preventAbort: true })
    .catch((cause) => writable.abort(signal.aborted ? signal.reason : connectionError(cause)))
    .finally(() => deadline.release());
  return readable;
}
