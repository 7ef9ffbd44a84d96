/** Serves a template of a directory to the browsers of this machine, with its values from the query, and reloads it when a file changes. */

import { isUtf8 } from 'node:buffer';
import { once } from 'node:events';
import { watch } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { type NewTemplate, readManifest, sourcesOf, withDocument } from '../capture/templates.js';
import { CaptureError } from '../contract/capture-error.js';
import { escapeMarkup } from '../contract/markup.js';
import {
  DECLARATION_BYTES,
  fileNameOf,
  INDEX_FILE,
  type PageFile,
  pageTypeOf,
  requestPath,
  withEncoding,
} from '../contract/page-files.js';
import type { RequestIssue } from '../contract/submission.js';
import { readTemplateData, sampleData } from '../contract/template.js';
import { builtFile } from '../package-files.js';
import { source as fitScript } from '../render/in-page/fit.js?bundled';
import { TemplateRenderer } from '../templates/template-renderer.js';
import { readTemplateDir } from './template-dir.js';

/** An editor may write a file in several steps. */
const SETTLED_MS = 100;
/** No file of a template has this name. */
const CHANGES_PATH = '/.changes';
const RELOAD = `<script>new EventSource('${CHANGES_PATH}').onmessage = () => location.reload()</script>`;
const FIT = `<script>${fitScript.replaceAll('</', '<\\/')}; document.fonts.ready.then(() => { const misfit = stillframe.fit(); if (misfit) console.warn('does not fit', misfit) })</script>`;

export interface TemplatePreview extends AsyncDisposable {
  readonly url: string;
}

/** @param port 0 for any free one. @throws UsageError if there is no template in the directory */
export async function previewTemplate(dir: string, port: number): Promise<TemplatePreview> {
  await readTemplateDir(dir);
  const renderer = new TemplateRenderer(builtFile('template-thread.js'));
  const readers = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    answer(request, response, { dir, renderer, readers, server }).catch(() => response.destroy());
  });
  await once(server.listen(port, '127.0.0.1'), 'listening');
  let settling: NodeJS.Timeout | undefined;
  const watcher = watch(dir, { recursive: true }, () => {
    clearTimeout(settling);
    settling = setTimeout(() => {
      for (const reader of readers) reader.write('data: changed\n\n');
    }, SETTLED_MS);
  });
  return {
    url: `http://127.0.0.1:${portOf(server)}/`,
    async [Symbol.asyncDispose]() {
      clearTimeout(settling);
      watcher.close();
      server.close();
      server.closeAllConnections();
    },
  };
}

interface Preview {
  dir: string;
  renderer: TemplateRenderer;
  /** Open pages, which are notified of changes. */
  readers: Set<ServerResponse>;
  server: Server;
}

/** Other sites could reach this server by a name of their own, but not by its address. */
async function answer(request: IncomingMessage, response: ServerResponse, preview: Preview): Promise<void> {
  const { dir, renderer, readers, server } = preview;
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://preview');
  if (request.headers.host !== `127.0.0.1:${portOf(server)}`) return void response.writeHead(421).end();
  if (request.method !== 'GET') return void response.writeHead(405, { allow: 'GET' }).end();
  if (pathname === CHANGES_PATH) {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' }).write(': open\n\n');
    readers.add(response);
    return void response.once('close', () => readers.delete(response));
  }
  const path = requestPath(pathname);
  const name = path === null ? '' : fileNameOf(path);
  const send = (status: number, type: string, bytes: number) =>
    response.writeHead(status, { 'content-type': type, 'content-length': bytes, 'cache-control': 'no-store' });
  try {
    const template = packed(await readTemplateDir(dir));
    const html = name === INDEX_FILE ? await documentOf(template, renderer, searchParams) : '';
    const { list, contents } = withDocument(template, html);
    const file = list.find((one) => one.name === name);
    if (file === undefined) return void send(404, 'text/plain', 9).end('not found');
    send(200, file.type, file.bytes);
    if (file.bytes === 0) return void response.end();
    await pipeline(await contents.read({ start: file.at, end: file.at + file.bytes - 1 }), response);
  } catch (error) {
    if (response.headersSent) throw error;
    const page = Buffer.from(
      `<!doctype html><meta charset="utf-8"><title>Error</title><pre>${escapeMarkup(describeProblems(error))}</pre>${RELOAD}`,
    );
    send(error instanceof CaptureError ? 400 : 500, 'text/html', page.length).end(page);
  }
}

async function documentOf(template: NewTemplate, renderer: TemplateRenderer, query: URLSearchParams): Promise<string> {
  const { parameters } = readManifest(template);
  const { data, problems } = readTemplateData(
    parameters,
    { ...sampleData(parameters), ...Object.fromEntries(query) },
    template,
  );
  if (problems.length > 0)
    throw new CaptureError({ code: 'invalid_request', message: '', details: { issues: problems } });
  const task = { sources: sourcesOf(template), data, isChecked: true };
  return `${await renderer.render(task, new AbortController().signal)}${RELOAD}${FIT}`;
}

function packed(sent: Awaited<ReturnType<typeof readTemplateDir>>): NewTemplate {
  let at = 0;
  const files = Object.entries(sent).map(([name, content]): PageFile => {
    const file = { name, type: typeOf(name, content), at, bytes: content.length, sha256: '' };
    at += content.length;
    return file;
  });
  return { files, content: Buffer.concat(Object.values(sent)) };
}

function typeOf(name: string, content: Uint8Array): string {
  const type = pageTypeOf(name) ?? 'application/octet-stream';
  const text = { start: Buffer.from(content.subarray(0, DECLARATION_BYTES)), isUtf8: isUtf8(content) };
  return type.startsWith('text/') ? withEncoding(type, text) : type;
}

function describeProblems(error: unknown): string {
  const issues = error instanceof CaptureError ? (error.details?.issues as RequestIssue[] | undefined) : undefined;
  return issues?.map(({ path, message }) => `${path} ${message}`).join('\n') ?? (error as Error).message;
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
