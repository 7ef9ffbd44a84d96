import type { CaptureRequest, Picture } from '../client/client.js';
import type { CaptureTarget } from './capture-target.js';
import { localPageOf } from './capture-target-page.js';
import { OperatorError, UsageError } from './operator-error.js';
import { writePicture } from './picture-file.js';
import { referencedFiles } from './referenced-files.js';

export interface ServerRequest {
  /** URL of the server. */
  server: string;
  /** API key; null if the environment has none. */
  key: string | null;
  target: CaptureTarget;
  /** Fields of the request, without those that the target decides. */
  body: Record<string, unknown>;
  /** Path of the output; null for standard output. */
  file: string | null;
  force: boolean;
  readStdin(): Promise<Buffer>;
  signal?: AbortSignal;
}

/**
 * Captures on a server, which gets a local page with the files that it refers to, and writes the picture.
 * @throws OperatorError; StillframeError of the server
 */
export async function captureOnServer(request: ServerRequest): Promise<Picture> {
  const { server, key, file, force, signal } = request;
  if (key === null) throw new OperatorError('A server needs an API key: set STILLFRAME_KEY.');
  const { Stillframe } = await import('../client/client.js');
  const client = openClient(() => new Stillframe({ baseUrl: server, apiKey: key }));
  const picture = await client.capture((await requestOf(request)) as unknown as CaptureRequest, { signal });
  const content = await client.download(picture, { signal });
  if (file === null) process.stdout.write(content);
  else await writePicture(file, content, force);
  return picture;
}

function openClient<Client>(open: () => Client): Client {
  try {
    return open();
  } catch (error) {
    throw new UsageError(`--server: ${(error as Error).message}.`);
  }
}

async function requestOf({ target, body, readStdin }: ServerRequest): Promise<Record<string, unknown>> {
  if (target.kind === 'url') return { ...body, url: target.url };
  const page = await localPageOf(target, readStdin);
  if (page === null) return body;
  return {
    ...body,
    files: 'html' in page ? { 'index.html': new Uint8Array(page.html) } : await referencedFiles(page.path),
  };
}

/** Describes the picture in one line, with a further line for each warning. */
export function describePicture(file: string | null, picture: Picture): string {
  const { format, width, height, bytes, duration_ms: ms, diagnostics, upload } = picture;
  const line = `${file ?? 'standard output'}: ${format}, ${width}×${height} px, ${bytes} bytes, ${(ms / 1_000).toFixed(1)} s`;
  const uploaded =
    upload === undefined ? [] : [upload.error === null ? `uploaded to ${upload.url}` : `not uploaded: ${upload.error}`];
  return [line, ...uploaded, ...(diagnostics?.warnings ?? []).map(({ message }) => message)].join('\n');
}
